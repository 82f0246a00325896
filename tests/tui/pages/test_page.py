"""Pages of text are drawn whenever they are shown."""

from typing import Any

from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import line
from benchtui.tui.pages.page import Page


async def test_page_that_was_left_before_it_was_drawn_is_drawn_on_return(stage: Any, app_context: Any) -> None:
    async with stage.at("library", app_context) as seen:
        seen.app.push_screen(Page(lambda width: [line(("words of the page", "plain"))], UNICODE))
        await seen.app.action_go("home")
        await seen.settle()
        await seen.settle("4")
        assert "words of the page" in seen.text and "esc back" in seen.text
