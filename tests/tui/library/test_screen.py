"""The library's screen: every key, and what it shows of sessions that run, broke off or can't be read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import NothingToResumeError
from benchtui.sessions.library import operations, paths
from benchtui.tui.library.screen import Library
from benchtui.tui.pages.page import Page
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import ComparisonAsked, EditAsked, Opened
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.long_list import LongList

ROWS = ["alpha", "beta", "gamma"]


@pytest.fixture
def shelf(app_context: AppContext, home: Path) -> AppContext:
    """A machine whose library is this test's own."""
    return replace(app_context, recorded=paths.entries)


@pytest.fixture
def three(shelf: AppContext, make_story: Any) -> AppContext:
    """Three sessions: one ran well, one broke off, one was interrupted."""
    for name, ending in zip(ROWS, ("completed", None, "interrupted"), strict=True):
        story = make_story(paths.folder() / f"{name}.json").begin(name=name, batch_sizes=(1, 2))
        story.case(0, 10.0, 20, "random weights").case(1, 16.0)
        if ending:
            story.end(ending)
        story.close()
    return shelf


class Listed:
    """The library in an app, and what it asks of other places."""

    def __init__(self, seen: Any) -> None:
        self.seen = seen
        self.news: list[Any] = []
        post = seen.app.post_message

        def note(message: Any) -> bool:
            if isinstance(message, Opened | ComparisonAsked | EditAsked):
                self.news.append(message)
                return True
            return bool(post(message))

        seen.app.post_message = note

    async def begin(self) -> "Listed":
        await self.press("4")
        await self.until(lambda: "reading" not in self.text)
        return self

    async def press(self, *keys: str) -> None:
        await self.seen.pilot.press(*keys)
        await self.seen.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def until(self, happened: Callable[[], bool]) -> None:
        for _ in range(500):
            await self.seen.pilot.pause(0.02)
            if happened():
                return
        raise AssertionError(self.text)

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


async def test_an_empty_library_says_how_to_fill_it(shelf: AppContext, opened: Any) -> None:
    async with opened(app_context=shelf) as seen:
        listed = await Listed(seen).begin()
        assert "no session yet" in listed.text
        assert "benchtui run quick" in listed.text
        assert "1 start a sweep" in listed.text
        for key in ("enter", "R", "e", "m", "o", "X", "E", "c", "n", "N", "s", "down", "G"):
            await listed.press(key)
        await listed.press("enter")
        assert listed.word == "no session to do that with"
        assert listed.news == []


