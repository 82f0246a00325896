"""Ratio limits: limits on the bounds of very many ratios at once, sufficient for most verdicts.

An exact ratio takes tens of microseconds, and recommendations compare each case with the best one for each
need. Exact bounds never exceed these limits, so a verdict that the limits imply is the exact verdict. If they
imply none, the exact ratio decides.
"""

from __future__ import annotations  # numpy.ndarray isn't evaluated as a type

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from math import inf, log
from typing import Literal, NamedTuple

import numpy as np

from benchtui.sessions.stats.disturbance import estimate_slowdown
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.ratios import (
    BOTH_DISTURBED,
    GPU_CLOCKS,
    has_reported_rate,
    log_estimate,
    mean_clock_mhz,
    statistics_of,
)
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import LEAST_ROUNDS, VERDICT_CONFIDENCE, Statistic
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Verdict

ROUNDING = 1e-9
"""Allowance for rounding, here and in exact ratios, in log units."""
LEAST_LOG = log(1 + MIN_EFFECT)
"""Logarithm that the whole interval must exceed for FASTER."""

LEAST_REACH = 0.999 * student_t_quantile((1 + VERDICT_CONFIDENCE) / 2, inf)
"""Smallest half-width of a 99% interval over its standard error, with an allowance for approximations."""

Kind = Literal["throughput", "latency", "memory"]
"""Ratios that have limits."""


class Limits(NamedTuple):
    """Natural logarithms of ratios, and of limits on all of their 99% bounds; NaN where unknown."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    most_low: np.ndarray
    """Upper limit on the lower end of the interval of typical steps."""

    def times(self, other: Limits) -> Limits:
        """Return the limits of products."""
        return Limits(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def faster(self) -> np.ndarray:
        """Whether each verdict is known to be FASTER. Others may be FASTER, too."""
        return self.low > LEAST_LOG + ROUNDING

    @property
    def slower(self) -> np.ndarray:
        """Whether each verdict is known to be SLOWER. Others may be SLOWER, too."""
        return self.high < -LEAST_LOG - ROUNDING

    @property
    def not_faster(self) -> np.ndarray:
        """Whether each verdict is known not to be FASTER. Others may not be FASTER, either."""
        return (self.value <= LEAST_LOG - ROUNDING) | (self.most_low <= LEAST_LOG - ROUNDING)

    def unsure(self, margin: float) -> np.ndarray:
        """Whether each verdict is known to be UNSURE: not FASTER, and beyond the margin of equivalence."""
        found: np.ndarray = self.not_faster & (self.value > log(1 + margin) + ROUNDING)
        return found

    def within(self, share: float) -> np.ndarray:
        """Whether each ratio is known to exceed 1 by less than a share, or to be below 1."""
        return self.value < log(1 + share) - ROUNDING

    def verdicts(self) -> list[Verdict | None]:
        """Return the verdict on each ratio; None where the limits imply none."""
        words = {1: Verdict.FASTER, -1: Verdict.SLOWER}
        return [words.get(sign) for sign in (self.faster.astype(int) - self.slower.astype(int)).tolist()]


class _Estimates(NamedTuple):
    """Estimated logarithms of medians, first quartiles and means. Each array is ``(3, cases)``."""

    centers: np.ndarray
    variances: np.ndarray
    reach: np.ndarray
    """Half-width of a 99% interval over its standard error, from the case's degrees of freedom."""


