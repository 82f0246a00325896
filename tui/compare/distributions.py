"""Two distributions of step times on one scale, one above the other; knows no Textual."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10, sqrt

import numpy as np

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import milliseconds
from benchtui.tui.drawing.styled_text import Line, Span, line

WIDE = 4.0
"""Times that lie further apart than this many times are drawn on a logarithmic scale."""
BEYOND = 1.5
"""Steps above this many times the larger median stand in the last column, and don't squeeze the rest."""
ENOUGH = 50_000
"""Steps that draw the picture that millions would, in a moment."""
MARGIN = 10
"""Cells at the left, for letters and the ends of the scale."""


@dataclass(frozen=True, slots=True)
class Times:
    """The measured steps of one case."""

    letter: str
    values_ms: np.ndarray
    median_ms: float
    role: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale of times over a number of columns."""

    low: float
    high: float
    columns: int
    logarithmic: bool

    @classmethod
    def over(cls, both: Sequence[Times], columns: int) -> "Axis":
        """The scale on which all of these have room, but for what lies far above."""
        low = min(float(each.values_ms.min()) for each in both)
        most = max(float(each.values_ms.max()) for each in both)
        high = min(most, BEYOND * max(each.median_ms for each in both))
        if high <= low:
            low, high = low * 0.99, low * 1.01 or 1.0
        return cls(low, high, columns, low > 0 and high / low > WIDE)

    def places(self, values_ms: np.ndarray) -> np.ndarray:
        """The column of each time, counted from 0."""
        values = np.clip(values_ms, self.low, self.high)
        low, high = (log10(self.low), log10(self.high)) if self.logarithmic else (self.low, self.high)
        shares = ((np.log10(values) if self.logarithmic else values) - low) / (high - low)
        places: np.ndarray = np.minimum((shares * self.columns).astype(int), self.columns - 1)
        return places


def overlay_lines(both: Sequence[Times], width: int, height: int, symbols: Symbols) -> list[Line]:
    """A row or more for each distribution, a common axis with the medians' letters on it, and its ends."""
    columns, rows = width - MARGIN - 1, (height - 2) // max(len(both), 1)
    if columns < 10 or rows < 1 or not both or any(not len(each.values_ms) for each in both):
        return []
    axis = Axis.over(both, columns)
    drawn = [made for each in both for made in _histogram(each, axis, rows, symbols)]
    return [*drawn, _medians(both, axis, symbols), _ends(both, axis, symbols)]


def _histogram(each: Times, axis: Axis, rows: int, symbols: Symbols) -> list[Line]:
    """How many steps stand in each column, the fullest as high as there are rows."""
    size = _cells(len(each.values_ms), axis.columns)
    told = each.values_ms[:: max(1, len(each.values_ms) // ENOUGH)]
    counts = np.bincount(axis.places(told) // size, minlength=-(-axis.columns // size))
    levels = counts / counts.max() * rows
    lines = []
    for row in range(rows - 1, -1, -1):
        cells = "".join(_filled(level - row, symbols) * size for level in levels)[: axis.columns]
        letter = each.letter if row == 0 else " "
        lines.append(line((f"{letter:>{MARGIN - 1}} ", each.role), (cells, each.role)))
    return lines


def _cells(n: int, columns: int) -> int:
    """Cells a column of the histogram takes: as few as still hold several steps each."""
    return max(1, round(columns / max(12.0, 4 * sqrt(n))))


def _filled(height: float, symbols: Symbols) -> str:
    """A cell filled up to a height, of which 1 is its upper edge; the smallest amount still shows."""
    most = len(symbols.up) - 1
    if height <= 0:
        return symbols.up[0]
    return symbols.up[max(1, min(most, round(height * most)))]


def _medians(both: Sequence[Times], axis: Axis, symbols: Symbols) -> Line:
    pieces: list[Span] = [(symbols.track, "faint")] * axis.columns
    for each in both:
        place = int(axis.places(np.asarray([each.median_ms]))[0])
        shared = pieces[place][0] != symbols.track
        pieces[place] = (symbols.middle, "strong") if shared else (each.letter, "strong")
    return line((" " * MARGIN, "plain"), *pieces)


def _ends(both: Sequence[Times], axis: Axis, symbols: Symbols) -> Line:
    """The ends of the scale, and what a reader must know of it."""
    low, high = (f"{milliseconds(end, symbols)} ms" for end in (axis.low, axis.high))
    above = sum(int(np.sum(each.values_ms > axis.high)) for each in both)
    words = [
        "letters: medians",
        *(["logarithmic"] if axis.logarithmic else []),
        *([f"{above:,} above"] if above else []),
    ]
    room, middle = axis.columns - len(low) - len(high), ", ".join(words)
    middle = (middle if len(middle) < room - 1 else "").center(room)
    return line((" " * MARGIN, "plain"), (low, "muted"), (middle, "muted"), (high, "muted"))
