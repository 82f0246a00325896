"""Round summary: median, first quartile and mean of a round's steps, each with its standard error.

Errors are relative: the standard error of a statistic's natural logarithm. They cover the steps of one process
only; process-to-process variation comes from ``noise`` and from the rounds themselves.
"""

from collections.abc import Sequence
from math import ceil, exp, floor, log, sqrt
from operator import mul, sub
from statistics import fmean
from typing import Protocol

import msgspec

from benchtui.sessions.stats.quantiles import student_t_quantile, value_at

FAST_QUANTILE = 0.25
"""Quantile that represents fast steps. A minimum would depend on the few steps at boost clock."""
LEAST_STEPS = 6
"""Minimum number of steps for a standard error."""
LEAST_ROUNDS = 3
"""Minimum number of rounds for an interval from their own spread."""
CONFIDENCE = 0.95
VERDICT_CONFIDENCE = 0.99
"""Confidence of the intervals that are shown, and of those behind FASTER and SLOWER."""

WIDE = 2.0
"""Distance, in standard deviations of the rank, at which an error is read off. At a smaller distance, it would
depend on only a few steps and vary."""

_LONG = 20_000
"""Number of steps from which importing numpy pays off."""
_BATCH, _MOST_BATCHES, _LEAST_BATCHES = 8, 32, 8
"""Minimum steps per batch, and maximum and minimum number of batches per round."""
_MOST_LAG = 0.95
"""Maximum autocorrelation of neighboring steps that is assumed from a short round."""
_GAP = 0.5
"""Share of an interval that lies between two neighboring times if the steps have two modes."""


class Statistic(msgspec.Struct, frozen=True, gc=False):
    """A statistic of a sample of times."""

    ms: float
    error: float | None = None
    """Relative standard error; None if the sample is too small, or its source kept no steps."""


class Sample(msgspec.Struct, frozen=True, gc=False):
    """Summary of one round's steps, all run by one process."""

    n: int
    median: Statistic
    low: Statistic | None
    """First quartile; None if no steps were kept."""
    mean: Statistic
    jitter: float | None = None
    """Standard deviation of the steps over their mean; None for fewer than two, or if none were kept."""
    extremes_ms: tuple[float, float] | None = None
    """Shortest and longest step; None if no steps were kept."""


class Ordered(Protocol):
    """Times in ascending order, in any container."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> float: ...


class Bounds(msgspec.Struct, frozen=True, gc=False):
    """A value with its 95% and 99% intervals."""

    value: float
    low: float
    high: float
    sure_low: float
    sure_high: float

    @classmethod
    def around(cls, center: float, error: float, freedom: float, least: float = 0.0) -> "Bounds":
        """Return the Student's t bounds around a logarithm, with a half-width of at least ``least``."""
        half = max(least, student_t_quantile((1 + CONFIDENCE) / 2, freedom) * error)
        sure = max(least, student_t_quantile((1 + VERDICT_CONFIDENCE) / 2, freedom) * error)
        low, high = _exp(center - half), _exp(center + half)
        return cls(_exp(center), low, high, _exp(center - sure), _exp(center + sure))

    def times(self, factor: float) -> "Bounds":
        """Return the bounds multiplied by a factor, such as a change of unit."""
        value, low, high, sure_low, sure_high = self._all
        return Bounds(factor * value, factor * low, factor * high, factor * sure_low, factor * sure_high)

    def wider(self, down: float, up: float) -> "Bounds":
        """Return the bounds extended by the factors ``down`` and ``up``, both at least 1."""
        low, sure_low = self.low / down, self.sure_low / down
        return Bounds(self.value, low, self.high * up, sure_low, self.sure_high * up)

    def over(self) -> "Bounds":
        """Return the bounds of the reciprocal."""
        value, low, high, sure_low, sure_high = (1 / each if each else float("inf") for each in self._all)
        return Bounds(value, high, low, sure_high, sure_low)

    def __mul__(self, other: "Bounds") -> "Bounds":
        """Return the bounds of a product of possibly correlated factors, multiplied bound by bound."""
        return Bounds(*(one * two for one, two in zip(self._all, other._all, strict=True)))

    @property
    def _all(self) -> tuple[float, float, float, float, float]:
        return self.value, self.low, self.high, self.sure_low, self.sure_high


