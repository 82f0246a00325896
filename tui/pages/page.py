"""Full-screen text page: help, the differences of two sessions, or a question."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.panel import Panel, PanelScreen, given_lines

RENEW_S = 1.0

Content = Callable[[int], Sequence[Line]]
"""Returns the lines for a width in cells."""


class Page(PanelScreen[bool]):
    """Scrollable lines, refreshed every second. The screen below keeps reading."""

    DEFAULT_CSS = """
    Page #page { height: 1fr; margin: 1 2; }
    Page #search { border: none; padding: 0; background: $background; }
    Page #search { display: none; height: 1; margin: 0 2; }
    Page #search.-asked { display: block; }
    Page #keys { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "page",
        ("escape,q,enter,question_mark,f1", "back", "leave", "Back"),
        ("down,j", "down", "move(1)", "Down"),
        ("up,k", "up", "move(-1)", "Up"),
        ("pagedown", "page_down", "move(10)", "Ten lines down"),
        ("pageup", "page_up", "move(-10)", "Ten lines up"),
        ("slash", "filter", "filter", "Search", "in the help"),
        ("home,g", "first", "move(-100000)", "First line"),
        ("end,G", "last", "move(100000)", "Last line"),
    )

    def __init__(self, content: Content, symbols: Symbols) -> None:
        super().__init__()
        self._content = content
        self._symbols = symbols
        self._top = 0

    def compose(self) -> ComposeResult:
        """Lay out the text and the key bar."""
        yield Panel[Sequence[Line]](given_lines, self._symbols, id="page")
        yield KeyBar(self._symbols)

    def on_mount(self) -> None:
        """Start the refresh timer."""
        self.set_interval(RENEW_S, self._show)

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size."""
        self.call_after_refresh(self._show)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow searching only in pages that can be searched."""
        return action != "filter" or hasattr(self, "action_filter")

    def action_leave(self) -> None:
        """Return to the screen below."""
        self.dismiss()

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        self._top += lines
        self._show()

    def _show(self) -> None:
        page = self._panel("page")
        width, height = page.size
        lines = self._content(width)
        self._top = max(0, min(self._top, len(lines) - height))
        page.show(lines[self._top : self._top + height])
        last = min(self._top + height, len(lines))
        place = f" {self._top + 1} to {last} of {len(lines)} lines" if len(lines) > height > 0 else ""
        self._panel("keys").show((*self._answers(), (self._symbols.arrows, f"scroll{place}")))

    def _answers(self) -> tuple[tuple[str, str], ...]:
        """Return the keys that do more than scroll, each with its meaning."""
        search = (("/", "search"),) if hasattr(self, "action_filter") else ()
        return (("esc", "back"), *search)
