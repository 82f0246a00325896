"""What the steps of one round say of their case: three figures, each with the error of a sample this large.

Errors are relative: the standard error of a figure's natural logarithm. They cover the steps of one process and
nothing else; how far fresh processes lie apart is known to ``noise`` and to the rounds themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, log, sqrt
from statistics import fmean
from typing import Protocol

from benchtui.sessions.stats.student_t import quantile

LOW = 0.25
"""The low quantile: what fast steps take. A minimum would be decided by the few steps at boost clock."""
LEAST_STEPS = 6
"""Steps below which a sample has no error to speak of."""
LEAST_ROUNDS = 3
"""Rounds from which their own spread gives an interval."""
CONFIDENCE = 0.95
SURE = 0.99
"""Confidence of the intervals that are shown, and of those that FASTER and SLOWER rest on."""

WIDE = 2.0
"""Standard deviations of the rank at which an error is read off: nearer ones lie on few steps, and vary."""

_LONG = 20_000
"""Steps from which numpy is worth importing."""
_BATCH, _MOST_BATCHES, _LEAST_BATCHES = 8, 32, 8
"""Steps of a batch at least, and how many batches a round is cut into."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a sample of times."""

    ms: float
    error: float | None = None
    """Relative standard error; None where the sample is too small, or its source kept no steps."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The steps of one round of a case, which one process ran."""

    n: int
    median: Figure
    low: Figure | None
    """The first quartile; None where no steps were kept."""
    mean: Figure
    jitter: float | None = None
    """Standard deviation of the steps over their mean; None for fewer than two, or where none were kept."""


class Ordered(Protocol):
    """Times in ascending order, however they are kept."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> float: ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """A value with its 95% and its 99% interval."""

    value: float
    low: float
    high: float
    sure_low: float
    sure_high: float

    @classmethod
    def around(cls, center: float, error: float, freedom: float, least: float = 0.0) -> "Bounds":
        """Bounds by Student's t around a logarithm; ``least`` is the half width they have at least."""
        half = max(least, quantile((1 + CONFIDENCE) / 2, freedom) * error)
        sure = max(least, quantile((1 + SURE) / 2, freedom) * error)
        low, high = _exp(center - half), _exp(center + half)
        return cls(_exp(center), low, high, _exp(center - sure), _exp(center + sure))

    def times(self, factor: float) -> "Bounds":
        """The same in another unit."""
        value, low, high, sure_low, sure_high = self._all
        return Bounds(factor * value, factor * low, factor * high, factor * sure_low, factor * sure_high)

    def wider(self, down: float, up: float) -> "Bounds":
        """Bounds that reach this many times as far: ``down`` and ``up`` are at least 1."""
        low, sure_low = self.low / down, self.sure_low / down
        return Bounds(self.value, low, self.high * up, sure_low, self.sure_high * up)

    def over(self) -> "Bounds":
        """Bounds of the reciprocal."""
        value, low, high, sure_low, sure_high = (1 / each if each else float("inf") for each in self._all)
        return Bounds(value, high, low, sure_high, sure_low)

    def __mul__(self, other: "Bounds") -> "Bounds":
        """Bounds of a product whose factors may go together: each end times the other's."""
        return Bounds(*(one * two for one, two in zip(self._all, other._all, strict=True)))

    @property
    def _all(self) -> tuple[float, float, float, float, float]:
        return self.value, self.low, self.high, self.sure_low, self.sure_high


def sample(times_ms: Sequence[float]) -> Sample | None:
    """Sum up the steps of a round, in the order in which they ran; None without any."""
    n = len(times_ms)
    if not n:
        return None
    long = n >= _LONG
    ordered: Ordered = _sorted_by_numpy(times_ms) if long else sorted(times_ms)
    mean = fmean(times_ms)
    jitter = _spread(times_ms, mean) / mean if n > 1 and mean > 0 else None
    return Sample(
        n=n,
        median=_quantile(times_ms, ordered, 0.5),
        low=_quantile(times_ms, ordered, LOW),
        mean=Figure(mean, _error_of_mean(times_ms, mean, jitter)),
        jitter=jitter,
    )


