"""A place that shows a session, while none is open."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from benchtui.themes import Symbols
from benchtui.tui.places import Place
from benchtui.tui.widgets import inks
from benchtui.tui.widgets.ink import BLANK, Line, line
from benchtui.tui.widgets.keys import Keys, key_lines
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.places import place_lines


class Nothing(Screen[None]):
    """Says how to fill the place."""

    COMPONENT_CLASSES = inks.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.leave", "Quit", id="nothing.quit", show=False),
    ]

    def __init__(self, place: Place, symbols: Symbols) -> None:
        super().__init__()
        self._place = place
        self._symbols = symbols

    def compose(self) -> ComposeResult:
        """Where the reader is, what to do, the keys."""
        yield Panel[Place](place_lines, self._symbols, id="places")
        yield Panel[str](_lines, self._symbols, id="page")
        yield Panel[Keys](key_lines, self._symbols, id="keys")

    def on_mount(self) -> None:
        """Fill the lines."""
        self.query_one("#places", Panel).show(self._place)
        self.query_one("#page", Panel).show("no session is open yet")
        self.query_one("#keys", Panel).show((("1", "start a sweep"), ("4", "open a session"), ("q", "quit")))


def _lines(word: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [
        line((word, "strong")),
        BLANK,
        line(("1", "accent"), ("  edit a sweep and start it", "plain")),
        line(("4", "accent"), ("  open or replay a session of the library", "plain")),
    ]
