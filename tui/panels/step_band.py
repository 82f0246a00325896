"""Step plot: every step of a case as a bar, over the range of most of them. Independent of Textual."""

from collections.abc import Sequence
from math import ceil

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import (
    BLANK,
    Line,
    Span,
    crop,
    fitting_facts,
    justify,
    line,
    width_of,
    wrap_line,
)
from benchtui.tui.panels.signs import Grid, Signs, axis_cells, sign_words, strip_cells
from benchtui.tui.panels.step_axis import Axis, Labels, Rows, labels_of

GUTTER = 10
"""Minimum width of the labels: the longest name of a strip, and a space."""
BLANK_CELL: Span = (" ", "plain")
LEAST_ROWS = 3
"""Rows of the plot itself before strips and a legend get any."""
LEAST_ROOM = 10
"""Minimum width of the plot itself, in cells."""
LEGEND_HEIGHT = 6
"""Minimum height of a panel with a legend in a row of its own."""
GAP_CELLS = 3
"""Cells per step from which bars are separated by gaps."""


class Band(msgspec.Struct, frozen=True):
    """Snapshot of a case's steps."""

    warmup: Sequence[float]
    """Times in milliseconds. The arrays only grow; the first ``shown`` values count."""
    measured: Sequence[float]
    shown: tuple[int, int]
    """Number of warm-up and measured steps to show."""
    planned: int
    """Expected number of steps, including warm-up, as far as known."""
    axis: Axis | None
    """None while there are no steps."""
    median: float | None = None
    """Median of the measured steps."""
    p99: float | None = None
    typical: tuple[float, float] | None = None
    """p5 and p95; None if there are too few steps."""
    caption: str = ""
    """Name of the case if the heading doesn't name it; without steps, the phase of the case."""
    signs: Signs = msgspec.field(default_factory=Signs)
    """Annotations of the steps."""


class StepColumn(msgspec.Struct, frozen=True):
    """One or more adjacent steps."""

    least: float
    most: float
    warmup: bool
    outlier: bool = False


class Frame(msgspec.Struct, frozen=True):
    """Rows of the plot, and how a column fills their cells."""

    rows: Rows
    symbols: Symbols
    empty: Sequence[Span]
    """Cell of each row where no step is drawn."""

    @classmethod
    def of(cls, rows: Rows, band: Band, symbols: Symbols) -> "Frame":
        """Return the frame of a plot, with the lines of its percentiles."""
        return cls(rows, symbols, [_empty_cell(row, rows, band, symbols) for row in range(rows.count)])

    def cells(self, column: StepColumn) -> list[Span]:
        """Return a column's cells from the top: solid up to its minimum, shaded up to its maximum."""
        least, most = self.rows.height(column.least), self.rows.height(column.most)
        draw = self._warmup_cell if column.warmup else self._cell
        count = self.rows.count
        top, solid = min(ceil(most), count), min(int(most if column.warmup else least), count)
        cells = [draw(least - base, most - base) for base in range(top - 1, solid - 1, -1)]
        cells = [*self.empty[: count - top], *cells, *[draw(1.0, 1.0)] * solid]
        if self.rows.break_row is not None:
            cells[self.rows.break_row] = (self.symbols.axis_break, "muted" if column.warmup else "accent")
        if column.most > self.rows.scale.high:
            cells[0] = (self.symbols.above, "muted" if column.warmup else "warning")
        elif column.outlier:
            cells[max(0, count - 1 - ceil(most))] = (self.symbols.outlier, "warning")
        return cells

    def _warmup_cell(self, least: float, most: float) -> Span:
        return (self.symbols.shade if most >= 1 else self._part(most), "muted")

    def _cell(self, least: float, most: float) -> Span:
        """Return a cell filled up to these heights, where 1 is its upper edge."""
        if least >= 1 or most < 1:
            return (self._part(most), "accent" if least > 0 else "soft")
        return (self._part(least), "haze") if least > 0 else (self._part(1.0), "soft")

    def _part(self, height: float) -> str:
        return self.symbols.up[ceil(min(max(height, 0.0), 1.0) * (len(self.symbols.up) - 1))]


def _empty_cell(row: int, rows: Rows, band: Band, symbols: Symbols) -> Span:
    """Return the cell of a row above a step, or where there is no step yet."""
    if row == rows.break_row:
        return (symbols.axis_break, "faint")
    if row == rows.row_of(band.median):
        return (symbols.track, "muted")
    if row == rows.row_of(band.p99):
        return (symbols.level, "muted")
    shaded = band.typical is not None and rows.within(row, *band.typical)
    return (symbols.spread, "faint") if shaded else BLANK_CELL


class _Layout(msgspec.Struct, frozen=True):
    """Room of the panel: rows below the plot, and cells next to its labels."""

    strips: int
    """Number of strips below the axis of steps, most important first."""
    legend: bool
    """Whether the legend has a row of its own."""
    gutter: int
    """Cells of the labels."""
    room: int
    """Cells of the plot."""
    grid: Grid