def over_rounds(figures: Sequence[Figure]) -> tuple[float, float, float]:
    """The mean of the rounds' logarithms, its variance by their spread, and the degrees of freedom of that.

    The variance is at least what the steps within the rounds account for: rounds that happen to agree don't
    make a case exact. Takes two rounds or more.
    """
    logs = [log(each.ms) for each in figures]
    n = len(logs)
    within = sum((each.error or 0.0) ** 2 for each in figures) / n**2
    center = fmean(logs)
    return center, max(_spread(logs, center) ** 2 / n, within), n - 1


def interval(figures: Sequence[Figure]) -> Bounds | None:
    """Where a case lies in milliseconds by what its own steps and rounds show; None where they can't tell.

    From three rounds on the spread between them decides. One round shows what its own process does; two are
    covered by the widest of both.
    """
    if not figures or min(each.ms for each in figures) <= 0:
        return None
    if len(figures) >= LEAST_ROUNDS:
        center, variance, freedom = over_rounds(figures)
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


def _quantile(times_ms: Sequence[float], ordered: Ordered, share: float) -> Figure:
    """A quantile with the error that order statistics give it (David and Nagaraja, Order Statistics, 7.1)."""
    place = share * (len(ordered) - 1)
    value = _at(ordered, place)
    if len(ordered) < LEAST_STEPS or ordered[0] <= 0:
        return Figure(value)
    one = sqrt(len(ordered) * share * (1 - share) * _inflation_of_share(times_ms, value, share))
    below = ordered[max(floor(place - WIDE * one), 0)]
    above = ordered[min(ceil(place + WIDE * one), len(ordered) - 1)]
    return Figure(value, (log(above) - log(below)) / (2 * WIDE))


def _at(ordered: Ordered, place: float) -> float:
    """The value at a place between two ranks, as numpy's default does it."""
    below, above = ordered[floor(place)], ordered[ceil(place)]
    return float(below + (above - below) * (place - floor(place)))


def _inflation_of_share(times_ms: Sequence[float], value: float, share: float) -> float:
    """How many times as much the share of steps below a value varies as that of independent steps."""
    batches, size = _batches(len(times_ms))
    if batches < _LEAST_BATCHES:
        return 1.0
    shares = [count / size for count in _below(times_ms, value, batches, size)]
    return max(1.0, _spread(shares, fmean(shares)) ** 2 * size / (share * (1 - share)))


def _error_of_mean(times_ms: Sequence[float], mean: float, jitter: float | None) -> float | None:
    """The relative standard error of the mean, by batches of neighbouring steps where there are enough.

    Batch means: Law and Kelton, Simulation Modeling and Analysis, section 9.5.3.
    """
    n = len(times_ms)
    if n < LEAST_STEPS or jitter is None:
        return None
    alone = jitter / sqrt(n)
    batches, size = _batches(n)
    if batches < _LEAST_BATCHES:
        return alone
    means = [fmean(times_ms[at * size : (at + 1) * size]) for at in range(batches)]
    return max(alone, _spread(means, fmean(means)) / sqrt(batches) / mean)


def _batches(n: int) -> tuple[int, int]:
    """How many batches a round is cut into, and how many steps each has."""
    batches = min(_MOST_BATCHES, n // _BATCH)
    return (batches, n // batches) if batches else (0, 0)


def _below(times_ms: Sequence[float], value: float, batches: int, size: int) -> list[int]:
    """How many steps of each batch are below a value."""
    if len(times_ms) >= _LONG:
        import numpy as np  # a tenth of a second, for long rounds alone

        found = np.asarray(times_ms)[: batches * size].reshape(batches, size) < value
        return [int(count) for count in found.sum(axis=1)]
    return [sum(1 for time in times_ms[at * size : (at + 1) * size] if time < value) for at in range(batches)]


def _sorted_by_numpy(times_ms: Sequence[float]) -> Ordered:
    import numpy as np  # a tenth of a second, for long rounds alone

    found: Ordered = np.sort(np.asarray(times_ms, dtype=float))
    return found


def _spread(times_ms: Sequence[float], mean: float) -> float:
    """Standard deviation of a sample (n - 1); ``statistics.stdev`` is exact, and ten times as slow."""
    if len(times_ms) >= _LONG:
        import numpy as np  # a tenth of a second, for long rounds alone

        return float(np.std(np.asarray(times_ms, dtype=float), ddof=1))
    return sqrt(sum((time - mean) ** 2 for time in times_ms) / (len(times_ms) - 1))


def _exp(power: float) -> float:
    """E to a power; infinite where it is too large for a float."""
    try:
        return exp(power)
    except OverflowError:
        return float("inf")