class RatioLimits:
    """Limits on the ratios of measured cases, from arrays of their statistics."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = results
        self._places = {row.case.index: place for place, row in enumerate(results)}
        self._of_kind = {"throughput": self.throughput, "latency": self.latency, "memory": self.memory}
        self._rounds = np.array([len(row.rounds) for row in results])
        self._samples = _logarithms(results, _samples)
        self._floors = np.array([row.noise.floor or 0.0 for row in results])
        versions = {each: place for place, each in enumerate({row.case.file_changes for row in results})}
        self._files = np.array([versions[row.case.file_changes] for row in results])
        self._sets: dict[bool, _Estimates] = {}
        self._slowdowns: dict[bool, np.ndarray] = {}
        self._clocks: list[np.ndarray] | None = None
        self._memory: tuple[np.ndarray, np.ndarray] | None = None

    def product(self, kinds: Iterable[Kind], base: Sequence[Result], new: Sequence[Result]) -> Limits:
        """Return the limits of the products of these kinds of ratios. One side may be a single case."""
        places = [np.array([self._places[row.case.index] for row in side]) for side in (base, new)]
        return reduce(Limits.times, (self._of_kind[kind](*places) for kind in kinds))

    def latency(self, base: np.ndarray, new: np.ndarray) -> Limits:
        """Return the limits of ratios of typical steps, base over new."""
        rounds = np.minimum(self._rounds[base], self._rounds[new])
        if not np.any(rounds >= LEAST_ROUNDS):
            return self._steps(base, new, own=False)
        whole = self._steps(base, new, own=True)
        if np.all(rounds >= LEAST_ROUNDS):
            return whole
        few = self._steps(base, new, own=False)
        return Limits(*(np.where(rounds < LEAST_ROUNDS, one, two) for one, two in zip(few, whole, strict=True)))

    def throughput(self, base: np.ndarray, new: np.ndarray) -> Limits:
        """Return the limits of ratios of samples per second at typical steps, new over base."""
        samples = self._samples[new] - self._samples[base]
        return Limits(*(each + samples for each in self.latency(base, new)))

    def memory(self, base: np.ndarray, new: np.ndarray) -> Limits:
        """Return the limits of ratios of peak memory, base over new."""
        if self._memory is None:
            self._memory = _logarithms(self._results, _low_mb), _logarithms(self._results, _high_mb)
        low, high = self._memory
        least, most = low[base] - high[new], high[base] - low[new]
        return Limits(high[base] - high[new], least - ROUNDING, most + ROUNDING, least + ROUNDING)

    def _steps(self, base: np.ndarray, new: np.ndarray, *, own: bool) -> Limits:
        known = self._estimates(own)
        centers = known.centers[:, base] - known.centers[:, new]
        # fewer degrees of freedom give a wider interval
        widest = np.maximum(known.reach[:, base], known.reach[:, new])
        errors = np.sqrt(known.variances[:, base] + known.variances[:, new])
        half = widest * errors
        floor = np.maximum(self._floors[base], self._floors[new])
        half = np.maximum(half, floor) + ROUNDING
        down, up = self._outside(base, new, few=not own)
        unlike = np.where(self._files[base] == self._files[new], 0.0, inf)  # the exact ratio decides
        down, up = down + unlike, up + unlike
        return Limits(
            value=centers[0],
            low=(centers - half).min(axis=0) - down,
            high=(centers + half).max(axis=0) + up,
            most_low=centers[0] - LEAST_REACH * errors[0] + ROUNDING,
        )

    def _estimates(self, own: bool) -> _Estimates:
        if own not in self._sets:
            rows = (value for row in self._results for each in _estimates(row, own) for value in each)
            parts = np.fromiter(rows, dtype=float).reshape(len(self._results), 3, 3)
            self._sets[own] = _Estimates(*(np.ascontiguousarray(parts[:, :, field].T) for field in range(3)))
        return self._sets[own]

    def _outside(self, base: np.ndarray, new: np.ndarray, *, few: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the widening of ratios by disturbances and clocks, down and up, in log units."""
        slowed = self._slowdown(throughout=not few)
        one, other = slowed[base], slowed[new]
        rest = np.where(few & (one > 1) & (other > 1), log(BOTH_DISTURBED), 0.0)
        apart = np.log(one) - np.log(other)
        down, up = rest + np.maximum(apart, 0.0), rest + np.maximum(-apart, 0.0)
        if not few:
            return down, up
        for clocks in self._clock_logarithms():
            pace = np.nan_to_num(clocks[new] - clocks[base])
            down, up = down + np.maximum(pace, 0.0), up + np.maximum(-pace, 0.0)
        return down, up

    def _slowdown(self, *, throughout: bool) -> np.ndarray:
        if throughout not in self._slowdowns:
            found = [estimate_slowdown(row.case, throughout=throughout).by for row in self._results]
            self._slowdowns[throughout] = np.maximum(np.array(found), 1.0)
        return self._slowdowns[throughout]

    def _clock_logarithms(self) -> list[np.ndarray]:
        if self._clocks is None:
            self._clocks = [
                _logarithms(self._results, lambda row, field=field: mean_clock_mhz(row.case, field))  # type: ignore[misc]
                for field in GPU_CLOCKS
            ]
        return self._clocks


def _estimates(row: Result, own: bool) -> list[tuple[float, float, float]]:
    return [_estimate(figures, row, own) for figures in statistics_of(row.rounds)]


def _estimate(figures: Sequence[Statistic], row: Result, own: bool) -> tuple[float, float, float]:
    """Return the logarithm of a statistic, its variance, and its reach; NaN without a variance."""
    usable = len(figures) == len(row.rounds) > 0 and all(each.ms > 0 for each in figures)
    found = log_estimate(figures, row, own) if usable else None
    if found is None:
        return np.nan, np.nan, np.nan
    center, terms = found
    return center, sum(variance for variance, _ in terms), _reach(min(freedom for _, freedom in terms))


@cache
def _reach(freedom: float) -> float:
    """Return an upper limit on the quantile for at least these degrees of freedom, including an allowance."""
    return 1.001 * student_t_quantile((1 + VERDICT_CONFIDENCE) / 2, freedom)


def _logarithms(results: Sequence[Result], value: Callable[[Result], float | None]) -> np.ndarray:
    """Return the logarithm of a value of each case; NaN where it is unknown or not positive."""
    found = (value(row) for row in results)
    return np.array([log(each) if each is not None and each > 0 else np.nan for each in found])


def _samples(row: Result) -> float | None:
    """Return the samples per step; None if a source without steps reports the rate instead."""
    return None if has_reported_rate(row.case) else row.case.samples_per_step


def _low_mb(row: Result) -> float | None:
    return row.memory_range_mb[0] if row.memory_range_mb else None


def _high_mb(row: Result) -> float | None:
    return row.memory_range_mb[1] if row.memory_range_mb else None
