"""Scales with round ticks; knows no Textual."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10

ROUND = (1, 2, 5)
"""Ticks stand at these times a power of ten."""
DOUBLING = 4.0
"""Values that grow by at least 1.5 times each, and by this much in all, are drawn by their logarithm."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From which to which value a picture reaches, and where the ticks are."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value stands between the ends, 0 at the low one and 1 at the high one; kept within them."""
        if self.logarithmic:
            share = (log10(max(value, self.low)) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)


def linear(least: float, most: float, count: int, *, from_zero: bool = True) -> Scale:
    """A scale that holds the values with at most ``count`` ticks, at round steps."""
    low = min(0.0, least) if from_zero else least
    step = round_step((most - low) / max(count - 1, 1))
    first, last = floor(low / step + 1e-9), ceil(most / step - 1e-9)
    if last - first + 1 > max(count, 2):
        step = round_step(step * 1.01)
        first, last = floor(low / step + 1e-9), ceil(most / step - 1e-9)
    last = max(last, first + 1)
    ticks = tuple(place * step for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def logarithmic(least: float, most: float, count: int) -> Scale:
    """A scale of logarithms that holds the values, all above zero, with at most about ``count`` ticks."""
    first, last = floor(log10(least)), ceil(log10(most))
    steps = [factor * 10.0**power for power in range(first, last + 1) for factor in ROUND]
    low = max((step for step in steps if step <= least * (1 + 1e-9)), default=steps[0])
    high = min((step for step in steps if step >= most * (1 - 1e-9)), default=steps[-1])
    if low >= high:
        low, high = low / 2, high * 2
    return Scale(low, high, _thinned([step for step in steps if low <= step <= high], count), True)


def of_values(values: Iterable[float]) -> Scale:
    """A scale with a tick at each of the values; of logarithms where they double or nearly so."""
    ticks = tuple(sorted(set(values)))
    low, high = (ticks[0], ticks[-1]) if len(ticks) > 1 else (ticks[0] - 1, ticks[0] + 1)
    grows = ticks[0] > 0 and all(after >= 1.5 * before for before, after in pairwise(ticks))
    return Scale(low, high, ticks, logarithmic=len(ticks) > 1 and grows and high >= DOUBLING * low)


def tick_text(value: float) -> str:
    """A round number in few characters."""
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
    """Text of each tick and the cell at which it begins: those that fit beside each other, the ends first."""
    kept: list[tuple[int, str]] = []
    for tick in [*ticks[-1:], *ticks[:1], *ticks[1:-1]]:
        text = tick_text(tick)
        start = min(max(place(tick) - (len(text) - 1) // 2, 0), width - len(text))
        if all(start + len(text) < other or start > other + len(said) for other, said in kept):
            kept.append((start, text))
    return sorted(kept)


def _thinned(steps: list[float], count: int) -> tuple[float, ...]:
    """All steps, or the powers of ten among them, or every so many of those."""
    if len(steps) <= count:
        return tuple(steps)
    powers = [step for step in steps if abs(log10(step) - round(log10(step))) < 1e-9]
    if len(powers) < 2:
        return (steps[0], steps[-1])
    return tuple(powers[:: max(1, ceil(len(powers) / max(count, 1)))])


def round_step(width: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten that isn't smaller."""
    if width <= 0:
        return 1.0
    power = 10.0 ** floor(log10(width))
    return next((factor * power for factor in ROUND if factor * power >= width * (1 - 1e-9)), 10 * power)
