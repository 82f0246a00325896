"""Quantiles of Student's t distribution, for intervals over a handful of rounds."""

from functools import cache
from math import cos, exp, floor, inf, log, pi, sin, sqrt
from statistics import NormalDist

_normal = cache(NormalDist().inv_cdf)
"""Quantiles of the normal distribution. Comparisons need the same few of them very often."""


def quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t distribution.

    ``probability`` is from 0.5 to 1, ``freedom`` at least 1. Uses Hill's approximation (CACM 13(10), 1970,
    algorithm 396), whose error stays below 0.01% from 3 degrees of freedom on; 1 and 2 are exact. Fractions
    between these are interpolated, to 2%: the logarithm over the reciprocal of the degrees of freedom.
    """
    if freedom == inf:
        return _normal(probability)
    if freedom >= 3 or freedom in (1, 2):
        return _quantile(probability, freedom)
    few = floor(freedom)
    share = (1 / freedom - 1 / (few + 1)) / (1 / few - 1 / (few + 1))
    ends = (log(_quantile(probability, each)) for each in (few, few + 1))
    return exp(sum(weight * end for weight, end in zip((share, 1 - share), ends, strict=True)))


def _quantile(probability: float, freedom: float) -> float:
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