def sample(times_ms: Sequence[float]) -> Sample | None:
    """Summarize the steps of a round, given in the order they ran; None if there are none."""
    n = len(times_ms)
    if not n:
        return None
    ordered = _in_order(times_ms)
    mean = fmean(times_ms)
    jitter = _spread(times_ms, mean) / mean if n > 1 and mean > 0 else None
    return Sample(
        n=n,
        median=_quantile(times_ms, ordered, 0.5),
        low=_quantile(times_ms, ordered, FAST_QUANTILE),
        mean=Statistic(mean, _error_of_mean(times_ms, mean, jitter)),
        jitter=jitter,
        extremes_ms=(float(ordered[0]), float(ordered[-1])),
    )


def median(times_ms: Sequence[float]) -> Statistic | None:
    """Return only the median of ``sample``; None if there are no steps."""
    return _quantile(times_ms, _in_order(times_ms), 0.5) if len(times_ms) else None


def log_mean_of_rounds(figures: Sequence[Statistic]) -> tuple[float, float, float]:
    """Return the mean of the rounds' logarithms, its variance by their spread, and its degrees of freedom.

    The variance is at least what the steps within the rounds account for: rounds that happen to agree don't
    make a case exact. Needs at least two rounds.
    """
    logs = [log(each.ms) for each in figures]
    n = len(logs)
    within = sum((each.error or 0.0) ** 2 for each in figures) / n**2
    center = fmean(logs)
    return center, max(_spread(logs, center) ** 2 / n, within), n - 1


def interval(figures: Sequence[Statistic]) -> Bounds | None:
    """Return the bounds of a case from its own steps and rounds; None if they don't suffice.

    From three rounds on, the bounds follow from the spread between them. One round covers its own process only.
    Two rounds give the span of both intervals.
    """
    if not figures or min(each.ms for each in figures) <= 0:
        return None
    if len(figures) >= LEAST_ROUNDS:
        center, variance, freedom = log_mean_of_rounds(figures)
        return Bounds.around(center, sqrt(variance), freedom)
    if any(each.error is None for each in figures):
        return None
    each = [Bounds.around(log(one.ms), one.error or 0.0, float("inf")) for one in figures]
    return Bounds(
        value=exp(fmean(log(one.ms) for one in figures)),
        low=min(one.low for one in each),
        high=max(one.high for one in each),
        sure_low=min(one.sure_low for one in each),
        sure_high=max(one.sure_high for one in each),
    )


def _quantile(times_ms: Sequence[float], ordered: Ordered, share: float) -> Statistic:
    """Return a quantile with its error from order statistics (David and Nagaraja, Order Statistics, 7.1)."""
    place = share * (len(ordered) - 1)
    value = value_at(ordered, place)
    if len(ordered) < LEAST_STEPS or ordered[0] <= 0:
        return Statistic(value)
    one = sqrt(len(ordered) * share * (1 - share) * _inflation_of_share(times_ms, value, share))
    first, last = max(floor(place - WIDE * one), 0), min(ceil(place + WIDE * one), len(ordered) - 1)
    below, above = log(ordered[first]), log(ordered[last])
    if _has_gap(ordered, first, last):
        return Statistic(value, max(above - log(value), log(value) - below) / WIDE)
    # a round may have fewer ranks than the distance needs
    return Statistic(value, (above - below) / min(2 * WIDE, (last - first) / one))


