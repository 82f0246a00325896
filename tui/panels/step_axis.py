"""Vertical axis of the step plot: its range, break, unit, and labels. Independent of Textual."""

from math import ceil, floor

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.axis_scale import round_step, tick_text
from benchtui.tui.drawing.format import significant

WIDEST = 1.5
"""Multiple of the median above which steps are off scale, unless p95 is higher."""
WIDEST_BY_P95 = 5.0
"""Maximum of that multiple if p95 is higher. Beyond it, the median would be a flat line."""
HEADROOM = 1.1
"""Minimum top of the axis, as a multiple of the median."""
NARROW_BAND = 0.2
"""Maximum range from p5 to p95, as a fraction of the median, for a broken axis."""
WIDE_BAND = 0.4
"""Range above which a broken axis starts at zero again, permanently. Between the limits, nothing changes."""
NARROW_REACH = 0.05
"""Minimum reach of a broken axis to either side of the median, as a fraction of it."""
SETTLED_STEPS = 20
"""Number of steps from which an axis only grows. Before, it may shrink: slow first steps would flatten it."""
BROKEN_ROWS = 8
"""Minimum number of rows of a plot with a broken axis."""
FOOT_ROWS = 2
"""Rows of the axis break and, below it, of zero."""
SECONDS_FROM_MS = 2000.0
"""Top of an axis from which it is labeled in seconds."""
TICK_ROWS = 4
"""Minimum number of rows between two labels of a tall axis."""


class Spread(msgspec.Struct, frozen=True):
    """Spread of step times in milliseconds."""

    n: int
    least: float
    median: float
    most: float
    p5_to_p95: tuple[float, float] | None = None
    """None if there are too few steps."""


class Scale(msgspec.Struct, frozen=True):
    """Range of times, in milliseconds."""

    low: float
    high: float

    def level(self, value: float) -> float:
        """Return the position of a time on the scale. 0 is the low end, 1 the high end; it may exceed 1."""
        return (value - self.low) / (self.high - self.low)


class Axis(msgspec.Struct, frozen=True):
    """Axis from zero to a round time and, if most steps are within a narrow range, that range."""

    top: float
    narrow: Scale | None = None
    """Range shown above the break of a tall plot; None if the axis isn't to be broken."""
    decided: bool = False
    """Whether there were enough steps to decide about a break. The axis is never broken later."""

    @classmethod
    def of(cls, spread: Spread, before: "Axis | None" = None) -> "Axis":
        """Return the axis of these steps. It only grows from ``before``, the axis of the first of them."""
        top, decided = _top(spread), spread.p5_to_p95 is not None
        if before is None:
            return cls(top, _narrow(spread, NARROW_BAND), decided)
        shrinks = spread.n < SETTLED_STEPS and top < before.top / WIDEST
        narrow = _grown(before, spread) if before.decided else _narrow(spread, NARROW_BAND)
        return cls(top if shrinks else max(top, before.top), narrow, before.decided or decided)

    def rows(self, count: int) -> "Rows":
        """Lay the axis out over a number of rows; only tall ones are broken."""
        broken = self.narrow if count >= BROKEN_ROWS else None
        return Rows(count, broken or Scale(0.0, self.top), FOOT_ROWS if broken else 0)


