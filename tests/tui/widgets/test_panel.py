from textual.app import App, ComposeResult

from benchtui import themes
from benchtui.themes.symbols import UNICODE, Symbols
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.widgets.panel import Panel, PanelScreen
from benchtui.tui.widgets.role_styles import variables


def _line(word: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [line((word, "plain"))]


class OnePanel(PanelScreen[None]):
    def compose(self) -> ComposeResult:
        yield Panel(_line, UNICODE, id="panel")


class Shown(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(themes.load(themes.DEFAULT))

    def get_default_screen(self) -> OnePanel:
        return OnePanel()


async def test_panel_that_was_hidden_never_shows_what_it_showed_before() -> None:
    app = Shown()
    async with app.run_test(size=(40, 5)) as pilot:
        panel = app.screen.query_one(Panel)
        for word, display in (("one", True), ("one", False), ("two", False), ("two", True)):
            panel.display = display
            panel.show(word)
            await pilot.pause()
        assert panel.lines()[0] == "two"
