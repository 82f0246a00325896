"""Axis scales with round ticks, independent of Textual."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import ceil, floor, isfinite, log10

import msgspec

ROUND = (1, 2, 5)
"""Ticks are at these multiples of a power of ten."""
ROUND_NEAR = (1, 2, 2.5, 5)
ROUND_NEARER = (1.5, 3, 4, 6, 8)
"""Steps of an axis that ends near its last value. The second set is used if the first ends too far off."""
MAX_EXCESS = 0.15
"""Maximum excess of an axis over its last value, as a share of that value."""
LOG_SCALE_RATIO = 4.0
"""Max/min ratio from which values get a log scale, if each is at least 1.5 times the previous one."""
ZERO_SHARE = 0.1
"""Share of a log scale between 0 and its lowest positive value."""
INTERVALS_S = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30),
    *(60.0 * minutes for minutes in (1, 2, 5, 10, 20, 30)),
    *(3600.0 * hours for hours in (1, 2, 5, 10, 24)),
)
"""Intervals between two labels of a time axis, in seconds."""


class Scale(msgspec.Struct, frozen=True):
    """Range and ticks of an axis."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False
    zero: bool = False
    """Whether a log scale has a place for 0, to the left of ``low``."""

    def share(self, value: float) -> float:
        """Return a value's position on the axis: 0 at ``low``, 1 at ``high``, clamped."""
        if self.logarithmic and self.zero and value <= 0:
            return 0.0
        if self.logarithmic:
            share = (log10(max(value, self.low)) - log10(self.low)) / (log10(self.high) - log10(self.low))
            share = ZERO_SHARE + (1 - ZERO_SHARE) * share if self.zero else share
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)


def linear(least: float, most: float, count: int, *, from_zero: bool = True) -> Scale:
    """Return a linear scale covering the values, with at most ``count`` round ticks."""
    low = min(0.0, least) if from_zero else least
    step = round_step((most - low) / max(count - 1, 1))
    first, last = floor(low / step + 1e-9), ceil(most / step - 1e-9)
    if last - first + 1 > max(count, 2):
        step = round_step(step * 1.01)
        first, last = floor(low / step + 1e-9), ceil(most / step - 1e-9)
    last = max(last, first + 1)
    ticks = tuple(place * step for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def from_zero(most: float, count: int) -> Scale:
    """Return a linear scale from zero that ends close above ``most``, with at most ``count`` ticks."""
    candidates = [_steps_to(most, step) for step in _round_steps(most, count, ROUND_NEAR)]
    if not candidates or min(candidates)[0] > MAX_EXCESS * most:
        candidates += [_steps_to(most, step) for step in _round_steps(most, count, ROUND_NEARER)]
    if not candidates:
        return linear(0.0, most, count)
    _, steps, step = min(candidates)
    ticks = tuple(place * step for place in range(-steps + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _round_steps(most: float, count: int, factors: Sequence[float]) -> list[float]:
    """Return the round steps that reach ``most`` in at least two and fewer than ``count`` steps."""
    if not isfinite(most) or most <= 0:
        return []
    power = floor(log10(most))
    steps = [factor * 10.0**exponent for exponent in range(power - 1, power + 1) for factor in factors]
    return [step for step in steps if 2 <= ceil(most / step - 1e-9) < max(count, 3)]


def _steps_to(most: float, step: float) -> tuple[float, int, float]:
    """Return the excess of whole steps over ``most``, their negated number, and the step."""
    number = ceil(most / step - 1e-9)
    return (round(number * step - most, 9), -number, step)


def logarithmic(least: float, most: float, count: int) -> Scale:
    """Return a log scale covering the values, all positive, with at most about ``count`` ticks."""
    first, last = floor(log10(least)), ceil(log10(most))
    steps = [factor * 10.0**power for power in range(first, last + 1) for factor in ROUND]
    low = max((step for step in steps if step <= least * (1 + 1e-9)), default=steps[0])
    high = min((step for step in steps if step >= most * (1 - 1e-9)), default=steps[-1])
    if low >= high:
        low, high = low / 2, high * 2
    return Scale(low, high, _thinned([step for step in steps if low <= step <= high], count), True)


def of_values(values: Iterable[float]) -> Scale:
    """Return a scale with a tick at each value; a log scale if they about double."""
    ticks = tuple(sorted(set(values)))
    low, high = (ticks[0], ticks[-1]) if len(ticks) > 1 else (ticks[0] - 1, ticks[0] + 1)
    grows = ticks[0] > 0 and all(after >= 1.5 * before for before, after in pairwise(ticks))
    return Scale(low, high, ticks, logarithmic=len(ticks) > 1 and grows and high >= LOG_SCALE_RATIO * low)


def tick_text(value: float) -> str:
    """Format a round number in few characters."""
    size = abs(value)
    if not isfinite(value):
        return ""
    if size >= 1e12 or 0 < size < 1e-3:
        return f"{value:.0e}"
    for unit, sign in ((1e9, "G"), (1e6, "M")):
        if size >= unit:
            return f"{value / unit:,.4g}{sign}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def labels(ticks: Sequence[float], place: Callable[[float], int], width: int) -> list[tuple[int, str]]:
    """Return the start cell and text of the tick labels that fit, placing both ends first."""
    kept: list[tuple[int, str]] = []
    for tick in [*ticks[-1:], *ticks[:1], *ticks[1:-1]]:
        text = tick_text(tick)
        start = min(max(place(tick) - (len(text) - 1) // 2, 0), width - len(text))
        if all(start + len(text) < other or start > other + len(said) for other, said in kept):
            kept.append((start, text))
    return sorted(kept)


def time_interval(least_s: float) -> float:
    """Return the shortest round interval that is at least this long, in seconds."""
    return next((interval for interval in INTERVALS_S if interval >= least_s), INTERVALS_S[-1])


def time_text(seconds: float) -> str:
    """Format a time on an axis, without parts that are zero."""
    if seconds < 60:
        return f"{seconds:g} s"
    whole = round(seconds)
    parts = (whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s")
    return " ".join(f"{amount} {unit}" for amount, unit in parts if amount)


def placed(texts: Iterable[tuple[int, str]], width: int) -> str:
    """Place texts at their cells in one row, omitting any that would touch an earlier one or an end."""
    row = " " * width
    for at, text in texts:
        if 0 <= at <= width - len(text) and row[max(0, at - 1) : at + len(text) + 1].isspace():
            row = row[:at] + text + row[at + len(text) :]
    return row


def _thinned(steps: list[float], count: int) -> tuple[float, ...]:
    """Reduce steps to about ``count``: all, the powers of ten, or every n-th of those."""
    if len(steps) <= count:
        return tuple(steps)
    powers = [step for step in steps if abs(log10(step) - round(log10(step))) < 1e-9]
    if len(powers) < 2:
        return (steps[0], steps[-1])
    return tuple(powers[:: max(1, ceil(len(powers) / max(count, 1)))])


def round_step(width: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** floor(log10(width))
    return next((factor * power for factor in ROUND if factor * power >= width * (1 - 1e-9)), 10 * power)
