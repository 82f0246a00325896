"""Stacked histograms of two step time distributions on a common axis. Independent of Textual."""

from collections import Counter
from collections.abc import Sequence
from math import sqrt

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.axis_scale import LOG_SCALE_RATIO, Scale
from benchtui.tui.drawing.bars import history
from benchtui.tui.drawing.format import significant
from benchtui.tui.drawing.styled_text import Line, Span, line

CLIP_FACTOR = 1.5
"""Steps above this multiple of the larger median go to the last column, to keep the rest readable."""
MAX_SAMPLED_STEPS = 50_000
"""Number of steps to sample for a histogram: quick to draw, and looks the same as millions."""
MARGIN = 10
"""Cells left of the histograms, for their letters."""
AXIS_DIGITS = 4
"""Significant digits of the ends of the axis, which may be close to each other."""


class Times(msgspec.Struct, frozen=True):
    """Measured steps of one case."""

    letter: str
    values_ms: Sequence[float]
    median_ms: float
    role: str


class TimeAxis(msgspec.Struct, frozen=True):
    """Axis that maps step times in milliseconds to columns."""

    scale: Scale
    columns: int

    @classmethod
    def over(cls, both: Sequence[Times], columns: int) -> "TimeAxis":
        """Return an axis that covers all distributions, except for far outliers (see ``CLIP_FACTOR``)."""
        low = min(min(times.values_ms) for times in both)
        most = max(max(times.values_ms) for times in both)
        high = min(most, CLIP_FACTOR * max(times.median_ms for times in both))
        if high <= low:
            low, high = low * 0.99, low * 1.01 or 1.0
        return cls(Scale(low, high, (), low > 0 and high / low > LOG_SCALE_RATIO), columns)

    def place(self, time_ms: float) -> int:
        """Return the column of a time, counted from 0."""
        return min(int(self.scale.share(time_ms) * self.columns), self.columns - 1)


def overlay_lines(both: Sequence[Times], width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render histograms, a common axis with the medians, and its ends if there is room."""
    columns, ends = width - MARGIN - 1, height > len(both) + 1
    rows = (height - 1 - ends) // max(len(both), 1)
    if columns < 10 or rows < 1 or not both or any(not len(times.values_ms) for times in both):
        return []
    axis = TimeAxis.over(both, columns)
    drawn = [made for times in both for made in _histogram(times, axis, rows, symbols)]
    return [*drawn, _medians(both, axis, symbols), *([_ends(both, axis, symbols)] if ends else [])]


def _histogram(times: Times, axis: TimeAxis, rows: int, symbols: Symbols) -> list[Line]:
    """Render a histogram whose highest column fills all rows."""
    size = max(1, round(axis.columns / max(12.0, 4 * sqrt(len(times.values_ms)))))
    sampled = times.values_ms[:: max(1, len(times.values_ms) // MAX_SAMPLED_STEPS)]
    counts = Counter(axis.place(time_ms) // size for time_ms in sampled)
    most, bins = max(counts.values()), -(-axis.columns // size)
    levels = [counts[place] / most * rows for place in range(bins) for _ in range(size)][: axis.columns]
    lines = []
    for row in range(rows - 1, -1, -1):
        cells = history([level - row for level in levels], 1.0, axis.columns, symbols)
        letter = times.letter if row == 0 else " "
        lines.append(line((f"{letter:>{MARGIN - 1}} ", times.role), (cells, times.role)))
    return lines


def _medians(both: Sequence[Times], axis: TimeAxis, symbols: Symbols) -> Line:
    pieces: list[Span] = [(symbols.track, "faint")] * axis.columns
    for times in both:
        place = axis.place(times.median_ms)
        shared = pieces[place][0] != symbols.track
        pieces[place] = (symbols.middle, "strong") if shared else (times.letter, "strong")
    return line((" " * MARGIN, "plain"), *pieces)


def _ends(both: Sequence[Times], axis: TimeAxis, symbols: Symbols) -> Line:
    """Render the ends of the axis, with notes on how to read it."""
    low, high = (f"{significant(end, symbols, AXIS_DIGITS)} ms" for end in (axis.scale.low, axis.scale.high))
    above = sum(sum(time_ms > axis.scale.high for time_ms in times.values_ms) for times in both)
    words = [
        "A, B: medians",
        *(["logarithmic"] if axis.scale.logarithmic else []),
        *([f"{above:,} above"] if above else []),
    ]
    room, middle = axis.columns - len(low) - len(high), ", ".join(words)
    middle = (middle if len(middle) < room - 1 else "").center(room)
    return line((" " * MARGIN, "plain"), (low, "muted"), (middle, "muted"), (high, "muted"))
