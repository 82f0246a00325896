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

    machine: int
    top: int
    """Case panel, and the step breakdown next to it."""
    log: int


def sizes(height: int, reserved: int, gauges: int, cases: int) -> Sizes:
    """Return the heights of the panels; the table takes the rest.

    ``reserved`` rows are for the header, the key bar and the transport line, ``gauges`` is the number of rows
    that all machines take, and ``cases`` the number of cases. What the table doesn't need goes to the case.
    """
    frame = 2 if height >= USUAL_HEIGHT else 1
    log = 1 if height < USUAL_HEIGHT else 2 if height < HIGH else 4
    room = height - reserved - log - 3 * frame
    machine = max(1, min(gauges, room - MIN_CASE_ROWS - MIN_TABLE_ROWS))
    room -= machine
    case = CASE_ROWS[height >= USUAL_HEIGHT] + max(0, height - HIGH) // 3
    case = max(min(case, room - MIN_TABLE_ROWS), MIN_CASE_ROWS, room - cases - 1)
    return Sizes(machine + frame, case + frame, log)
