"""What the table says of a case, held against the report's own reckoning."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchtui.sessions.compare import Verdict, baseline_of, throughput_ratio
from benchtui.sessions.events import CaseAdded
from benchtui.sessions.results import measured
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import Baseline
from benchtui.themes import UNICODE
from benchtui.tui.cases import CaseBook, state_text


def book(path: Path) -> tuple[Session, CaseBook]:
    session = Session.load(path)
    made = CaseBook(session, UNICODE)
    made.renew(case for case in session.cases if case.finished)
    return session, made


@pytest.mark.parametrize("baseline", [Baseline(batch_size=1), Baseline(batch_size=4), Baseline(device="cpu")])
def test_the_baseline_and_the_ratio_are_those_of_the_report(story: Any, baseline: Baseline) -> None:
    story.begin(baseline=baseline).case(0, 10.0).case(1, 10.001).case(2, 35.0).end()
    session, made = book(story.path)
    results = measured(session)
    for result in results:
        base = baseline_of(result, results, baseline)
        shown = made.row(result.case.index).cells["base"][0]
        ratio = throughput_ratio(base, result) if base else None
        if ratio is None:
            assert shown == "–"
        else:
            assert shown.removeprefix("≈ ") == f"{ratio.value:.2f}x"
            same = ratio.verdict is Verdict.SAME and base is not result
            assert shown.startswith("≈") == same


def test_a_row_of_figures(story: Any) -> None:
    story.begin().case(0, 10.0, 100, "random weights").case(1, 10.0, 20, "random weights", "throttled")
    _, made = book(story.path)
    cells = {key: text for key, (text, _) in made.row(1).cells.items()}
    assert cells == {
        "state": "✓ ok",
        "p50": "10.02",
        "p99": "–",
        "samples": "199.6",
        "memory": "700",
        "power": "210",
        "base": "2.00x",
        "notes": "throttled",
        "steps": "20",
        "interval": "0.10",
        "outliers": "0",
        "tokens": "–",
        "energy": "1,250.0",
        "node": "",
    }
    assert made.row(0).cells["p99"][0] == "10.04"


def test_a_row_that_others_depend_on_renews_them(story: Any) -> None:
    story.begin(baseline=Baseline(batch_size=4)).case(0).case(2)
    session, made = book(story.path)
    assert made.row(0).cells["base"][0] == "0.25x"
    assert made.row(1).cells["base"][0] == ""
    assert made.row(0) is made.row(0)
    assert session.done == 2


def test_a_running_case_tells_how_far_it_is(story: Any) -> None:
    story.begin(iterations=20).start(0)
    states = []
    for add in (
        lambda: story.prepare(0),
        lambda: story.steps(0, [9.0], "warmup"),
        lambda: story.steps(0, [9.0] * 25),
    ):
        add()
        session, _ = book(story.path)
        states.append(state_text(session.cases[0], session.start.sweep.measure, UNICODE))
    assert states == ["▶ loading", "▶ warm-up", "▶ 25/25"]


def test_memory_is_that_of_the_device_a_case_ran_on(story: Any) -> None:
    story.begin(device="cpu").case(0)
    session, _ = book(story.path)
    assert session.cases[0].peak_memory_mb == 1600


def test_a_case_that_is_added_has_room_for_its_name(story: Any) -> None:
    story.begin().case(0, 10.0)
    session, made = book(story.path)
    width, first = made.names.width, made.row(0).case[0]
    config = msgspec.structs.replace(session.cases[0].config, batch_size=51_200)
    session.apply(CaseAdded(t=99.0, case=len(session.cases), config=config, why="auto: doubling"))
    assert made.names.width > width
    assert made.row(len(session.cases) - 1).case[0].endswith("bs 51200")
    assert made.row(0).case[0] != first and made.row(0).case[0].endswith("bs     1")
