"""Heights of the Monitor's panels for a terminal, its machines and its cases."""

import msgspec

from benchtui.tui.widgets.breakpoints import HIGH, USUAL_HEIGHT

CASE_ROWS = {False: 8, True: 11}
"""Preferred number of rows inside the case panel, on a short screen and on others."""
MIN_CASE_ROWS = 5
MIN_TABLE_ROWS = 4
"""Minimum number of rows inside the table: the header and three cases."""


class Sizes(msgspec.Struct, frozen=True):
    """Heights in rows, frames included."""

    verdict: int
    """What the session says."""
    lines: int
    """Rows inside it."""
    machine: int
    """0 if the gauges aren't shown."""
    top: int
    """Case panel, and the step breakdown next to it."""
    log: int


def sizes(height: int, reserved: int, gauges: int | None, cases: int, answer: int | None = None) -> Sizes:
    """Return the heights of the panels; the table takes the rest.

    ``reserved`` rows are for the header, the key bar and the transport line, ``gauges`` is the number of rows
    that all machines take, None if the session is over. ``cases`` is the number of cases, ``answer`` the lines
    of what the session says: 0 for its title alone, None for nothing yet. What the table doesn't need goes to
    the case.
    """
    frame = 2 if height >= USUAL_HEIGHT else 1
    log = 1 if height < USUAL_HEIGHT else 2 if height < HIGH else 4
    verdict = 0 if answer is None else answer + frame if answer else 1
    room = height - reserved - log - verdict - (2 if gauges is None else 3) * frame
    machine = 0 if gauges is None else max(1, min(gauges, room - MIN_CASE_ROWS - MIN_TABLE_ROWS))
    room -= machine
    case = CASE_ROWS[height >= USUAL_HEIGHT] + max(0, height - HIGH) // 3 if machine else MIN_CASE_ROWS
    case = max(min(case, room - MIN_TABLE_ROWS), MIN_CASE_ROWS, room - cases - 1)
    return Sizes(verdict, answer or 0, machine + frame if machine else 0, case + frame, log)
