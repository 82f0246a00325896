"""The app when it has nothing left to draw, for pictures of it."""

from contextlib import suppress
from typing import Any

from rich.segment import Segment
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

UNCHANGED = 3
BETWEEN_S = 0.1
"""The screen is done once this many pictures in a row, so many seconds apart, were the same."""


async def until_unchanged(pilot: Pilot[Any]) -> None:
    """Wait until nothing changes any more: files are read in parts, layouts drawn in passes."""
    seen: list[list[Segment]] = []
    same = 0
    while same < UNCHANGED:
        with suppress(WorkerCancelled):  # a newer one replaced it
            await pilot.app.workers.wait_for_complete()
        await pilot.pause(BETWEEN_S)
        screen = pilot.app.screen
        drawn: Any = screen._compositor.render_update(full=True, screen_stack=pilot.app._background_screens)
        shown = [[*strip] for row in drawn.strips for strip in row]
        same = same + 1 if shown == seen else 0
        seen = shown
