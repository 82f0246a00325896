from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.events import SessionStarted
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library.summaries import Best, Summary
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Config, Sweep
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.library.rows import ORDERS, Item, LibrarySelection, row, shown


def item(
    name: str, day: int = 1, *, model: str = "bert", host: str = "box", rate: float = 1.0, **more: Any
) -> Item:
    started = SessionStarted(
        t=0,
        id=name,
        created=f"2026-11-{day:02}T10:00:00Z",
        sweep=Sweep(name=name, model=model),
        plan=(),
        host=Host(hostname=host),
    )
    summary = Summary(
        outcome="completed",
        counts={"ok": day},
        best=Best(config=Config(device="cpu"), samples_per_s=rate, rate=rate, unit="samples/s"),
    )
    entry = SessionFile(Path(f"/lib/{name}.json"), started, finished=True)
    return Item(entry, name, **{"note": "", "summary": summary} | more)


THREE = [
    item("alpha", 1, model="gpt2", rate=30.0, note="before the update"),
    item("beta", 3, host="other", rate=10.0),
    item("gamma", 2, rate=20.0),
]


def names(found: list[Item]) -> list[str]:
    return [each.name for each in found]


def selection(found: list[Item] | None = None) -> LibrarySelection:
    made = LibrarySelection()
    made.update(THREE if found is None else found)
    return made


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("date", ["beta", "gamma", "alpha"]),
        ("name", ["alpha", "beta", "gamma"]),
        ("host", ["gamma", "alpha", "beta"]),
        ("model", ["beta", "gamma", "alpha"]),
        ("measured", ["beta", "gamma", "alpha"]),
        ("outcome", ["beta", "gamma", "alpha"]),
        ("best rate", ["alpha", "gamma", "beta"]),
    ],
)
def test_each_sort_order_lists_the_expected_session_first(order: str, expected: list[str]) -> None:
    assert names(shown(THREE, "", order)) == expected


def test_running_sessions_come_first_in_every_order(engine: Any) -> None:
    running = item("zeta", 1, summary=None, engine=engine)
    for order in ORDERS:
        assert names(shown([*THREE, running], "", order))[0] == "zeta"


@pytest.mark.parametrize(
    ("words", "expected"),
    [("GPT", ["alpha"]), ("other", ["beta"]), ("update", ["alpha"]), ("bert box", ["gamma"]), ("none", [])],
)
def test_filter_matches_name_host_model_and_note(words: str, expected: list[str]) -> None:
    assert names(shown(THREE, words, "date")) == expected


def test_selected_session_stays_selected_after_sorting_and_refreshing() -> None:
    made = selection()
    made.move(1)
    assert made.chosen is not None
    name = made.chosen.name
    made.sort()
    made.update([item("new", 30), *THREE])
    assert made.chosen.name == name


def test_neighbor_is_selected_after_a_deletion() -> None:
    made = selection()
    made.move(1)
    made.update([each for each in THREE if each.name != "gamma"])
    assert made.chosen is not None
    assert made.chosen.name == "alpha"


def test_first_marked_session_is_the_base() -> None:
    made = selection()
    made.move(2)
    made.toggle_mark()
    made.move(-2)
    made.toggle_mark()
    assert names(made.marked) == ["alpha", "beta"]
    assert [made.letter(each) for each in made.rows] == ["B", "", "A"]
    made.toggle_mark()
    assert names(made.marked) == ["alpha"]


def test_marks_survive_the_filter_and_disappear_with_their_session() -> None:
    made = selection()
    made.toggle_mark()
    made.filter("alpha")
    assert names(made.marked) == ["beta"]
    made.clear()
    assert made.words == "" and made.marked
    made.clear()
    assert not made.marked
    made.toggle_mark()
    made.update(THREE[:1])
    assert not made.marked


def test_number_of_marks_is_limited_to_the_number_of_letters() -> None:
    made = selection([item(f"s{number}", 1) for number in range(27)])
    for _ in range(26):
        assert made.toggle_mark()
        made.move(1)
    assert not made.toggle_mark()


def test_row_shows_the_outcome_of_a_session(engine: Any) -> None:
    states = {
        "completed": item("a"),
        "running": item("a", engine=engine, summary=None),
        "reading": item("a", summary=None),
        "crashed": replace(THREE[0], summary=Summary(outcome="crashed")),
        "unreadable": replace(THREE[0], summary=Summary(outcome="unreadable")),
    }
    signs = {word: row(each, "", UNICODE).cells["state"] for word, each in states.items()}
    assert signs["completed"] == ("✓ completed", "good")
    assert signs["running"] == ("▶ running", "accent")
    assert signs["reading"] == ("reading", "muted")
    assert signs["crashed"] == ("■ crashed", "warning")
    assert signs["unreadable"] == ("✗ unreadable", "bad")
    assert all(row(each, "A", ASCII).cells["state"][0].isascii() for each in states.values())
