"""Quantiles of samples and of Student's t, and rates: one definition."""

from collections.abc import Sequence
from functools import cache
from math import ceil, cos, exp, floor, inf, log, pi, sin, sqrt
from statistics import NormalDist

LEAST_FOR_INTERVAL = 6
LEAST_FOR_P90 = 20
LEAST_FOR_OUTLIERS = 20
LEAST_FOR_P95 = 40
LEAST_FOR_P99 = 100
"""Minimum number of values for each of these. With fewer, a percentile is little more than one of the largest
values, and is left out."""


def percentile(ordered: Sequence[float], percent: float, least: int = 1) -> float | None:
    """Return a percentile by linear interpolation between ranks, or None for fewer than ``least`` values.

    Equal to ``numpy.percentile``, which would sort another copy of the values.
    """
    return value_at(ordered, (len(ordered) - 1) * percent / 100) if len(ordered) >= least else None


def value_at(ordered: Sequence[float], rank: float) -> float:
    """Interpolate linearly between the values at the two ranks (from 0) next to this one."""
    below, above = ordered[floor(rank)], ordered[ceil(rank)]
    return float(below + (above - below) * (rank - floor(rank)))


def per_second(amount: float | None, total_ms: float) -> float | None:
    """Return an amount per second, total over total; None if the amount or the time is unknown."""
    return 1000 * amount / total_ms if amount is not None and total_ms > 0 else None


_normal = cache(NormalDist().inv_cdf)
"""Quantiles of the normal distribution. Comparisons need the same few of them very often."""


def student_t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t distribution.

    ``probability`` is from 0.5 to 1, ``freedom`` at least 1. Uses Hill's approximation (CACM 13(10), 1970,
    algorithm 396), whose error stays below 0.01% from 3 degrees of freedom on; 1 and 2 are exact. Fractions
    between these are interpolated, to 2%: the logarithm over the reciprocal of the degrees of freedom.
    """
    if freedom == inf:
        return _normal(probability)
    if freedom >= 3 or freedom in (1, 2):
        return _student_t(probability, freedom)
    few = floor(freedom)
    share = (1 / freedom - 1 / (few + 1)) / (1 / few - 1 / (few + 1))
    ends = (log(_student_t(probability, degrees)) for degrees in (few, few + 1))
    return exp(sum(weight * end for weight, end in zip((share, 1 - share), ends, strict=True)))


def _student_t(probability: float, freedom: float) -> float:
    tails = 2 * (1 - probability)
    if freedom == 1:
        return cos(tails * pi / 2) / sin(tails * pi / 2)
    if freedom == 2:
        return sqrt(2 / (tails * (2 - tails)) - 2)
    return _hill(tails, freedom)


def _hill(tails: float, n: float) -> float:
    """Apply Hill's algorithm. Names are those of the paper; ``tails`` is the probability in both tails."""
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * n
    y = (d * tails) ** (2 / n)
    if y <= a + 0.05:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1)
        return sqrt(n * (y / (n + 2) + 1 / (d * tails) ** (2 / n)))
    x = _normal(tails / 2)
    y = x * x
    if n < 5:
        c += 0.3 * (n - 4.5) * (x + 0.6)
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    y = a * y * y
    y = exp(y) - 1 if y > 0.002 else y + 0.5 * y * y
    return sqrt(n * y)