class Rows(msgspec.Struct, frozen=True):
    """Rows of a plot, counted from the top, and the times they represent."""

    count: int
    scale: Scale
    """Range of the rows above the foot."""
    foot: int = 0
    """Number of rows from zero to the end of the axis break; 0 without one."""

    def height(self, value: float) -> float:
        """Return the height of a time in rows. Any time remains visible, and one below a break ends there."""
        above = self.scale.level(value) * (self.count - self.foot)
        return max(self.foot + above, 1.0 if self.foot else 0.05)

    def row_of(self, value: float | None) -> int | None:
        """Return the row of a time; None if unknown."""
        if value is None:
            return None
        return self.count - 1 - min(int(self.height(value)), self.count - 1)

    def within(self, row: int, low: float, high: float) -> bool:
        """Return whether the middle of a row is between two times."""
        middle = self.count - row - 0.5
        return self.height(low) <= middle <= self.height(high)

    @property
    def break_row(self) -> int | None:
        """Row of the break; None without one."""
        return self.count - self.foot if self.foot else None

    def ticks(self) -> list[float]:
        """Return the round times between the ends that a tall axis has room for."""
        span = self.scale.high - self.scale.low
        step = round_step(TICK_ROWS * span / max(self.count - self.foot, 1))
        first, last = floor(self.scale.low / step + 1e-9) + 1, ceil(self.scale.high / step - 1e-9)
        return [place * step for place in range(first, last)]


class Labels(msgspec.Struct, frozen=True):
    """Labels left of a plot, by row, all in one unit."""

    texts: dict[int, str]
    named: frozenset[int]
    """Rows with a labeled percentile."""
    width: int
    """Width of the labels and the axis in cells, given by the longest label."""

    def cell(self, row: int, rows: Rows, symbols: Symbols) -> str:
        """Return the label and the axis of a row."""
        axis = symbols.middle if row in self.named else symbols.tick if row in self.texts else symbols.axis
        if row == rows.break_row:
            axis = symbols.axis_break
        return f"{self.texts.get(row, ''):>{self.width - 2}} {axis}"


def labels_of(rows: Rows, named: dict[str, float | None], least_width: int) -> Labels:
    """Label p50 and p99, both ends, and round times between them, unless they share a row."""
    size, unit = (1000, "s") if rows.scale.high >= SECONDS_FROM_MS else (1, "ms")
    texts: dict[int, str] = {}
    for name, value in named.items():
        row = rows.row_of(value)
        if value is not None and row is not None and row != rows.break_row:
            texts.setdefault(row, f"{name} {significant(value / size)} {unit}")
    percentiles = frozenset(texts)
    foot = [(rows.count - 1, 0.0)] if rows.foot or not rows.scale.low else []
    low = [(rows.count - 1 - rows.foot, rows.scale.low)] if rows.foot else []
    between = [(rows.row_of(tick) or 0, tick) for tick in rows.ticks()]
    for row, value in [*foot, (0, rows.scale.high), *low, *between]:
        near = value in rows.ticks() and ({row - 1, row + 1} & texts.keys())
        if not near:
            texts.setdefault(row, f"{tick_text(value / size)} {unit}" if value else "0")
    return Labels(texts, percentiles, max(least_width, *map(len, texts.values())) + 2)


def _top(spread: Spread) -> float:
    p95 = spread.p5_to_p95[1] if spread.p5_to_p95 else 0.0
    by_p95 = min(p95 * HEADROOM, spread.median * WIDEST_BY_P95)
    limit = max(spread.median * WIDEST, by_p95)
    needed = max(min(spread.most, limit), spread.median * HEADROOM)
    step = round_step(needed / 10)
    return ceil(needed / step - 1e-9) * step or 1.0


def _narrow(spread: Spread, most_band: float) -> Scale | None:
    """Return the range of most steps with round ends; None if it is unknown or too wide for a broken axis."""
    p5, p95 = spread.p5_to_p95 or (0.0, 0.0)
    if p5 <= 0 or p95 - p5 > most_band * spread.median:
        return None
    low = min(max(spread.least, 2 * p5 - p95), spread.median * (1 - NARROW_REACH))
    high = max(min(spread.most, 2 * p95 - p5), spread.median * (1 + NARROW_REACH))
    step = round_step((high - low) / 8)
    return Scale(floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step)


def _grown(before: Axis, spread: Spread) -> Scale | None:
    needed = _narrow(spread, WIDE_BAND)
    if before.narrow is None or needed is None:
        return None
    return Scale(min(before.narrow.low, needed.low), max(before.narrow.high, needed.high))