async def test_sessions_are_listed_with_outcome_and_best_figure(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        assert "3 sessions" in listed.text
        gamma, beta, alpha = listed.rows
        assert gamma.split()[:2] == ["▸", "gamma"]
        assert "■ interrupted" in gamma and "■ cut off" in beta and "✓ completed" in alpha
        assert all("2/2" in row and "124.8" in row and "box" in row for row in listed.rows)
        assert "best      124.8 samples/s: cuda:0 fp32 compile=off bs=2" in listed.text
        assert "⚑ random weights" in listed.text


async def test_arrows_and_letters_choose(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
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


async def test_enter_opens_and_R_plays_again(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("j", "enter", "R", "e")
        first, again, edit = listed.news
        assert (first.path.stem, first.engine, first.replay) == ("beta", None, False)
        assert (again.path.stem, again.replay) == ("beta", True)
        assert edit.source == paths.folder() / "beta.json"


async def test_marked_sessions_are_compared_the_first_being_the_base(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("c")
        assert "mark two or more with space; the first marked is the base" in listed.word
        await listed.press("G", "space", "g", "space")
        assert "A alpha (base)   B gamma" in listed.text
        assert [row[1] for row in listed.rows] == ["B", " ", "A"]
        assert "c compare" in listed.text
        await listed.press("c")
        assert [path.stem for path in listed.news[0].paths] == ["alpha", "gamma"]
        await listed.press("escape")
        assert "(base)" not in listed.text


async def test_the_filter_narrows_while_it_is_typed(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("slash")
        await listed.type("cut")
        assert len(listed.rows) == 1 and listed.chosen == "beta"
        assert '1 of 3 sessions with "cut"' in listed.text
        await listed.press("enter")
        assert len(listed.rows) == 1
        await listed.press("escape")
        assert len(listed.rows) == 3
        await listed.press("slash")
        await listed.type("zz4")
        assert 'nothing holds "zz4"' in listed.text
        assert "outcome" not in listed.text
        await listed.press("escape")
        assert len(listed.rows) == 3
        assert isinstance(seen.app.screen, Library)


async def test_s_goes_through_the_orders(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("s")
        assert "by name" in listed.text
        assert "alpha" in listed.rows[0]


@pytest.mark.parametrize("key", ["m", "f2"])
async def test_a_session_is_renamed(three: AppContext, opened: Any, key: str) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("s", "g", key)
        await listed.type("-1")
        await listed.press("enter")
        await listed.until(lambda: "alpha is now alpha-1" in listed.word)
        await listed.until(lambda: listed.chosen == "alpha-1")
        assert (paths.folder() / "alpha-1.json").exists()


async def test_a_name_that_is_taken_is_told(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("m", *["backspace"] * 5)
        await listed.type("beta")
        await listed.press("enter")
        await listed.until(lambda: "there is a session of this name already" in listed.word)
        assert len(listed.rows) == 3


async def test_a_note_is_written_shown_and_found(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("o")
        await listed.type("new driver")
        await listed.press("enter")
        await listed.until(lambda: "note      new driver" in listed.text)
        assert operations.note_of(paths.folder() / "gamma.json") == "new driver"
        await listed.press("o", *["backspace"] * 10, "enter")
        await listed.until(lambda: "note removed" in listed.word)


@pytest.mark.parametrize("key", ["X", "delete"])
async def test_deleting_asks_once(three: AppContext, opened: Any, key: str) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press(key)
        assert "Delete gamma and its note?" in listed.word
        assert "X delete  esc keep" in listed.text
        await listed.press("escape")
        assert listed.word == "" and len(listed.rows) == 3
        await listed.press(key, "j", key)
        assert "Delete beta" in listed.word
        await listed.press(key)
        await listed.until(lambda: len(listed.rows) == 2)
        assert listed.word == "beta is deleted"
        assert listed.chosen == "alpha"


async def test_a_report_is_written_and_nothing_overwritten_unasked(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("E")
        assert seen.app.screen.query_one(ActionBar).purpose == "export"
        await listed.press("enter")
        path = three.folder / "gamma.md"
        await listed.until(lambda: "written: " in listed.word)
        assert path.read_text().startswith("# Benchmark report: tiny-bert")
        path.write_text("mine")
        await listed.press("E", "enter")
        await listed.until(lambda: "is there already" in listed.word)
        assert "E write over  esc keep" in listed.text
        await listed.press("escape", "E", "enter")
        await listed.until(lambda: "is there already" in listed.word)
        assert path.read_text() == "mine"
        await listed.press("E")
        await listed.until(lambda: "written: " in listed.word)
        assert path.read_text() != "mine"


async def test_a_session_file_is_imported(three: AppContext, opened: Any, make_story: Any) -> None:
    story = make_story(three.folder / "delta.json").begin(name="delta")
    story.case(0).end().close()
    path = three.folder / "delta.json"
    path.write_text(path.read_text().replace('"id":"story"', '"id":"other"'))
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("i")
        await listed.type("none.json")
        await listed.press("enter")
        await listed.until(lambda: "can't be read" in listed.word)
        await listed.press("i")
        await listed.type("delta.json")
        await listed.press("enter")
        await listed.until(lambda: "imported as delta" in listed.word and len(listed.rows) == 4)
        assert listed.chosen == "delta"


async def test_what_runs_stands_on_top_and_is_not_deleted(three: AppContext, opened: Any, engine: Any) -> None:
    engine.path = paths.folder() / "beta.json"
    async with opened(app_context=replace(three, running=lambda: [engine])) as seen:
        listed = await Listed(seen).begin()
        assert "▶ running" in listed.rows[0] and "beta" in listed.rows[0]
        await listed.press("X")
        assert "a sweep that runs can't be deleted" in listed.word
        await listed.press("m")
        await listed.type("2")
        await listed.press("enter")
        await listed.until(lambda: "a sweep that runs can't be renamed" in listed.word)
        await listed.press("enter")
        assert listed.news[0].engine is engine


async def test_one_that_runs_elsewhere_is_listed_too(
    three: AppContext, opened: Any, engine: Any, story: Any
) -> None:
    story.begin(name="elsewhere").start(0)
    async with opened(app_context=replace(three, running=lambda: [engine])) as seen:
        listed = await Listed(seen).begin()
        assert len(listed.rows) == 4
        assert "trial" in listed.rows[0] and "▶ running" in listed.rows[0]


async def test_a_file_that_breaks_off_in_its_middle_says_why(three: AppContext, opened: Any) -> None:
    path = paths.folder() / "gamma.json"
    path.write_text(path.read_text() + '{"event":"steps"},\n')
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        assert "✗ unreadable" in listed.rows[0]
        assert "a broken steps event" in listed.text


async def test_looking_again_finds_what_is_new(three: AppContext, opened: Any, make_story: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        make_story(paths.folder() / "new.json").begin().case(0).end().close()
        await listed.press("r")
        await listed.until(lambda: len(listed.rows) == 4)


async def test_u_goes_on_with_what_is_left(
    three: AppContext, opened: Any, engine: Any, make_story: Any
) -> None:
    path = paths.folder() / "omega.json"
    make_story(path).begin(name="omega", batch_sizes=(1, 2)).case(0).start(1).close()
    resumed: list[Path] = []

    def resume(path: Path) -> Any:
        resumed.append(path)
        return engine

    async with opened(app_context=replace(three, resume=resume)) as seen:
        listed = await Listed(seen).begin()
        assert listed.chosen == "omega"
        assert "1 to run: u, or benchtui run --resume omega" in listed.text
        assert "u resume" in listed.text
        await listed.press("u")
        await listed.until(lambda: bool(listed.news))
        assert resumed == [path]
        assert listed.news[0].path == path and listed.news[0].engine is engine


async def test_resuming_beside_another_sweep_asks_first(
    three: AppContext, opened: Any, engine: Any, make_story: Any
) -> None:
    path = paths.folder() / "omega.json"
    make_story(path).begin(name="omega", batch_sizes=(1, 2)).case(0).start(1).close()
    engine.path = paths.folder() / "beta.json"
    resumed: list[Path] = []

    def resume(path: Path) -> Any:
        resumed.append(path)
        return engine

    there = replace(three, resume=resume, running=lambda: [engine])
    async with opened(app_context=there) as seen:
        listed = await Listed(seen).begin()
        await listed.press("u")
        assert "a sweep that runs needs no resuming" in listed.word
        await listed.press("j")
        assert listed.chosen == "omega"
        await listed.press("u")
        await listed.until(lambda: "Another sweep runs on this machine" in listed.word)
        assert resumed == []
        await listed.press("escape")
        assert listed.word == "" and resumed == []
        await listed.press("u")
        await listed.until(lambda: "Another sweep runs on this machine" in listed.word)
        await listed.press("u")
        await listed.until(lambda: bool(listed.news))
        assert resumed == [path]


async def test_what_can_not_be_resumed_says_why(three: AppContext, opened: Any) -> None:
    def resume(path: Path) -> Any:
        raise NothingToResumeError(f"{path}: no cases left to run")

    async with opened(app_context=replace(three, resume=resume)) as seen:
        listed = await Listed(seen).begin()
        assert "u resume" not in listed.text
        await listed.press("u")
        await listed.until(lambda: "no cases left to run" in listed.word)
        assert listed.news == []


async def test_help_names_the_keys_and_comes_back(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("question_mark")
        assert isinstance(seen.app.screen, Page)
        assert "Mark for comparing: the first marked is the base, A" in listed.text
        await listed.press("escape")
        assert isinstance(seen.app.screen, Library)


async def test_a_small_terminal_is_told(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three, size=(50, 18)) as seen:
        await seen.pilot.press("4")
        await seen.pilot.pause()
        assert "terminal too small" in seen.text


async def test_q_leaves(three: AppContext, opened: Any) -> None:
    async with opened(app_context=three) as seen:
        listed = await Listed(seen).begin()
        await listed.press("q")
    assert seen.app.return_value.how == "closed"
