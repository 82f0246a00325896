"""Question whether code may run and variables may be set here. It shows all of them; anything but yes is no."""

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import chop_cells
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from benchtui.sessions.permissions.needed import Permission
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, line
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.panel import Panel, PanelScreen, given_lines

MOST_SHOWN = 1000
"""Permissions that are listed."""
QUESTION = "Allow this on this machine, now and from now on?"
REASON = "It names code or variables that you haven't allowed here yet. Nothing has run, and nothing is set."
INDENT = "    "
LEAST_WIDTH = 20


class PermissionScreen(PanelScreen[bool]):
    """Page that lists permissions, and returns whether the user gives them."""

    DEFAULT_CSS = """
    PermissionScreen #page { height: 1fr; margin: 1 2; }
    PermissionScreen #keys { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "permission",
        ("y", "yes", "answer(True)", "Allow", "from now on, on this machine"),
        ("escape,q", "back", "answer(False)", "Don't allow"),
        ("down,j", "down", "move(1)", "Down"),
        ("up,k", "up", "move(-1)", "Up"),
        ("pagedown", "page_down", "move(10)", "Ten lines down"),
        ("pageup", "page_up", "move(-10)", "Ten lines up"),
        ("home,g", "first", "move(-1000000)", "First line"),
        ("end,G", "last", "move(1000000)", "Last line"),
    )

    def __init__(self, name: str, permissions: Sequence[Permission], symbols: Symbols) -> None:
        """Ask about a sweep or session with this name."""
        super().__init__()
        self._title = name
        self._permissions = permissions
        self._symbols = symbols
        self._top = 0

    def compose(self) -> ComposeResult:
        """Lay out the list and the key bar."""
        yield Panel[Sequence[Line]](given_lines, self._symbols, id="page")
        yield KeyBar(self._symbols)

    def on_mount(self) -> None:
        """Draw once the panel has its size."""
        self.call_after_refresh(self._draw)

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size."""
        self.call_after_refresh(self._draw)

    def action_answer(self, yes: bool) -> None:
        """Return the answer."""
        self.dismiss(yes)

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        self._top += lines
        self._draw()

    def _draw(self) -> None:
        page = self._panel("page")
        width, height = page.size
        lines = permission_lines(self._title, self._permissions, width)
        self._top = max(0, min(self._top, len(lines) - height))
        page.show(lines[self._top : self._top + height])
        yes = keymap.key("permission.yes")
        self._panel("keys").show(((yes, "allow"), ("esc", "don't"), (self._symbols.arrows, "scroll")))


def permission_lines(name: str, permissions: Sequence[Permission], width: int) -> list[Line]:
    """Return the question and a paragraph for each permission, at most ``MOST_SHOWN`` of them."""
    room = max(width, LEAST_WIDTH)
    more = len(permissions) - MOST_SHOWN
    return [
        *(line((text, "strong")) for text in chop_cells(clean(name), room)),
        *(line((text, "plain")) for text in textwrap.wrap(REASON, room)),
        BLANK,
        *(wrapped for each in permissions[:MOST_SHOWN] for wrapped in _paragraph(clean(str(each)), room)),
        *([line((f"  and {more:,} more", "warning"))] if more > 0 else []),
        BLANK,
        *(line((text, "strong")) for text in textwrap.wrap(QUESTION, room)),
    ]


def _paragraph(text: str, width: int) -> list[Line]:
    """Break a text at the width in cells, so that none of it is hidden."""
    pieces = chop_cells(text, width - len(INDENT))
    return [line((f"{INDENT if at else '  '}{piece}", "warning")) for at, piece in enumerate(pieces)]
