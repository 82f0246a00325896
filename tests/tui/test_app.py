import re
from typing import Any

import pytest
from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual import constants
from textual.color import Color

from benchtui import themes
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.state.session import Session
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.pages.palette import Palette
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import Opened


@pytest.mark.parametrize(("colors", "theme"), [("standard", "terminal"), ("256", "benchtui-dark")])
async def test_terminal_with_sixteen_colors_starts_with_its_own(
    opened: Any, monkeypatch: pytest.MonkeyPatch, colors: str, theme: str
) -> None:
    monkeypatch.setattr(constants, "COLOR_SYSTEM", colors)
    async with opened() as seen:
        assert seen.app.theme == theme


async def test_views_keep_their_state(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).case(1)
    async with opened(story.path, engine) as seen:
        await seen.press("g", "4", "2")
        assert "case 1 of 3" in seen.text


async def test_opening_a_session_from_another_view_shows_it_in_the_monitor(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin().start(0)
    async with opened() as seen:
        await seen.press("2", "4")
        seen.app.post_message(Opened(story.path, engine))
        await seen.look()
        assert isinstance(seen.app.screen, Monitor)
        assert "trial" in seen.text


async def test_quitting_from_another_view_during_a_sweep_asks_how(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("4", "q")
        assert isinstance(seen.app.screen, Monitor)
        assert "The sweep is running." in seen.text


async def test_user_themes_are_listed_and_broken_ones_reported(opened: Any, configuration: Any) -> None:
    (configuration / "themes").mkdir(parents=True)
    (configuration / "themes" / "night.toml").write_text('[colors]\nbackground = "#000010"\n')
    (configuration / "themes" / "odd.toml").write_text("dark = 1\n")
    async with opened(theme="night") as seen:
        assert seen.app.screen.styles.background.hex == "#000010"
        told = [notification.message for notification in seen.app._notifications]
        assert len(told) == 1 and "odd.toml: dark: 1 is not a boolean" in told[0]


async def test_palette_shows_keys_and_finds_cases_presets_and_themes(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(batch_sizes=(1, 2)).case(0)
    async with opened(story.path, engine) as seen:
        await seen.press("colon")
        assert isinstance(seen.app.screen, Palette)
        await seen.press(*"next theme")
        assert seen.panel("choices")[1].split() == ["▸", "Next", "theme", "t"]
        await seen.press("ctrl+u", *"by name")
        assert "nothing matches" in seen.panel("choices")[0]
        await seen.press("ctrl+u", *"bs 2")
        assert "bs 2" in seen.panel("choices")[1] and seen.panel("choices")[0] == "Cases"
        await seen.settle("enter")
        assert isinstance(seen.app.screen, CaseScreen) and "bs 2" in seen.text
        await seen.press("escape", "colon", *"theme okabe")
        await seen.settle("enter")
        assert seen.app.theme == "okabe-ito"
        await seen.press("colon", *"gpt2-train")
        await seen.settle("enter")
        assert "gpt2-train" in seen.panel("title")[0]


async def test_palette_opens_sessions_of_the_library(app_context: Any, story: Any, opened: Any) -> None:
    story.begin(name="mine").case(0).end()
    known = SessionFile(story.path, Session.load(story.path).start, finished=True)
    async with opened(app_context=replace(app_context, recorded=lambda: [known])) as seen:
        await seen.settle("colon")
        await seen.press(*"trial")
        await seen.settle("enter")
        assert isinstance(seen.app.screen, Monitor) and "mine" in seen.text


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
async def test_palette_is_ascii_in_ascii_mode_and_fits(opened: Any, size: tuple[int, int]) -> None:
    async with opened(size=size, ascii_only=True) as seen:
        await seen.settle("colon")
        assert seen.text.isascii() and "Run the sweep" in seen.text
        await seen.press(*"no such thing", "enter")
        assert "nothing matches" in seen.text
        await seen.press("escape")
        assert not isinstance(seen.app.screen, Palette)


async def test_help_uses_the_width_and_can_be_searched(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0)
    async with opened(story.path, engine, size=(200, 50)) as seen:
        await seen.press("question_mark")
        titles = next(row for row in seen.panel("page") if row.startswith("Monitor"))
        assert len(titles.split()) >= 3
        await seen.press("slash", *"skip")
        rows = seen.panel("page")
        assert any("Skip a running case" in row for row in rows) and "Filter cases" not in "".join(rows)
        await seen.press("escape")
        assert "Filter cases" in seen.text
        await seen.press("escape")
        assert isinstance(seen.app.screen, Monitor)


async def test_help_says_which_lines_are_shown(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0)
    async with opened(story.path, engine, size=(80, 24)) as seen:
        await seen.press("question_mark")
        assert re.search(r"1 to \d+ of \d+ lines", seen.text) and "/ search" in seen.panel("keys")[0]


@pytest.mark.parametrize("theme", ["terminal", themes.DEFAULT])
def test_the_terminals_own_colors_are_sent_as_such_from_the_start(app_context: AppContext, theme: str) -> None:
    """Not as those of Textual's stand-in palette."""
    segments = [Segment("text", Style.parse("cyan"))]
    for each in BenchtuiApp(app_context, theme=theme)._filters:
        if each.enabled:
            segments = each.apply(segments, Color(0, 0, 0))
    style = segments[0].style
    assert style is not None and style.color is not None
    assert style.color.is_system_defined == (theme == "terminal")


async def test_notifications_are_ascii_in_ascii_mode(app_context: Any) -> None:
    app = BenchtuiApp(app_context, ascii_only=True)
    async with app.run_test(notifications=True) as pilot:
        app.notify("the theme has no accent")
        await pilot.pause(0.1)
        text = "".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "the theme has no accent" in text and text.isascii()


@pytest.mark.parametrize(("terminal", "is_ascii"), [("linux", True), ("xterm", False)])
async def test_the_linux_console_has_no_font_for_more_than_ascii(
    opened: Any, monkeypatch: pytest.MonkeyPatch, terminal: str, is_ascii: bool
) -> None:
    monkeypatch.setenv("TERM", terminal)
    async with opened() as seen:
        assert seen.text.isascii() == is_ascii


async def test_click_selects_a_command_of_the_palette_and_a_double_click_runs_it(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("colon")

        def row_of(text: str) -> int:
            return next(at for at, line in enumerate(seen.panel("choices")) if line.startswith(text))

        await seen.pilot.click("#choices", offset=(5, row_of("  Library")))
        await seen.double_click("#choices", (5, row_of("▸ Library")))
        await seen.pilot.pause()
        assert "▸4 Library" in seen.panel("places")[0]
