"""Question whether a sweep waits for another one. It closes itself once that one has ended."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import work
from textual.binding import BindingType

from benchtui.engine.client import Engine
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, line
from benchtui.tui.pages.page import Page
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import ANOTHER_SWEEP_RUNNING, START_ANYWAY, WAIT
from benchtui.tui.widgets.keys import Keys

POLL_S = 1.0
"""Seconds between two checks whether the other sweeps have ended."""


class OtherSweepScreen(Page):
    """Page that returns whether to wait; None to start nothing, False as well once nothing else is running."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "other_sweep",
        ("w", "wait", "Wait, then start", "once the other has ended, also if you quit", "answer(True)"),
        ("y", "anyway", "Start anyway", "", "answer(False)"),
    )
    NAME = "question"
    takes_earlier_keys = False
    """Keys typed before the question was there don't answer it."""

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
        wait, anyway = keymap.key("other_sweep.wait"), keymap.key("other_sweep.anyway")
        return ((wait, WAIT), (anyway, START_ANYWAY))


def _lines(names: Sequence[str]) -> list[Line]:
    return [
        line((f"{ANOTHER_SWEEP_RUNNING}.", "strong")),
        BLANK,
        *(line((f"  {clean(name)}", "plain")) for name in names),
        BLANK,
        line(
            (f"{keymap.key('other_sweep.wait')}: {WAIT}", "accent"),
            (", even if you quit meanwhile", "muted"),
        ),
        line((f"{keymap.key('other_sweep.anyway')}: {START_ANYWAY}", "plain")),
    ]
