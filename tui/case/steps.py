"""Step table of a case: renders only visible rows, so ten million steps cost no more than ten."""

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.sweep import MOST_ROUNDS
from benchtui.sessions.text.formatting import LOSS_DIGITS
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, significant
from benchtui.tui.drawing.styled_text import Line, Span, crop

WIDTH = 10
"""Width of a metric column in cells."""
RAW_DIGITS = 4
"""Significant digits of a raw value: enough to distinguish steps of nearly the same length."""


class StepRange(msgspec.Struct, frozen=True):
    """Consecutive steps of one phase and round: column indices from ``start`` up to, not including, ``end``."""

    columns: Columns
    phase: str
    round: int
    start: int
    end: int


class StepTable:
    """Steps of a case in execution order: in each round the warm-up, then the measured steps."""

    def __init__(self, case: CaseState, outliers: Sequence[int]) -> None:
        """Index the steps. ``outliers`` are indices of measured steps, in ascending order."""
        self._ranges = _ranges(case)
        self._measured = case.measured
        self._outliers = outliers
        self._parts = tuple(case.measured.parts_ms or case.warmup.parts_ms)
        self.count = sum(step_range.end - step_range.start for step_range in self._ranges)

    def lines(self, at: int, width: int, height: int, symbols: Symbols) -> list[Line]:
        """Render the header and the rows around the selected row ``at``."""
        titles = self._titles(width)
        head = "".join(f"{title:>{size}}" for title, size in titles)
        top = max(0, min(at - (height - 1) // 2, self.count - (height - 1)))
        rows = range(top, min(top + height - 1, self.count))
        header: list[Span] = [(head, "muted")]
        drawn = (self._row(row, row == at, titles, symbols) for row in rows)
        return [crop(pieces, width, symbols) for pieces in (header, *drawn)]

    def next_outlier(self, at: int, by: int) -> int | None:
        """Return the row of the next outlier (previous if ``by`` is -1); None if there is none."""
        rows = (self._row_of(place) for place in self._nearby_outliers(at, by))
        return next((row for row in rows if (row - at) * by > 0), None)

    def _nearby_outliers(self, at: int, by: int) -> Sequence[int]:
        """Return a few outliers on both sides of a row, in search order."""
        step_range, place = self._locate(at)
        if step_range.columns is not self._measured:  # warm-up: search from the next measured step
            later = (candidate.start for candidate in self._ranges if candidate.columns is self._measured)
            place = next((start for start in later if self._row_of(start) > at), len(self._measured))
        near = bisect_left(self._outliers, place)
        around = self._outliers[max(0, near - 2) : near + 3]
        return around if by > 0 else around[::-1]

    def _row_of(self, place: int) -> int:
        before = 0
        for step_range in self._ranges:
            if step_range.columns is self._measured and step_range.start <= place < step_range.end:
                return before + place - step_range.start
            before += step_range.end - step_range.start
        raise IndexError(place)

    def _locate(self, row: int) -> tuple[StepRange, int]:
        """Return the ``StepRange`` that contains a row, and the row's index in the columns."""
        for step_range in self._ranges:
            size = step_range.end - step_range.start
            if row < size:
                return step_range, step_range.start + row
            row -= size
        raise IndexError(row)

    def _titles(self, width: int) -> list[tuple[str, int]]:
        """Return titles and widths of the columns that fit. Step parts come last, in their order."""
        measured = self._measured
        counted = [("step", 11), (" phase", 9), (" round", 6), ("wall ms", WIDTH + 2)]
        device = [("device ms", WIDTH + 1)] if len(measured.device_ms) else []
        host = [("host ms", WIDTH)] if len(measured.host_ms) else []
        more = [
            (name, WIDTH) for name, has in (("tokens", measured.tokens), ("loss", measured.loss)) if len(has)
        ]
        parts = [(clean(part)[:WIDTH], max(WIDTH, len(part[:WIDTH]) + 1)) for part in self._parts]
        kept: list[tuple[str, int]] = []
        for title, size in [*counted, *device, *host, *more, *parts]:
            if sum(column_width for _, column_width in kept) + size + 2 <= width:
                kept.append((title, size))
        return kept

    def _row(self, row: int, chosen: bool, titles: Sequence[tuple[str, int]], symbols: Symbols) -> list[Span]:
        step_range, place = self._locate(row)
        outlier = self._is_outlier(step_range, place)
        role = "warning" if outlier else "muted" if step_range.phase == "warm-up" else "plain"
        cells = self._cells(step_range, place, row, symbols)
        text = "".join(f"{cells.get(title, ''):>{size}}" for title, size in titles)
        mark = symbols.chosen if chosen else " "
        sign = f" {symbols.above}" if outlier else ""
        return [(mark, "accent"), (text[1:], "strong" if chosen and not outlier else role), (sign, "warning")]

    def _is_outlier(self, step_range: StepRange, place: int) -> bool:
        near = bisect_left(self._outliers, place)
        return step_range.columns is self._measured and self._outliers[near : near + 1] == (place,)

    def _cells(self, step_range: StepRange, place: int, row: int, symbols: Symbols) -> dict[str, str]:
        columns = step_range.columns
        times = {"wall ms": columns.wall_ms, "device ms": columns.device_ms, "host ms": columns.host_ms}
        times |= {clean(name)[:WIDTH]: column for name, column in columns.parts_ms.items()}
        cells = {
            name: significant(_entry(columns, column, place), symbols, RAW_DIGITS)
            for name, column in times.items()
        }
        tokens, loss = _entry(columns, columns.tokens, place), _entry(columns, columns.loss, place)
        cells |= {"tokens": "" if tokens is None else f"{tokens:,}"}
        cells |= {"loss": significant(loss, symbols, LOSS_DIGITS)}
        return cells | {"step": f"{row:,}", " phase": step_range.phase, " round": f"{step_range.round:,}"}


def _ranges(case: CaseState) -> tuple[StepRange, ...]:
    """Split the steps by round and phase. Within a round, the warm-up comes first."""
    step_ranges = [*_of_phase(case.warmup, "warm-up"), *_of_phase(case.measured, "measure")]
    return tuple(sorted(step_ranges, key=lambda step_range: step_range.round))


def _of_phase(columns: Columns, phase: str) -> list[StepRange]:
    spans = columns.spans()
    if len(spans) > MOST_ROUNDS:  # no engine writes this many rounds, but a file may contain them
        spans = [(0, 0, len(columns))]
    return [StepRange(columns, phase, round_index, first, end) for round_index, first, end in spans]


def _entry(columns: Columns, column: Sequence[float], place: int) -> float | None:
    """Return a step's entry in a column; None if the column doesn't cover every step."""
    return column[place] if len(column) == len(columns) else None
