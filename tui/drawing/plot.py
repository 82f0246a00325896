"""Line plot with a letter and an interval at each point, on a canvas of dots. Independent of Textual."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.axis_scale import Scale, from_zero, labels, linear, logarithmic, of_values, tick_text
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, line, width_of

DOTS = ((0, 3), (1, 4), (2, 5), (6, 7))
"""Bit of each dot in a braille cell, row by row from the top."""


class Canvas:
    """Grid of cells; later drawing covers earlier."""

    def __init__(self, width: int, height: int, symbols: Symbols) -> None:
        """Create an empty canvas; width and height are in cells."""
        self.width, self.height = width, height
        fine = len(symbols.dots) == 256
        self.across, self.down = (2, 4) if fine else (1, 1)
        """Dots per cell, horizontally and vertically."""
        self._signs = symbols.dots
        self._bits = [[0] * width for _ in range(height)]
        self._roles = [["plain"] * width for _ in range(height)]
        self._signed: dict[tuple[int, int], Span] = {}

    def dot(self, x: int, y: int, role: str) -> None:
        """Draw a dot, counted from the top left. Dots outside the canvas are ignored."""
        column, row = x // self.across, y // self.down
        if not (0 <= column < self.width and 0 <= row < self.height):
            return
        self._bits[row][column] |= 1 << (DOTS[y % 4][x % 2] if self.across > 1 else 0)
        self._roles[row][column] = role

    def stroke(self, start: tuple[int, int], end: tuple[int, int], role: str) -> None:
        """Draw a straight line of dots."""
        (left, top), (right, bottom) = start, end
        steps = max(abs(right - left), abs(bottom - top), 1)
        for step in range(steps + 1):
            share = step / steps
            self.dot(round(left + share * (right - left)), round(top + share * (bottom - top)), role)

    def sign(self, column: int, row: int, text: str, role: str) -> None:
        """Put a character in a cell, above all dots."""
        if 0 <= column < self.width and 0 <= row < self.height:
            self._signed[column, row] = (text, role)

    def lines(self) -> Sequence[Line]:
        """Return the canvas as lines."""
        return [line(*(self._cell(column, row) for column in range(self.width))) for row in range(self.height)]

    def _cell(self, column: int, row: int) -> Span:
        signed = self._signed.get((column, row))
        return signed or (self._signs[self._bits[row][column]], self._roles[row][column])


MIN_TITLED_HEIGHT = 14
"""Height in lines from which the horizontal axis has a title."""
MARGIN = 3
"""Cells between an edge of the plot and the first or last value."""
REACH = (2, 1)
"""Columns and lines by which a click may miss a point."""
WIDE_RANGE = 10.0
"""Max/min ratio from which a continuous axis is logarithmic."""


class Dot(msgspec.Struct, frozen=True):
    """Data point."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    """Interval of ``y``, from ``low`` to ``high``."""
    case: int | None = None
    """Index of the case."""


class Curve(msgspec.Struct, frozen=True):
    """Series of points."""

    letter: str
    role: str
    dots: tuple[Dot, ...]
    joined: bool = True


class OutcomeMarker(msgspec.Struct, frozen=True):
    """Marker for cases without a value at one x position: their outcome and curves."""

    x: float
    sign: str
    role: str
    letters: str


class Plot(msgspec.Struct, frozen=True):
    """Content of a plot."""

    curves: tuple[Curve, ...]
    """Curves in drawing order; the last is on top."""
    lost: tuple[OutcomeMarker, ...]
    title: str
    """Title of the vertical axis, with its unit."""
    x_title: str
    x_values: tuple[float, ...] | None
    """Ticks of the horizontal axis; None if it is continuous."""
    logarithmic: bool = False
    chosen: Dot | None = None
    hint: str = ""
    """Why there is nothing to draw."""

    @property
    def single(self) -> bool:
        """Whether there is a single x value, so that points are drawn as bars."""
        return self.x_values is not None and len(self.x_values) == 1


class _Frame(msgspec.Struct, frozen=True):
    """Canvas with the scales of its two axes."""

    canvas: Canvas
    x: Scale
    y: Scale

    def column(self, x: float) -> int:
        """Return the column of a value on the horizontal axis, in cells."""
        return self.place(x) // self.canvas.across

    def place(self, x: float) -> int:
        """Return the position of a value on the horizontal axis, in dots from the left."""
        margin = min(MARGIN, self.canvas.width // 4)
        cells = self.canvas.width - 2 * margin - 1
        return round((margin + self.x.share(x) * cells + 0.5) * self.canvas.across - 0.5)

    def level(self, y: float) -> int:
        """Return the position of a value on the vertical axis, in dots from the top."""
        dots = self.canvas.height * self.canvas.down - 1
        return round((1 - self.y.share(y)) * dots)

    def row(self, y: float) -> int:
        """Return the row of a value on the vertical axis, in cells."""
        return self.level(y) // self.canvas.down


def plot_lines(plot: Plot, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render the plot: title, canvas with scale, axis with outcome markers, labels."""
    if plot.hint:
        return [BLANK] * max(0, height // 2 - 1) + [line(("  ", "plain"), (plot.hint, "muted"))]
    if plot.single:
        return _bars(plot, width, height, symbols)
    frame = _frame(plot, width, height, symbols)
    if frame is None:
        return []
    room = width - frame.canvas.width - 2
    for curve in plot.curves:
        _draw(frame, curve, symbols)
    _count_covered(frame, plot)
    if (chosen := plot.chosen) is not None:
        frame.canvas.sign(frame.column(chosen.x), frame.row(chosen.y), plot.curves[-1].letter, "chosen")
    title = crop([(" " * (room + 2), "plain"), (plot.title, "muted")], width, symbols)
    lines = [title, *_canvas_lines(frame, room, symbols), *_x_axis_lines(frame, plot, room, symbols)]
    titled = height >= MIN_TITLED_HEIGHT
    return [*lines, line((f"{plot.x_title:>{width}}", "muted"))] if titled else lines


def plot_case_at(plot: Plot, at: tuple[int, int], size: tuple[int, int], symbols: Symbols) -> int | None:
    """Return the case of the point nearest to a column and line of the rendered plot; None if none is near."""
    if plot.hint:
        return None
    if plot.single:
        bars = _sorted_dots(plot)
        return bars[at[1] - 2][1].case if 0 <= at[1] - 2 < len(bars) else None
    frame = _frame(plot, *size, symbols)
    if frame is None:
        return None
    column, row = at[0] - (size[0] - frame.canvas.width), at[1] - 1
    misses = [
        ((abs(frame.column(dot.x) - column), abs(frame.row(dot.y) - row)), dot.case)
        for curve in reversed(plot.curves)
        for dot in curve.dots
    ]
    near = [(sum(miss), case) for miss, case in misses if miss[0] <= REACH[0] and miss[1] <= REACH[1]]
    return min(near, key=lambda hit: hit[0])[1] if near else None


def _frame(plot: Plot, width: int, height: int, symbols: Symbols) -> _Frame | None:
    """Return the empty canvas with its scales; None without room or points."""
    rows = height - 3 - (height >= MIN_TITLED_HEIGHT)
    dots = [dot for curve in plot.curves for dot in curve.dots]
    if rows < 3 or width < 24 or not dots:
        return None
    y = _vertical(dots, rows, plot.logarithmic)
    room = max(len(tick_text(tick)) for tick in y.ticks)
    return _Frame(Canvas(width - room - 2, rows, symbols), _horizontal(plot, dots), y)


def _sorted_dots(plot: Plot) -> list[tuple[Curve, Dot]]:
    """Return the points of a plot with a single x value in the order of their bars."""
    curves = sorted(plot.curves, key=lambda curve: curve.letter)
    return [(curve, dot) for curve in curves for dot in curve.dots]


def _bars(plot: Plot, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    most = linear(0.0, max(dot.y for curve in plot.curves for dot in curve.dots), 5).high
    bars = [
        line((f" {curve.letter} ", curve.role), *bar(dot.y / most, width - 4, symbols, curve.role))
        for curve, dot in _sorted_dots(plot)
    ]
    return [line((f" {plot.title}, from 0 to {tick_text(most)}", "muted")), BLANK, *bars][:height]


def _vertical(dots: Sequence[Dot], rows: int, by_logarithm: bool) -> Scale:
    lows = [dot.y if dot.low is None else dot.low for dot in dots]
    highs = [dot.y if dot.high is None else dot.high for dot in dots]
    count = max(2, min(9, (rows + 1) // 2))
    positive = [value for value in (*lows, *(dot.y for dot in dots)) if value > 0]
    if by_logarithm and positive:
        return logarithmic(min(positive), max(highs), count)
    return from_zero(max(highs), count)


def _horizontal(plot: Plot, dots: Sequence[Dot]) -> Scale:
    if plot.x_values is not None:
        return of_values(plot.x_values)
    places = [dot.x for dot in dots]
    least, most = min((x for x in places if x > 0), default=0.0), max(places)
    if not 0 < least * WIDE_RANGE <= most:
        return from_zero(most, 7)
    if min(places) > 0:
        return logarithmic(least, most, 9)
    scale = logarithmic(least, most, 8)
    return replace(scale, ticks=(0.0, *scale.ticks), zero=True)


def _draw(frame: _Frame, curve: Curve, symbols: Symbols) -> None:
    canvas = frame.canvas
    at = [(frame.place(dot.x), frame.level(dot.y)) for dot in curve.dots]
    if curve.joined:
        for start, end in pairwise(at):
            canvas.stroke(start, end, curve.role)
    for dot, (x, _) in zip(curve.dots, at, strict=True):
        if dot.low is not None and dot.high is not None:
            canvas.stroke((x, frame.level(dot.high)), (x, frame.level(dot.low)), curve.role)
        if curve.letter:
            canvas.sign(frame.column(dot.x), frame.row(dot.y), curve.letter, curve.role)


def _count_covered(frame: _Frame, plot: Plot) -> None:
    """Draw the number of points next to a letter that covers several, if the cells next to it are free."""
    case_counts = Counter(
        (frame.column(dot.x), frame.row(dot.y))
        for curve in plot.curves
        if curve.letter and curve.joined
        for dot in curve.dots
    )
    for (column, row), count in case_counts.items():
        more = f"+{count - 1}"
        cells = [column + 1 + offset for offset in range(len(more))]
        if (
            count > 1
            and cells[-1] < frame.canvas.width
            and not any((cell, row) in case_counts for cell in cells)
        ):
            for cell, character in zip(cells, more, strict=True):
                frame.canvas.sign(cell, row, character, "muted")


def _canvas_lines(frame: _Frame, room: int, symbols: Symbols) -> Iterable[Line]:
    ticks = {frame.row(tick): tick_text(tick) for tick in frame.y.ticks}
    for row, drawn in enumerate(frame.canvas.lines()):
        mark = symbols.tick if row in ticks else symbols.axis
        yield line((f"{ticks.get(row, ''):>{room}} ", "muted"), (mark, "faint"), *drawn)


def _x_axis_lines(frame: _Frame, plot: Plot, room: int, symbols: Symbols) -> Sequence[Line]:
    width = frame.canvas.width
    axis: list[Span] = [(symbols.track, "faint")] * width
    for tick in frame.x.ticks:
        axis[frame.column(tick)] = (symbols.below, "faint")
    for lost in plot.lost:
        _mark(axis, frame.column(lost.x), lost)
    texts = labels(frame.x.ticks, frame.column, width)
    chosen_column = None if plot.chosen is None else frame.column(plot.chosen.x)
    corner = (" " * (room + 1), "plain"), (symbols.corner, "faint")
    return [line(*corner, *axis), line((" " * (room + 2), "plain"), *_label_spans(texts, chosen_column))]


def _mark(axis: list[Span], column: int, lost: OutcomeMarker) -> None:
    """Put an outcome marker on the axis, followed by as many curve letters as fit."""
    for offset, letter in enumerate(lost.sign + lost.letters):
        free = column + offset < len(axis) and (offset == 0 or axis[column + offset][1] == "faint")
        if not free or offset > MARGIN:
            return
        axis[column + offset] = (letter, lost.role)


def _label_spans(texts: Sequence[tuple[int, str]], chosen_column: int | None) -> list[Span]:
    """Position the labels, highlighting that of the selected point."""
    pieces: list[Span] = []
    for start, text in texts:
        chosen = chosen_column is not None and start <= chosen_column < start + len(text)
        pieces += [(" " * (start - width_of(pieces)), "plain"), (text, "bright" if chosen else "muted")]
    return pieces
