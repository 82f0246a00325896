"""Question whether code may run and variables may be set here. It shows all of them; anything but yes is no."""

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import chop_cells
from textual.binding import BindingType

from benchtui.sessions.permissions.needed import Permission
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, line
from benchtui.tui.pages.page import Page
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.keys import Keys

MOST_SHOWN = 1000
"""Permissions that are listed."""
QUESTION = "Allow this on this machine, now and from now on?"
REASON = "It names code or variables that you haven't allowed here yet. Nothing has run, and nothing is set."
INDENT = "    "
LEAST_WIDTH = 20


class PermissionScreen(Page):
    """Page that lists permissions, and returns whether the user gives them."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "permission", ("y", "yes", "Allow", "from now on, on this machine", "allow")
    )
    NAME, BACK = "question", "don't"
    takes_earlier_keys = False
    """Keys typed before the question was there don't answer it."""

    def __init__(self, name: str, permissions: Sequence[Permission], symbols: Symbols) -> None:
        """Ask about a sweep or session with this name."""
        super().__init__(lambda width: permission_lines(name, permissions, width), symbols)

    def action_allow(self) -> None:
        """Return yes."""
        self.dismiss(True)

    def _keys(self) -> Keys:
        return ((keymap.key("permission.yes"), "allow"),)


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
