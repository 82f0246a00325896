"""Empty state of a session screen, while no session is open."""

from collections.abc import Sequence

from textual.app import ComposeResult

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, line
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.navigation import BackRequested, Place
from benchtui.tui.widgets.panel import Panel

KEYS = (("0", "home"), ("1", "start a sweep"), ("4", "open a session"), ("?", "help"), ("q", "quit"))


class EmptyScreen(ViewScreen):
    """Page without a session, which says how to start or open one."""

    DEFAULT_CSS = """
    EmptyScreen #page { height: 1fr; margin: 1 2; }
    """
    BINDINGS = keymap.table(
        "nothing",
        ("question_mark,f1", "help", "Help"),
        ("escape", "back", "Back", "to the previous page"),
        ("q", "quit", "Quit", "", "app.leave"),
    )

    def __init__(self, place: Place, symbols: Symbols) -> None:
        super().__init__(symbols)
        self.PLACE = place

    def content(self) -> ComposeResult:
        """Lay out the hints."""
        yield Panel(_lines, self._symbols, id="page")

    def draw(self) -> None:
        """Show the content."""
        self._panel("page").show()
        self._panel("keys").show(KEYS)

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return the hints."""
        return _lines(width, height, self._symbols)

    def action_back(self) -> None:
        """Return to the previous view."""
        self.post_message(BackRequested())


def _lines(width: int, height: int, symbols: Symbols) -> list[Line]:
    return [
        line(("no session is open", "strong")),
        BLANK,
        line((keymap.key("app.home"), "accent"), ("  measure a model of this machine", "plain")),
        line((keymap.key("app.sweep"), "accent"), ("  edit a sweep and start it", "plain")),
        line((keymap.key("app.library"), "accent"), ("  open or replay a session from the library", "plain")),
    ]