def band_lines(band: Band, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the plot with its scale at the left; below it the steps' axis, strips, and a legend."""
    if band.axis is None:
        return wrap_line([(band.caption, "muted")], width)[: max(height, 0)] if band.caption else []
    if height < LEAST_ROWS:
        return []
    strips = min(len(band.signs.strips()), max(0, height - 1 - LEAST_ROWS))
    legend = height - strips >= LEGEND_HEIGHT
    rows = band.axis.rows(height - 1 - strips - legend)
    labels = labels_of(rows, {"p50": band.median, "p99": band.p99}, GUTTER - 2)
    room = width - labels.width
    if room < LEAST_ROOM:
        return []
    layout = _Layout(strips, legend, labels.width, room, Grid.of(max(band.planned, sum(band.shown)), room))
    frame = Frame.of(rows, band, symbols)
    shown = _columns(band, layout.grid)
    words = _words(band, frame, shown, layout)
    return [*_plot(frame, labels, shown, layout), *_below(band, words, layout, symbols)]


def extremes(values: Sequence[float], count: int, steps: int) -> list[tuple[float, float]]:
    """Return (min, max) of each group of ``steps`` among the first ``count`` values."""
    groups = (values[start : min(start + steps, count)] for start in range(0, count, steps))
    return [(min(group), max(group)) for group in groups]


def _columns(band: Band, grid: Grid) -> list[StepColumn]:
    warmup, measured = band.shown
    outliers = {step // grid.steps for step in band.signs.outliers}
    return [
        *(StepColumn(*extreme, warmup=True) for extreme in extremes(band.warmup, warmup, grid.steps)),
        *(
            StepColumn(*extreme, warmup=False, outlier=at in outliers)
            for at, extreme in enumerate(extremes(band.measured, measured, grid.steps))
        ),
    ]


def _plot(frame: Frame, labels: Labels, shown: Sequence[StepColumn], layout: _Layout) -> list[Line]:
    cells = [frame.cells(column) for column in shown[: layout.room // layout.grid.cells]]
    return [
        line(
            (labels.cell(row, frame.rows, frame.symbols), "muted"),
            *_row([column[row] for column in cells], frame.empty[row], layout),
        )
        for row in range(frame.rows.count)
    ]


def _row(cells: Sequence[Span], empty: Span, layout: _Layout) -> list[Span]:
    blank, role = empty
    cells_per_step = layout.grid.cells
    apart = cells_per_step >= GAP_CELLS
    bars = cells
    if cells_per_step > 1:
        bars = [
            piece
            for text, own in cells
            for piece in ((text * (cells_per_step - apart), own), (blank * apart, role))
        ]
    return [*bars, (blank * (layout.room - len(cells) * cells_per_step), role)]


def _words(band: Band, frame: Frame, shown: Sequence[StepColumn], layout: _Layout) -> list[Sequence[Span]]:
    """Return the legend, most important first."""
    symbols, steps = frame.symbols, layout.grid.steps
    clipped = sum(column.most > frame.rows.scale.high and not column.warmup for column in shown)
    words: list[Sequence[Span]] = [((band.caption, "plain"),)] if band.caption else []
    words += sign_words(band.signs, clipped, symbols, layout.strips)
    shaded = any(sign == symbols.spread for sign, _ in frame.empty)
    more: list[tuple[object, Span, Span]] = [
        (steps > 1, ("", "muted"), (f"{steps:,} steps per column", "muted")),
        (shaded, (f"{symbols.spread} ", "faint"), ("p5 to p95", "muted")),
        (band.shown[0], (f"{symbols.shade} ", "muted"), ("warm-up", "muted")),
        (steps > 1, (f"{symbols.up[-1]} ", "soft"), ("up to the slowest", "muted")),
    ]
    return words + [word for there, *word in more if there] if layout.legend else words


def _below(band: Band, words: Sequence[Sequence[Span]], layout: _Layout, symbols: Symbols) -> list[Line]:
    """Render the axis of steps, the strips, and the legend, in its own row or after the axis."""
    margin: Span = (" " * layout.gutter, "plain")
    legend = fitting_facts(words, layout.room)
    behind = legend and not layout.legend
    room = layout.room - width_of(legend) - 2 if behind else layout.room
    grid = layout.grid
    axis = axis_cells(band.signs, band.shown, band.measured, band.median, grid, room)
    lines = [line(margin, *(justify(axis, legend, layout.room, symbols) if behind else axis))]
    for name, role, spans in band.signs.strips()[: layout.strips]:
        strip = crop(strip_cells(spans, role, band.shown, grid, symbols), layout.room, symbols)
        lines.append(line((f"{name:<{layout.gutter}}", role), *strip))
    return [*lines, line(margin, *legend) if legend else BLANK] if layout.legend else lines
