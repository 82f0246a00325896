"""Step-time band: every step of a case on a fixed scale, warm-up marked. Independent of Textual."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.array_ops import extremes
from benchtui.tui.drawing.axis_scale import round_step
from benchtui.tui.drawing.format import fit, milliseconds
from benchtui.tui.drawing.styled_text import Line, Span, crop, line, width_of
from benchtui.tui.panels.signs import Grid, Signs, sign_cells, sign_words

LABEL_WIDTH = 13
ROOM_BESIDE_NAME = 7
"""Maximum length of a time that leaves a space after its name."""
ROOM_FOR_ALL = 5
"""Minimum number of rows at which the median may replace an end's label."""
BLANK_CELL: Span = (" ", "plain")
NARROWEST = 0.1
"""Minimum reach of the scale to either side, as a fraction of the median. Steady steps look steady."""
WIDEST = 1.5
"""Multiple of the median above which steps are clipped and marked. Keeps the rest readable."""


@dataclass(frozen=True, slots=True)
class Band:
    """Snapshot of a case's steps."""

    warmup: Sequence[float]
    """Times in milliseconds. The arrays only grow; the first ``shown`` values count."""
    measured: Sequence[float]
    shown: tuple[int, int]
    """Number of warm-up and measured steps to show."""
    planned: int
    """Expected number of steps, including warm-up, as far as known."""
    scale: "Scale | None"
    median: float | None = None
    """Median of the measured steps."""
    p99: float | None = None
    caption: str = ""
    """Caption for a band that isn't the current case's."""
    signs: Signs | None = None
    """Annotations of the steps."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Time range of a band, in milliseconds."""

    low: float
    high: float

    @classmethod
    def around(cls, least: float, median: float, most: float) -> "Scale":
        """Return a scale with round ends for steps with these statistics."""
        low = min(least, median * (1 - NARROWEST))
        high = max(min(most, median * WIDEST), median * (1 + NARROWEST))
        step = round_step((high - low) / 4)
        low, high = floor(low / step) * step, ceil(high / step) * step
        return cls(low, high if high > low else low + 1.0)

    def level(self, value: float) -> float:
        """Return the position of a time on the scale. 0 is the low end, 1 the high end; it may exceed 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Column:
    """One or more adjacent steps."""

    least: float
    most: float
    warmup: bool


def columns(values: Sequence[float], count: int, steps: int, warmup: bool) -> list[Column]:
    """Group the first ``count`` values by ``steps``, keeping each group's minimum and maximum."""
    return [Column(least, most, warmup) for least, most in extremes(values, count, steps)]


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows on a scale, and how a column fills their cells."""

    scale: Scale
    rows: int
    median: float | None
    symbols: Symbols
    p99: float | None = None

    @property
    def median_row(self) -> int | None:
        """Row of the median, counted from the top."""
        return self.row_of(self.median)

    def row_of(self, value: float | None) -> int | None:
        """Return the row of a time, counted from the top."""
        if value is None:
            return None
        return self.rows - 1 - min(int(self.height(value)), self.rows - 1)

    def height(self, value: float) -> float:
        """Return the height of a time in rows. Times below the scale remain visible."""
        return max(self.scale.level(value) * self.rows, 0.05)

    def cells(self, column: Column) -> list[Span]:
        """Return a column's cells from the top: solid up to its minimum, shaded up to its maximum."""
        least, most = self.height(column.least), self.height(column.most)
        draw = self._warmup_cell if column.warmup else self._cell
        cells = [draw(least - base, most - base) for base in range(self.rows - 1, -1, -1)]
        if column.most > self.scale.high:
            cells[0] = (self.symbols.above, "muted" if column.warmup else "warning")
        return cells

    def _warmup_cell(self, least: float, most: float) -> Span:
        return (self.symbols.shade, "muted") if most >= 1 else (self._part(most), "muted")

    def _cell(self, least: float, most: float) -> Span:
        """Return a cell filled up to these heights, where 1 is its upper edge."""
        if most <= 0:
            return BLANK_CELL
        if least >= 1 or most < 1:
            return (self._part(most), "accent" if least > 0 else "soft")
        return (self._part(least), "haze") if least > 0 else (self._part(1.0), "soft")

    def _part(self, height: float) -> str:
        return self.symbols.up[ceil(min(max(height, 0.0), 1.0) * (len(self.symbols.up) - 1))]

    def empty(self, row: int) -> Span:
        """Return the cell shown where there is no step yet."""
        if row == self.median_row:
            return (self.symbols.level, "faint")
        return (self.symbols.dot, "faint") if row == self.row_of(self.p99) else BLANK_CELL

    def label(self, row: int) -> Span:
        """Return a row's label and axis: p50, p99, and where there is room, the scale's ends."""
        if self.rows < ROOM_FOR_ALL and row in (0, self.rows - 1):
            return self._end(row)
        if self.median is not None and row == self.median_row:
            return self._named("p50", self.median, self.symbols.middle)
        if self.p99 is not None and row == self.row_of(self.p99):
            return self._named("p99", self.p99, self.symbols.middle)
        if row in (0, self.rows - 1):
            return self._end(row)
        return (" " * (LABEL_WIDTH - 1) + self.symbols.axis, "muted")

    def _end(self, row: int) -> Span:
        return self._named("", self.scale.low if row else self.scale.high, self.symbols.tick)

    def _named(self, name: str, time_ms: float, axis: str) -> Span:
        text = milliseconds(time_ms, self.symbols)
        if name and len(text) > ROOM_BESIDE_NAME:
            text = f"{time_ms:,.0f}"
        return (f"{name:<3}{text:>8} {axis}", "muted")


