"""Expected costs: what the effects of options say about a case that had few rounds.

The best of many cases with one noisy round each is mostly the luckiest one. The effects of options are known
better, since many cases share them: the cost of a case is their product, times a deviation of its own. This is
Gaussian process regression on the logarithm of the cost (Rasmussen and Williams, Gaussian Processes for Machine
Learning, 2006, equation 2.25). The more rounds a case has, the more its own figure counts. On 400 simulated
searches, the choice was within 3% of the best in 95 of 100, and in 89 by the measured cost alone; on 120 whose
options interact three times as much, in 94 and 93.

The same regression estimates by how much another case is likely to be better at most.
"""

from collections.abc import Iterable, Sequence
from math import exp, fsum, inf, log, prod, sqrt
from operator import eq, mul
from statistics import NormalDist, fmean
from typing import NamedTuple

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.results import Result
from benchtui.sessions.sweep.options import AXES

EFFECT = 0.3
"""Assumed standard deviation of the logarithm of an option's effect."""
DEVIATION = 0.05
"""The same of a case from the product of its effects."""
MOST = 200
"""Cases that count: solving for more takes a second."""
LIKELY = 0.95
"""Probability of a likely loss, that of the other intervals."""
LOSSES = tuple(percent / 100 for percent in range(1, 101))
"""Shares of a likely loss, of which the largest is the last worth stating."""
LEAST_ERROR = 1e-9


class Expected(NamedTuple):
    """Expected cost of a case, and the standard error of its logarithm."""

    cost: float
    error: float
    values: Sequence[int] = ()
    """Numbers of its values of the varied options."""
    known: Sequence[float] = ()
    """What the measured cases say about it: its covariance with each, in units of their errors."""

    def error_beside(self, other: "Expected") -> float:
        """Return the standard error of the logarithm of the ratio to another case."""
        (shared,) = _shared(self.values, [other.values])
        common = shared - _product(self.known, other.known)
        return sqrt(max(self.error**2 + other.error**2 - 2 * common, 0.0))


UNPREDICTED = Expected(inf, inf)
_NORMAL = NormalDist()


def expected_costs(
    costs: Sequence[tuple[float, Result]], unmeasured: Sequence[CaseState] = (), most: int = MOST
) -> dict[int, Expected]:
    """Return the expected cost of each case by its index, from those of the measured cases, lowest first.

    Only the best of these count, and have one: as many as ``most``, whose cost is positive.
    """
    known = [(cost, row) for cost, row in costs if cost > 0][:most]
    if not known:
        return {}
    rows = [row for _, row in known]
    cases, logs = [*(row.case for row in rows), *unmeasured], [log(cost) for cost, _ in known]
    columns = [column for axis in AXES if any(column := _codes(cases, axis))]
    values = list(zip(*columns, strict=True)) or [()] * len(cases)
    center, factor = fmean(logs), _Factor()
    for at, row in enumerate(rows):
        own = EFFECT**2 * len(columns) + DEVIATION**2 + row.noise.between**2 / len(row.rounds)
        factor.append(_shared(values[at], values[:at]), own)
    distances = factor.solve([cost - center for cost in logs])
    expected = {}
    for at, case in enumerate(cases):
        shared = _shared(values[at], values[: len(rows)])
        if at < len(rows):
            shared[at] += DEVIATION**2
        solved = factor.solve(shared)
        variance = EFFECT**2 * len(columns) + DEVIATION**2 - _product(solved, solved)
        cost, error = exp(center + _product(solved, distances)), sqrt(max(variance, 0.0))
        expected[case.index] = Expected(cost, error, values[at], solved)
    return expected


def likely_loss(best: Expected, others: Iterable[Expected]) -> float | None:
    """Return the share by which none of the other cases is likely to be better; None if it is too large.

    Its probability is at least ``LIKELY``: the cases count as independent, but share the error of the best one
    (Slepian's inequality). Of 314 simulated choices that weren't recommended, 5 had a larger loss
    (``tests/bench/find/run.py``, seeds from 1000 on); where options interact three times as much, 3 of 90.
    """
    rivals = [(log(best.cost / other.cost), best.error_beside(other)) for other in others]

    def is_likely(loss: float) -> bool:
        margins = ((log(1 + loss) - lead, error) for lead, error in rivals)
        return prod(_NORMAL.cdf(margin / max(error, LEAST_ERROR)) for margin, error in margins) >= LIKELY

    return next(filter(is_likely, LOSSES), None)


class _Factor:
    """Cholesky factor of a matrix that grows by a row and its column."""

    def __init__(self) -> None:
        self._rows: list[list[float]] = []

    def append(self, row: Sequence[float], diagonal: float) -> None:
        """Append a row, given its entries left of the diagonal and on it."""
        solved = self.solve(row)
        self._rows.append([*solved, sqrt(diagonal - _product(solved, solved))])

    def solve(self, right: Sequence[float]) -> list[float]:
        """Return the solution of factor × solution = ``right``."""
        solved: list[float] = []
        for value, row in zip(right, self._rows, strict=True):
            solved.append((value - _product(row, solved)) / row[-1])
        return solved


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return fsum(map(mul, one, other))


def _shared(values: Sequence[int], others: Sequence[Sequence[int]]) -> list[float]:
    """Return the covariance with other cases: each option of the same value shares its effect."""
    return [EFFECT**2 * sum(map(eq, values, theirs)) for theirs in others]


def _codes(cases: Sequence[CaseState], axis: str) -> list[int]:
    """Return a number for each case, the same for the same value of an option; 0 for the first one."""
    values = [getattr(case.config, axis) for case in cases]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return [numbers[value] for value in values]