def _has_gap(ordered: Ordered, first: int, last: int) -> bool:
    """Return whether most of an interval between two ranks is a gap between two of its times.

    The value then lies at the edge of one of two modes, and the density around it says nothing about its
    error. The interval between the ranks itself still holds the true quantile. With many steps it never spans
    a gap.
    """
    if len(ordered) >= _LONG:
        return False
    times = [ordered[rank] for rank in range(first, last + 1)]
    gap: float = max(map(sub, times[1:], times))
    return gap > _GAP * (times[-1] - times[0])


def _inflation_of_share(times_ms: Sequence[float], value: float, share: float) -> float:
    """Return the variance of the share of steps below a value, relative to that of independent steps."""
    batches, size = _batches(len(times_ms))
    if batches < _LEAST_BATCHES:
        return _inflation_by_lag([float(time < value) for time in times_ms])
    shares = [count / size for count in _below(times_ms, value, batches, size)]
    return max(1.0, _spread(shares, fmean(shares)) ** 2 * size / (share * (1 - share)))


def _inflation_by_lag(values: Sequence[float]) -> float:
    """Return the variance of the mean of a few values, relative to that of independent ones.

    It follows from the autocorrelation of neighbors, corrected for its bias in short series (Marriott and Pope,
    Biometrika 41, 1954). One that independent values may well show is ignored.
    """
    n, mean = len(values), fmean(values)
    apart = [value - mean for value in values]
    total = sum(map(mul, apart, apart))
    lag = sum(map(mul, apart, apart[1:])) / total if total else 0.0
    if lag <= 1 / sqrt(n):
        return 1.0
    lag = min((n * lag + 1) / (n - 4), _MOST_LAG)
    return (1 + lag) / (1 - lag)


def _error_of_mean(times_ms: Sequence[float], mean: float, jitter: float | None) -> float | None:
    """Return the relative standard error of the mean, from batch means if there are enough steps.

    Batch means: Law and Kelton, Simulation Modeling and Analysis, section 9.5.3.
    """
    n = len(times_ms)
    if n < LEAST_STEPS or jitter is None:
        return None
    alone = jitter / sqrt(n)
    batches, size = _batches(n)
    if batches < _LEAST_BATCHES:
        return alone * sqrt(_inflation_by_lag(times_ms))
    means = [fmean(times_ms[at * size : (at + 1) * size]) for at in range(batches)]
    return max(alone, _spread(means, fmean(means)) / sqrt(batches) / mean)


def _batches(n: int) -> tuple[int, int]:
    """Return the number of batches in a round, and the number of steps in each."""
    batches = min(_MOST_BATCHES, n // _BATCH)
    return (batches, n // batches) if batches else (0, 0)


def _below(times_ms: Sequence[float], value: float, batches: int, size: int) -> list[int]:
    """Count the steps below a value in each batch."""
    if len(times_ms) >= _LONG:
        import numpy as np  # takes 0.1 s, only worth it for long rounds

        found = np.asarray(times_ms)[: batches * size].reshape(batches, size) < value
        return [int(count) for count in found.sum(axis=1)]
    return [sum(1 for time in times_ms[at * size : (at + 1) * size] if time < value) for at in range(batches)]


def _in_order(times_ms: Sequence[float]) -> Ordered:
    if len(times_ms) < _LONG:
        return sorted(times_ms)
    import numpy as np  # takes 0.1 s, only worth it for long rounds

    found: Ordered = np.sort(np.asarray(times_ms, dtype=float))
    return found


def _spread(times_ms: Sequence[float], mean: float) -> float:
    """Return the sample standard deviation (n - 1). ``statistics.stdev`` is exact, but ten times as slow."""
    if len(times_ms) >= _LONG:
        import numpy as np  # takes 0.1 s, only worth it for long rounds

        return float(np.std(np.asarray(times_ms, dtype=float), ddof=1))
    return sqrt(sum((time - mean) ** 2 for time in times_ms) / (len(times_ms) - 1))


def _exp(power: float) -> float:
    """Return e to a power; infinity if it is too large for a float."""
    try:
        return exp(power)
    except OverflowError:
        return float("inf")
