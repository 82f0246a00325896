"""Common to every view: key bars are short and complete, and text uses readable colors."""

from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.library import paths
from benchtui.tui.shell.keymap import TITLES
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.role_styles import RoleStyles

EVERYWHERE = [place for place in TITLES if place != "app"]
MOST_KEYS = 7


@pytest.fixture
def around(app_context: Any) -> Any:
    return replace(app_context, recorded=paths.entries)


@pytest.mark.parametrize("place", EVERYWHERE)
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_key_bar_is_short_and_complete(stage: Any, around: Any, place: str, ascii_only: bool) -> None:
    async with stage.app(place, around, ascii_only=ascii_only).run_test(size=(80, 24)) as pilot:
        seen = await stage.enter(place, pilot)
        keys = seen.app.screen.query_one(KeyBar)._shown
        assert keys is not None and 1 <= len(keys) <= MOST_KEYS
        assert seen.text.split("\n")[-1].split() == [
            word for entry in keys for part in entry for word in part.split()
        ]
        assert not ascii_only or seen.text.isascii()


@pytest.mark.parametrize("place", EVERYWHERE)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_text_uses_the_line_color(stage: Any, around: Any, place: str, size: tuple[int, int]) -> None:
    async with stage.app(place, around).run_test(size=size) as pilot:
        seen = await stage.enter(place, pilot)
        screen = seen.app.screen
        faint = RoleStyles(screen).style("faint").color
        pieces = [piece for strip in screen._compositor.render_strips() for piece in strip]
        words = [piece.text for piece in pieces if piece.style and piece.style.color == faint]
        assert not [word for word in words if any(letter.isalnum() for letter in word)]


async def test_selected_row_is_readable_in_terminal_colors(stage: Any, around: Any) -> None:
    async with stage.app("monitor", around, theme="terminal").run_test(size=(80, 24)) as pilot:
        seen = await stage.enter("monitor", pilot)
        await seen.settle("G")
        pieces = [piece for strip in seen.app.screen._compositor.render_strips() for piece in strip]
        assert any("queued" in piece.text for piece in pieces)
        styled = [(piece.text, piece.style) for piece in pieces if piece.text.strip() and piece.style]
        # a default color is the terminal's own: its foreground differs from its background
        assert not [
            text
            for text, style in styled
            if style.color and not style.color.is_default and style.color == style.bgcolor
        ]
