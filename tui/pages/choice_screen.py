"""Base of the screens that offer choices by group below an input: the command palette and the Open dialog."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.screen import ScreenResultType
from textual.widgets import Input

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.listing import entry_at, grouped_rows
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.widgets.completion import Completer
from benchtui.tui.widgets.input_field import TextInput
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.panel import Panel, PanelScreen


class Choice(Protocol):
    """Something that can be chosen, listed by group."""

    @property
    def group(self) -> str:
        """Title of its group."""


Row = Callable[[Any, bool, int, Symbols], Line]
"""Renders a choice for a width in cells; the flag says whether it is selected."""


def choice_lines(
    items: Sequence[Choice], chosen: int, row: Row, empty: str, width: int, height: int, symbols: Symbols
) -> Sequence[Line]:
    """Render the groups, scrolled so that the selected choice is visible; ``empty`` if there are none."""
    rows = grouped_rows([item.group for item in items], chosen, height)
    return [
        row(items[place], place == chosen, width, symbols) if isinstance(place, int) else line((place, "muted"))
        for place in rows
    ] or [line((empty, "muted"))]


class ChoiceScreen(PanelScreen[ScreenResultType | None]):
    """Screen that returns a choice of the panel ``choices``; None if canceled."""

    DEFAULT_CSS = """
    ChoiceScreen TextInput { margin: 1 2 1 2; }
    ChoiceScreen #choices { height: 1fr; margin: 0 2; }
    """
    ABOUT: ClassVar[str]
    """What can be typed."""
    DOES: ClassVar[str]
    """What Enter does, in a word."""
    EMPTY: ClassVar[str]
    """What to show in place of choices."""
    items: Sequence[Choice] = ()
    """Listed choices."""

    def __init__(self, row: Row, symbols: Symbols) -> None:
        super().__init__()
        self._row = row
        self._symbols = symbols
        self._chosen = 0

    def compose(self) -> ComposeResult:
        """Lay out the input, the choices, and the key bar."""
        yield TextInput(placeholder=self.ABOUT)
        yield Panel(self._choice_lines, self._symbols, id="choices")
        yield KeyBar(self._symbols)

    def open(self, completer: Completer | None = None) -> None:
        """Show the keys, and focus the input."""
        self._panel("keys").show((("enter", self.DOES), (self._symbols.arrows, "choose"), ("esc", "back")))
        field = self.query_one(TextInput)
        field.completer = completer
        field.focus()

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Return the selected choice."""
        if self.items:
            self.accept()

    @abstractmethod
    def accept(self) -> None:
        """Return the selected choice. Called only if there is one."""

    def show_choices(self) -> None:
        """Redraw the choices."""
        self._panel("choices").show()

    def _choice_lines(self, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
        return choice_lines(self.items, self._chosen, self._row, self.EMPTY, width, height, symbols)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked choice. A double click accepts it."""
        panel = self._panel("choices")
        at = event.get_content_offset(panel) if event.widget is panel else None
        rows = grouped_rows([item.group for item in self.items], self._chosen, panel.size.height)
        row = entry_at(rows, at.y) if at is not None else None
        if row is not None and event.chain == 2:
            self.accept()  # selected by the first click, which may have scrolled the list
        elif row is not None:
            self.action_move(row - self._chosen)

    def action_move(self, rows: int) -> None:
        """Move the selection by rows."""
        self._chosen = min(max(self._chosen + rows, 0), max(len(self.items) - 1, 0))
        self.show_choices()

    def action_back(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
