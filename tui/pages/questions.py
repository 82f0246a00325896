"""Questions before a start: whether a sweep waits for another one, and whether its code is allowed."""

import asyncio
import textwrap
from collections.abc import Callable, Sequence

from rich.cells import chop_cells
from textual import work

from benchtui.engine.client import Engine
from benchtui.sessions.permissions.needed import Permission
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, line
from benchtui.tui.pages.page import Page
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import ANOTHER_SWEEP_RUNNING, START_ANYWAY, WAIT
from benchtui.tui.widgets.keys import Keys

POLL_S = 1.0
"""Seconds between two checks whether the other sweeps have ended."""


class Question(Page):
    """Page of a question."""

    NAME = "question"
    takes_earlier_keys = False
    """Keys typed before the question was there don't answer it."""


class OtherSweepScreen(Question):
    """Page that returns whether to wait; None to start nothing, False as well once nothing else is running."""

    BINDINGS = keymap.table(
        "other_sweep",
        ("w", "wait", "Wait, then start", "once the other has ended, also if you quit", "answer(True)"),
        ("y", "anyway", "Start anyway", "", "answer(False)"),
    )

    def __init__(self, names: Sequence[str], running: Callable[[], list[Engine]], symbols: Symbols) -> None:
        """Ask about a start next to the sessions with these names."""
        super().__init__(lambda width: _lines(names), symbols)
        self._others = running

    def on_mount(self) -> None:
        """Check periodically whether the question is still open. Textual calls the base's handler as well."""
        self.set_interval(POLL_S, self._check)

    def action_answer(self, wait: bool) -> None:
        """Return the answer."""
        self.dismiss(wait)

    @work(exclusive=True)
    async def _check(self) -> None:
        if not await asyncio.to_thread(self._others) and self.is_current:
            self.dismiss(False)

    def _keys(self) -> Keys:
        return ((keymap.key("other_sweep.wait"), WAIT), (keymap.key("other_sweep.anyway"), START_ANYWAY))


def _lines(names: Sequence[str]) -> list[Line]:
    return [
        line((f"{ANOTHER_SWEEP_RUNNING}.", "strong")),
        BLANK,
        *(line((f"  {clean(name)}", "plain")) for name in names),
        BLANK,
        line(
            (f"{keymap.key('other_sweep.wait')}: {WAIT}", "accent"), (", even if you quit meanwhile", "muted")
        ),
        line((f"{keymap.key('other_sweep.anyway')}: {START_ANYWAY}", "plain")),
    ]


MOST_SHOWN = 1000
"""Permissions that are listed."""
QUESTION = "Allow this on this machine, now and from now on?"
REASON = "It names code or variables that you haven't allowed here yet. Nothing has run, and nothing is set."
INDENT = "    "
LEAST_WIDTH = 20


class PermissionScreen(Question):
    """Page that lists permissions, and returns whether the user gives them."""

    BINDINGS = keymap.table("permission", ("y", "yes", "Allow", "from now on, on this machine", "allow"))
    BACK = "don't"

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
        *(
            wrapped
            for permission in permissions[:MOST_SHOWN]
            for wrapped in _paragraph(clean(str(permission)), room)
        ),
        *([line((f"  and {more:,} more", "warning"))] if more > 0 else []),
        BLANK,
        *(line((text, "strong")) for text in textwrap.wrap(QUESTION, room)),
    ]


def _paragraph(text: str, width: int) -> list[Line]:
    """Break a text at the width in cells, so that none of it is hidden."""
    pieces = chop_cells(text, width - len(INDENT))
    return [line((f"{INDENT if at else '  '}{piece}", "warning")) for at, piece in enumerate(pieces)]