def band_lines(band: Band, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the band, with its scale at the left and a legend below."""
    room = width - LABEL_WIDTH
    if height < 3 or room < 10:
        return []
    if band.scale is None:
        return caption_lines(band.caption)
    grid = Grid.of(max(band.planned, sum(band.shown)), room)
    along = sign_cells(band.signs, band.shown, grid, symbols)[:room] if band.signs else []
    frame = Frame(band.scale, height - 1 - bool(along), band.median, symbols, band.p99)
    shown = _columns(band, grid)[: room // grid.cells]
    cells = [frame.cells(column) for column in shown]
    rows = [_row(frame, [column[row] for column in cells], row, grid, room) for row in range(frame.rows)]
    above = [line((" " * LABEL_WIDTH, "plain"), *along)] if along else []
    return [*above, *rows, _legend(band, grid, room, symbols)]


def caption_lines(caption: str) -> list[Line]:
    """Render the caption shown in place of steps."""
    return [line((" " * LABEL_WIDTH, "plain"), (caption, "muted"))] if caption else []


def _columns(band: Band, grid: Grid) -> list[Column]:
    warmup, measured = band.shown
    head = columns(band.warmup, warmup, grid.steps, warmup=True)
    return head + columns(band.measured, measured, grid.steps, warmup=False)


def _row(frame: Frame, cells: Sequence[Span], row: int, grid: Grid, room: int) -> Line:
    wide = cells if grid.cells == 1 else [(text * grid.cells, role) for text, role in cells]
    blank, role = frame.empty(row)
    rest = room - len(cells) * grid.cells
    return line(frame.label(row), *wide, (blank * rest, role))


def _legend(band: Band, grid: Grid, room: int, symbols: Symbols) -> Line:
    """Render the legend of columns and signs, with as many words as fit."""
    steps = "1 step per column" if grid.steps == 1 else f"{grid.steps} steps per column"
    known: list[Span] = [("warm-up  ", "muted")] if band.shown[0] else []
    known += sign_words(band.signs, symbols) if band.signs else []
    words = [word for word in (band.caption, steps, "ms per step") if word]
    between = f" {symbols.dot} "
    while len(between.join(words)) > room - width_of(known) and len(words) > 1:
        words.pop()
    left = max(0, room - width_of(known))
    text = fit(between.join(words), left, symbols).rstrip()
    return line((" " * LABEL_WIDTH, "plain"), *crop(known, room, symbols), (f"{text:>{left}}", "muted"))
