"""The former rule, to compare with: Welch per pair, and 2% assumed between processes below three rounds.

Errors of steps are those in use, so it does better below 64 steps than it did.
"""

from collections.abc import Sequence
from math import inf, log, sqrt
from statistics import fmean, variance

from benchtui.sessions.stats.sampling import LEAST_ROUNDS, Bounds, Sample, Statistic
from benchtui.sessions.stats.verdicts import Ratio

ASSUMED, FREEDOM = 0.02, 4.0
Terms = list[tuple[float, float]]


def between_processes(medians: Sequence[Sequence[Statistic]]) -> tuple[float, float]:
    """Return the spread between processes, measured and assumed, with its degrees of freedom."""
    total, freedom = ASSUMED**2 * FREEDOM, FREEDOM
    for case in medians:
        if len(case) > 1:
            total += variance([log(each.ms) for each in case]) * (len(case) - 1)
            freedom += len(case) - 1
    return sqrt(total / freedom), freedom


def ratio(base: Sequence[Sample], new: Sequence[Sample], between: tuple[float, float]) -> Ratio:
    """Return the ratio of two cases by the former rule."""
    by_figure = []
    for figure in ("median", "low", "mean"):
        sides = [[getattr(each, figure) for each in rounds] for rounds in (base, new)]
        (one, first), (other, second) = (_estimate(side, sides, between) for side in sides)
        terms = [*first, *second]
        total = sum(term for term, _ in terms)
        weighed = sum(term**2 / freedom for term, freedom in terms)
        by_figure.append(Bounds.around(one - other, sqrt(total), total**2 / weighed if weighed else inf))
    median, low, mean = by_figure
    return Ratio(median.value, median, fast=low, totals=mean, same_within=0.02)


def _estimate(
    side: Sequence[Statistic], sides: Sequence[Sequence[Statistic]], between: tuple[float, float]
) -> tuple[float, Terms]:
    n, logs = len(side), [log(each.ms) for each in side]
    within = sum((each.error or 0.0) ** 2 for each in side) / n**2
    if min(map(len, sides)) >= LEAST_ROUNDS:
        return fmean(logs), [(max(variance(logs) / n, within), n - 1.0)]
    return fmean(logs), [(within, inf), (between[0] ** 2 / n, between[1])]
