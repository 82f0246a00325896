"""Annotations of the step plot: strips and the axis below it, and its legend. Independent of Textual."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import ceil

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.axis_scale import placed, round_step, time_interval, time_text
from benchtui.tui.drawing.styled_text import Line, Span, line

LABEL_CELLS = 12
"""Minimum distance between two labels on the axis of steps, in cells."""
LONG_STEP_MS = 1000.0
"""Median step time from which the axis shows times instead of step numbers."""


class Grid(msgspec.Struct, frozen=True):
    """Maps steps to cells: many steps per cell, or many cells per step."""

    steps: int
    """Steps per column."""
    cells: int
    """Cells per column."""

    @classmethod
    def of(cls, planned: int, width: int) -> "Grid":
        """Return a grid that fits all planned steps."""
        if planned <= width:
            return cls(1, max(1, min(4, width // max(planned, 1))))
        return cls(ceil(planned / width), 1)

    def cell(self, warmup: int, step: int) -> int:
        """Return the first cell of a measured step, counted from 0, after the columns of the warm-up."""
        return (ceil(warmup / self.steps) + step // self.steps) * self.cells


class Signs(msgspec.Struct, frozen=True):
    """Annotations of a case's measured steps; steps are counted from 0."""

    outliers: tuple[int, ...] = ()
    throttled: tuple[tuple[int, int], ...] = ()
    """Spans of steps (end exclusive) in which heat or power supply throttled the clock."""
    compiling: tuple[int, ...] = ()
    """Steps during which the compiler was running."""
    rounds: tuple[tuple[int, int], ...] = ()
    """Number of each later round, counted from 1, and its first step."""

    def __bool__(self) -> bool:
        return bool(self.outliers or self.throttled or self.compiling or self.rounds)

    def strips(self) -> list[tuple[str, str, tuple[tuple[int, int], ...]]]:
        """Return the strips with something to show, most important first: name, role, and spans of steps."""
        compiling = tuple((step, step + 1) for step in self.compiling)
        strips = (("throttled", "bad", self.throttled), ("compiling", "warning", compiling))
        return [strip for strip in strips if strip[2]]


def strip_cells(
    spans: Iterable[tuple[int, int]], role: str, shown: tuple[int, int], grid: Grid, symbols: Symbols
) -> Line:
    """Render the spans of steps as a strip, one cell per cell of the plot."""
    warmup, measured = shown
    cells = [" "] * grid.cell(warmup, measured + grid.steps - 1)
    for first, end in spans:
        start, stop = (grid.cell(warmup, step) for step in (first, min(end, measured) + grid.steps - 1))
        cells[start:stop] = [symbols.bar] * (stop - start)
    return line(("".join(cells), role))


def axis_cells(
    signs: Signs, shown: tuple[int, int], measured: Sequence[float], median: float | None, grid: Grid, room: int
) -> Line:
    """Render the axis of steps: warm-up, rounds, and step numbers, or times where steps are long."""
    warmup, count = shown
    texts = [(0, "warm-up")] if warmup else []
    texts += [(grid.cell(warmup, first), f"round {number}") for number, first in signs.rounds]
    if median is not None and median >= LONG_STEP_MS:
        texts += _times(warmup, list(measured[:count]), median, grid, room)
    elif median is not None:
        texts += _numbers(warmup, grid, room)
    return line((placed(texts, room), "muted"))


def _numbers(warmup: int, grid: Grid, room: int) -> list[tuple[int, str]]:
    """Return round step numbers; the first is labeled ``step``."""
    every = int(max(1, round_step(LABEL_CELLS * grid.steps / grid.cells)))
    last = (room // grid.cells) * grid.steps
    texts = [(grid.cell(warmup, step - 1), f"{step:,}") for step in range(every, last, every)]
    if not texts:
        return []
    at, first = texts[0]
    return [(at - len("step "), f"step {first}"), *texts]


def _times(
    warmup: int, measured: Sequence[float], median: float, grid: Grid, room: int
) -> list[tuple[int, str]]:
    """Return round times since the first measured step; future ones are estimated from the median."""
    per_label_s = LABEL_CELLS * grid.steps / grid.cells * median / 1000
    every_s = time_interval(per_label_s)
    ends_ms = list(accumulate(measured))
    total_ms, texts = (ends_ms[-1] if ends_ms else 0.0), []
    for number in range(1, room // 2):
        at_ms = 1000.0 * every_s * number
        step = bisect_left(ends_ms, at_ms)
        if at_ms > total_ms:
            step = len(ends_ms) + int((at_ms - total_ms) / median)
        texts.append((grid.cell(warmup, step), time_text(every_s * number)))
    return texts


def sign_words(signs: Signs, clipped: int, symbols: Symbols, strips: int) -> Sequence[tuple[Span, Span]]:
    """Return a legend of the signs that occur, and the names of all strips but the first ``strips``."""
    outliers = len(signs.outliers)
    pieces = [(symbols.outlier, f"{outliers:,} outlier{'s' if outliers > 1 else ''}", "warning", outliers)]
    pieces.append((symbols.above, "off scale", "warning", clipped))
    pieces += [(symbols.flag, name, role, 1) for name, role, _ in signs.strips()[strips:]]
    return [((f"{sign} ", role), (word, "muted")) for sign, word, role, amount in pieces if amount]
