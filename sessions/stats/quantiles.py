"""Quantiles, interval of the median, and rates: one definition for report, screen and engine, without numpy."""

from math import ceil, floor, sqrt
from typing import Protocol

LEAST_FOR_INTERVAL = 6
LEAST_FOR_P90 = 20
LEAST_FOR_P95 = 40
LEAST_FOR_P99 = 100
"""Minimum number of values for each of these. With fewer, a percentile is little more than one of the largest
values, and is left out."""


class SortedValues(Protocol):
    """Values in ascending order, accessed by index."""

    def __getitem__(self, place: int, /) -> float:
        """Return the value at an index, counted from 0."""

    def __len__(self) -> int:
        """Return the number of values."""


def percentile(ordered: SortedValues, percent: float, least: int = 1) -> float | None:
    """Return a percentile by linear interpolation between ranks, or None for fewer than ``least`` values.

    Equal to ``numpy.percentile``, which would sort another copy of the values.
    """
    return value_at(ordered, (len(ordered) - 1) * percent / 100) if len(ordered) >= least else None


def value_at(ordered: SortedValues, rank: float) -> float:
    """Interpolate linearly between the values at the two ranks (from 0) next to this one."""
    below, above = ordered[floor(rank)], ordered[ceil(rank)]
    return float(below + (above - below) * (rank - floor(rank)))


def median_interval(ordered: SortedValues) -> tuple[float, float] | None:
    """Return the 95% interval of the median, or None below 6 values.

    Its ranks follow from the normal approximation of the binomial distribution, which assumes nothing about the
    shape of the times (Conover, Practical Nonparametric Statistics, section 3.2).
    """
    n = len(ordered)
    rank = floor((n + 1) / 2 - 0.98 * sqrt(n))
    return None if rank < 1 else (float(ordered[rank - 1]), float(ordered[n - rank]))


def half_width_percent(interval: tuple[float, float] | None, middle: float | None) -> float | None:
    """Return half the width of an interval over its middle, in percent; None if either is unknown."""
    return 50 * (interval[1] - interval[0]) / middle if interval and middle else None


def per_second(amount: float | None, total_ms: float) -> float | None:
    """Return an amount per second, total over total; None if the amount or the time is unknown."""
    return 1000 * amount / total_ms if amount is not None and total_ms > 0 else None
