"""Library view: every key, and how running, cut-off and unreadable sessions are shown."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.events import MouseScrollDown

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.library import operations, paths
from benchtui.sessions.permissions.needed import Consent, Permission, PermissionNeededError, keys
from benchtui.tui.library.import_dialog import ImportDialog
from benchtui.tui.library.screen import Library
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import ComparisonRequested, EditRequested, Opened
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.long_list import LongList

ROWS = ["alpha", "beta", "gamma"]


@pytest.fixture
def empty_library(app_context: AppContext, home: Path) -> AppContext:
    """Return a context with an empty library of its own."""
    return replace(app_context, recorded=paths.entries)


@pytest.fixture
def three_sessions(empty_library: AppContext, make_story: Any) -> AppContext:
    """Return a context with three sessions: completed, cut off, and interrupted."""
    for name, ending in zip(ROWS, ("completed", None, "interrupted"), strict=True):
        story = make_story(paths.folder() / f"{name}.json").begin(name=name, batch_sizes=(1, 2))
        story.case(0, 10.0, 20, "random weights").case(1, 16.0)
        if ending:
            story.end(ending)
        story.close()
    return empty_library


class LibraryPilot:
    """Library view in a running app, and the messages it posts to other views."""

    def __init__(self, seen: Any) -> None:
        self.seen = seen
        self.messages: list[Any] = []
        post = seen.app.post_message

        def note(message: Any) -> bool:
            if isinstance(message, Opened | ComparisonRequested | EditRequested):
                self.messages.append(message)
                return True
            return bool(post(message))

        seen.app.post_message = note

    async def begin(self) -> "LibraryPilot":
        await self.press("4")
        await self.seen.until(lambda: "reading" not in self.text)
        return self

    async def press(self, *keys: str) -> None:
        await self.seen.pilot.press(*keys)
        await self.seen.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*("space" if letter == " " else letter for letter in text))

    @property
    def text(self) -> str:
        return str(self.seen.text)

    @property
    def rows(self) -> list[str]:
        return list(self.seen.app.screen.query_one(LongList).lines())

    @property
    def chosen(self) -> str:
        return next(row for row in self.rows if row.startswith("▸")).split()[1]

    @property
    def word(self) -> str:
        return " ".join(self.seen.panel("log")).strip()


async def test_empty_library_shows_how_to_add_a_session(empty_library: AppContext, opened: Any) -> None:
    async with opened(app_context=empty_library) as seen:
        listed = await LibraryPilot(seen).begin()
        assert "no sessions yet" in listed.text
        assert not seen.app.screen.query_one("#about").display
        assert "benchtui run quick" in listed.text
        assert "1 start a sweep" in listed.text
        for key in ("enter", "R", "e", "m", "o", "X", "E", "c", "n", "N", "s", "down", "G"):
            await listed.press(key)
        await listed.press("enter")
        assert listed.word == "no session selected"
        assert listed.messages == []


async def test_the_answer_of_the_selected_session_stands_on_its_preview(
    empty_library: AppContext, opened: Any, make_story: Any
) -> None:
    for name, outcome, ending in (("good", "ok", "interrupted"), ("bad", "failed", "completed")):
        story = make_story(paths.folder() / f"{name}.json").begin(name=name, batch_sizes=(1, 2, 4))
        for case in range(2 if outcome == "ok" else 3):
            story.case(case, 10.0) if outcome == "ok" else story.finish(case, "failed", reason="no such model")
        story.end(ending).close()
    async with opened(app_context=empty_library) as seen:
        listed = await LibraryPilot(seen).begin()
        for _ in range(2):
            name = listed.chosen
            figure = "99.8 samples/s" if name == "good" else "nothing was measured"
            await seen.until(partial(shown_on_card, seen, figure))
            assert shown_on_card(seen, "change and run again") == (name == "bad")
            assert shown_on_card(seen, "r continue") == (name == "good")
            await listed.press("j")
        assert any("✗ failed" in row and "0/3" in row for row in listed.rows)


def shown_on_card(seen: Any, words: str) -> bool:
    return words in "\n".join(seen.panel("card"))


async def test_sessions_are_listed_with_outcome_and_best_throughput(
    three_sessions: AppContext, opened: Any
) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        assert "3 sessions" in listed.text
        gamma, beta, alpha = listed.rows
        assert gamma.split()[:2] == ["▸", "gamma"]
        assert "■ interrupted" in gamma and "■ crashed" in beta and "✓ completed" in alpha
        assert all("2/2" in row and "125" in row and "box" in row for row in listed.rows)
        assert "⚑ random weights" in listed.text


async def test_arrow_and_letter_keys_move_the_selection(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        for keys, name in (
            (("j",), "beta"),
            (("G",), "alpha"),
            (("k",), "beta"),
            (("g",), "gamma"),
            (("pagedown",), "alpha"),
            (("pageup", "down"), "beta"),
            (("end", "n"), "gamma"),
            (("N",), "alpha"),
            (("home",), "gamma"),
        ):
            await listed.press(*keys)
            assert listed.chosen == name, keys
            assert name in seen.panel("card")[0]


async def test_enter_opens_and_R_replays_a_session(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("j", "enter", "R", "e")
        first, again, edit = listed.messages
        assert (first.path.stem, first.engine, first.replay) == ("beta", None, False)
        assert (again.path.stem, again.replay) == ("beta", True)
        assert edit.source == paths.folder() / "beta.json"


async def test_marked_sessions_are_compared_with_the_first_as_base(
    three_sessions: AppContext, opened: Any
) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("c")
        assert "mark two or more sessions with space; the first is the base" in listed.word
        await listed.press("G", "space", "g", "space")
        assert "A alpha (base)   B gamma" in listed.text
        assert [row[1] for row in listed.rows] == ["B", " ", "A"]
        assert "c compare" in listed.text
        await listed.press("c")
        assert [path.stem for path in listed.messages[0].paths] == ["alpha", "gamma"]
        await listed.press("escape")
        assert "(base)" not in listed.text


async def test_filter_applies_while_typing(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("slash")
        await listed.type("crash")
        assert len(listed.rows) == 1 and listed.chosen == "beta"
        assert '1 of 3 sessions matching "crash"' in listed.text
        await listed.press("enter")
        assert len(listed.rows) == 1
        await listed.press("escape")
        assert len(listed.rows) == 3
        await listed.press("slash")
        await listed.type("zz4")
        assert 'no session matches "zz4"' in listed.text
        assert "outcome" not in listed.text
        await listed.press("escape")
        assert len(listed.rows) == 3
        assert isinstance(seen.app.screen, Library)


@pytest.mark.parametrize("key", ["m", "f2"])
async def test_session_can_be_renamed(three_sessions: AppContext, opened: Any, key: str) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("s", "g", key)
        await listed.type("-1")
        await listed.press("enter")
        await seen.until(lambda: "renamed alpha to alpha-1" in listed.word)
        await seen.until(lambda: listed.chosen == "alpha-1")
        assert (paths.folder() / "alpha-1.json").exists()


async def test_renaming_to_an_existing_name_shows_an_error(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("m", *["backspace"] * 5)
        await listed.type("beta")
        await listed.press("enter")
        await seen.until(lambda: "a session with this name already exists" in listed.word)
        assert len(listed.rows) == 3
        assert seen.app.focused.value == "beta" and "new name:" in listed.text
        bar = seen.app.screen.query_one(ActionBar)
        assert bar.query_one("#log").region.y == bar.query_one("#typing").region.y + 1
        await listed.type("-2")
        await listed.press("enter")
        await seen.until(lambda: listed.chosen == "beta-2")
        assert seen.app.focused is None


async def test_note_is_saved_shown_and_searchable(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("w")
        await listed.type("new driver")
        await listed.press("enter")
        await seen.until(lambda: "note      new driver" in listed.text)
        assert operations.note_of(paths.folder() / "gamma.json") == "new driver"
        await listed.press("w", *["backspace"] * 10, "enter")
        await seen.until(lambda: "note removed" in listed.word)


@pytest.mark.parametrize("key", ["X", "delete"])
async def test_delete_asks_for_confirmation_once(three_sessions: AppContext, opened: Any, key: str) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press(key)
        assert "Delete gamma and its note?" in listed.word
        assert "X delete  esc keep" in listed.text
        await listed.press("escape")
        assert listed.word == "" and len(listed.rows) == 3
        await listed.press(key, "j", key)
        assert "Delete beta" in listed.word
        await listed.press(key)
        await seen.until(lambda: len(listed.rows) == 2)
        assert listed.word == "deleted beta"
        assert listed.chosen == "alpha"


async def test_export_asks_before_overwriting_a_file(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("E")
        assert seen.app.screen.query_one(ActionBar).purpose == "export"
        await listed.press("enter")
        path = three_sessions.folder / "gamma.md"
        await seen.until(lambda: "wrote " in listed.word)
        assert path.read_text().startswith("# Benchmark report: tiny-bert")
        path.write_text("mine")
        await listed.press("E", "enter")
        await seen.until(lambda: "already exists" in listed.word)
        assert "E overwrite  esc keep" in listed.text
        await listed.press("escape", "E", "enter")
        await seen.until(lambda: "already exists" in listed.word)
        assert path.read_text() == "mine"
        await listed.press("E")
        await seen.until(lambda: "wrote " in listed.word)
        assert path.read_text() != "mine"


async def test_session_file_can_be_imported(three_sessions: AppContext, opened: Any, make_story: Any) -> None:
    story = make_story(three_sessions.folder / "delta.json").begin(name="delta")
    story.case(0).end().close()
    path = three_sessions.folder / "delta.json"
    path.write_text(path.read_text().replace('"id":"story"', '"id":"other"'))
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("i")
        await listed.type("none.json")
        await listed.press("enter")
        await seen.until(lambda: "can't be read" in listed.word)
        assert "can't be read" in listed.text
        await listed.press("enter")
        await seen.until(lambda: "can't be read" in listed.text)
        await listed.press("ctrl+u")
        await listed.type("delta.json")
        await listed.press("enter")
        await seen.until(lambda: "imported delta" in listed.word and len(listed.rows) == 4)
        assert listed.chosen == "delta"


async def test_running_session_is_listed_first_and_cannot_be_deleted(
    three_sessions: AppContext, opened: Any, engine: Any
) -> None:
    engine.path = paths.folder() / "beta.json"
    async with opened(app_context=replace(three_sessions, running=lambda: [engine])) as seen:
        listed = await LibraryPilot(seen).begin()
        assert "▶ running" in listed.rows[0] and "beta" in listed.rows[0]
        await listed.press("X")
        assert "beta is still running; stop it in the Monitor before deleting it" in listed.word
        await listed.press("m")
        await listed.type("2")
        await listed.press("enter")
        await seen.until(lambda: "a running sweep can't be renamed" in listed.word)
        await listed.press("escape", "enter")
        assert listed.messages[0].engine is engine


async def test_sessions_are_listed_though_no_engine_can_be_reached(
    three_sessions: AppContext, opened: Any
) -> None:
    def unreachable() -> list[Engine]:
        raise BenchtuiError("the runtime folder has mode 0755; it must be private (0700)")

    async with opened(app_context=replace(three_sessions, running=unreachable)) as seen:
        listed = await LibraryPilot(seen).begin()
        assert len(listed.rows) == 3


async def test_running_session_outside_the_library_is_listed(
    three_sessions: AppContext, opened: Any, engine: Any, story: Any
) -> None:
    story.begin(name="elsewhere").start(0)
    async with opened(app_context=replace(three_sessions, running=lambda: [engine])) as seen:
        listed = await LibraryPilot(seen).begin()
        assert len(listed.rows) == 4
        assert "trial" in listed.rows[0] and "▶ running" in listed.rows[0]


async def test_truncated_session_file_shows_why_it_ended(three_sessions: AppContext, opened: Any) -> None:
    path = paths.folder() / "gamma.json"
    path.write_text(path.read_text() + '{"event":"steps"},\n')
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        assert "✗ unreadable" in listed.rows[0]
        assert "invalid steps event" in listed.text


async def test_r_resumes_the_remaining_cases(
    three_sessions: AppContext, opened: Any, engine: Any, make_story: Any
) -> None:
    path = paths.folder() / "omega.json"
    make_story(path).begin(name="omega", batch_sizes=(1, 2)).case(0).start(1).close()
    resumed: list[Path] = []

    def resume(path: Path, consent: Consent, wait: bool) -> Any:
        resumed.append(path)
        return engine

    async with opened(app_context=replace(three_sessions, resume=resume)) as seen:
        listed = await LibraryPilot(seen).begin()
        assert listed.chosen == "omega"
        assert "1 to run: r, or benchtui run --resume omega" in listed.text
        assert "r resume" in listed.text
        await listed.press("r")
        await seen.until(lambda: bool(resumed))
        assert resumed == [path]


async def test_resume_asks_first_while_another_sweep_is_running(
    three_sessions: AppContext, opened: Any, engine: Any, make_story: Any
) -> None:
    path = paths.folder() / "omega.json"
    make_story(path).begin(name="omega", batch_sizes=(1, 2)).case(0).start(1).close()
    engine.path = paths.folder() / "beta.json"
    resumed: list[tuple[Path, bool]] = []

    def resume(path: Path, consent: Consent, wait: bool) -> Any:
        resumed.append((path, wait))
        return engine

    there = replace(three_sessions, resume=resume, running=lambda: [engine])
    async with opened(app_context=there) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("r")
        assert "beta is still running; enter opens it" in listed.word
        await listed.press("j")
        assert listed.chosen == "omega"
        await listed.press("r")
        await seen.until(lambda: "Another sweep is running on this machine" in listed.text)
        assert resumed == []
        await listed.press("escape")
        assert listed.word == "" and resumed == []
        await listed.press("r")
        await seen.until(lambda: "Another sweep is running on this machine" in listed.text)
        await listed.press("w")
        await seen.until(lambda: bool(resumed))
        assert resumed == [(path, True)]


async def test_resuming_asks_and_starts_only_after_yes(
    three_sessions: AppContext, opened: Any, engine: Any, make_story: Any
) -> None:
    path = paths.folder() / "omega.json"
    make_story(path).begin(name="omega", batch_sizes=(1, 2)).case(0).start(1).close()
    needed = (Permission(kind="variable", name="LD_PRELOAD", value="/elsewhere/none.so"),)
    given: list[Consent] = []

    def resume(path: Path, consent: Consent, wait: bool) -> Any:
        given.append(consent)
        if not consent:
            raise PermissionNeededError(needed)
        return engine

    async with opened(app_context=replace(three_sessions, resume=resume)) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("r")
        await seen.until(lambda: "set LD_PRELOAD=/elsewhere/none.so" in listed.text)
        await listed.press("escape")
        await seen.until(lambda: "not started: its code or variables" in listed.word)
        assert given == [frozenset()]
        await listed.press("r")
        await seen.until(lambda: "set LD_PRELOAD=/elsewhere/none.so" in listed.text)
        await listed.press("y")
        await seen.until(lambda: len(given) == 3)
        assert given[1:] == [frozenset(), keys(needed)]


async def test_failed_resume_shows_the_reason(three_sessions: AppContext, opened: Any) -> None:
    def resume(path: Path, consent: Consent, wait: bool) -> Any:
        raise NothingToResumeError(f"{path}: no cases left to run")

    async with opened(app_context=replace(three_sessions, resume=resume)) as seen:
        listed = await LibraryPilot(seen).begin()
        assert "u resume" not in listed.text
        await listed.press("r")
        await seen.until(lambda: "no cases left to run" in listed.word)
        assert listed.messages == []


async def test_questions_and_hints_name_mapped_keys(
    three_sessions: AppContext, opened: Any, engine: Any, make_story: Any
) -> None:
    make_story(paths.folder() / "omega.json").begin(name="omega", batch_sizes=(1, 2)).case(0).start(1).close()
    engine.path = paths.folder() / "beta.json"
    keys = {"library.delete": "f5", "library.export": "f6", "library.resume": "f7", "library.mark": "f8"}
    preferences = Preferences(Settings(keys=keys))
    mapped = replace(three_sessions, running=lambda: [engine], preferences=preferences)
    async with opened(app_context=mapped) as seen:
        listed = await LibraryPilot(seen).begin()
        assert "f8 marks sessions to compare" in listed.text
        await listed.press("c")
        assert "mark two or more sessions with f8" in listed.word
        await listed.press("j")
        assert listed.chosen == "omega" and "to run: f7, or benchtui run" in listed.text
        await listed.press("f5")
        assert "f5: delete.  esc: keep." in listed.word and "f5 delete  esc keep" in listed.text
        await listed.press("escape", "f7")
        await seen.until(lambda: "w: wait, then start" in listed.text)
        (mapped.folder / "omega.md").write_text("mine")
        await listed.press("escape", "f6", "enter")
        await seen.until(lambda: "f6: overwrite." in listed.word and "esc: keep." in listed.word)
        await listed.press("f6")
        await seen.until(lambda: "wrote " in listed.word)


async def test_results_of_another_tool_can_be_imported(three_sessions: AppContext, opened: Any) -> None:
    fixture = Path(__file__).parents[2] / "fixtures" / "optimum-benchmark.json"
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("i")
        await listed.type(str(fixture))
        await listed.press("enter")
        await seen.until(lambda: "imported optimum-benchmark" in listed.word and len(listed.rows) == 4)


async def test_table_of_no_known_tool_is_imported_by_a_map(
    three_sessions: AppContext, opened: Any, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("batch,latency\n1,5\n2,6\n")
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await listed.press("i")
        await listed.type(str(tmp_path / "t.csv"))
        await listed.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, ImportDialog))
        await listed.press("escape")
        await seen.until(lambda: not isinstance(seen.app.screen, ImportDialog))
        await listed.press("i")
        await listed.type(str(tmp_path / "t.csv"))
        await listed.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, ImportDialog))
        dialog = seen.app.screen
        await listed.type("batch=batch_size,latency=step_ms")
        await seen.until(lambda: len(dialog._mapped.cases) == 2)
        await listed.press("enter")
        await seen.until(lambda: "imported t, results of table" in listed.word and len(listed.rows) == 4)


async def test_click_selects_a_session_sorts_and_a_double_click_opens(
    three_sessions: AppContext, opened: Any
) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        await seen.pilot.click("#list", offset=(5, 2))
        assert listed.chosen == "alpha"
        await seen.pilot.click("#header", offset=(4, 0))
        assert listed.rows[0].split()[1] == "alpha"
        await seen.double_click("#list", (5, 1))
        assert [message.path.stem for message in listed.messages] == ["beta"]


async def test_wheel_moves_through_the_sessions(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        listed = await LibraryPilot(seen).begin()
        seen.app.post_message(MouseScrollDown(None, 9, 9, 0, 1, 0, False, False, False))
        await seen.pilot.pause()
        assert listed.chosen == "alpha"


async def test_click_in_the_navigation_bar_switches_places(three_sessions: AppContext, opened: Any) -> None:
    async with opened(app_context=three_sessions) as seen:
        await LibraryPilot(seen).begin()
        await seen.pilot.click("#places", offset=(seen.panel("places")[0].index("Compare") + 2, 0))
        assert "▸5 Compare" in seen.panel("places")[0]
