"""Statistics of step times: the distribution that is shown, the summary of a round behind verdicts, and drift.

The only module that computes quantiles of times. Sums are exact, and numpy, where it is installed, only sorts
many values, so that every installation computes the same figures.
"""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import ceil, dist, floor, fsum, inf, log, sqrt
from operator import mul
from statistics import fmean
from typing import Literal

import msgspec
from msgspec.structs import replace

from benchtui.sessions.payloads import Turns
from benchtui.sessions.stats.quantiles import (
    LEAST_FOR_INTERVAL,
    LEAST_FOR_OUTLIERS,
    LEAST_FOR_P90,
    LEAST_FOR_P95,
    LEAST_FOR_P99,
    percentile,
    value_at,
)
from benchtui.sessions.stats.sampling import FAST_QUANTILE, Sample, Slices, Statistic, interval

Times = Sequence[float]
Bounds = tuple[float, float]

OUTLIER_THRESHOLD = 14.826
"""Distance from the median, in median absolute deviations, beyond which a step is an outlier.

Ten standard deviations of a normal distribution (hyperfine, outlier_detection.rs, after Iglewicz and Hoaglin,
How to Detect and Handle Outliers). Outliers are reported, never removed.
"""
LEAST_DEVIATION = 0.001
"""Minimum deviation, as a share of the median. Times that agree to the clock's tick have a deviation of 0."""

WIDE = 2.0
"""Distance, in standard deviations of the rank, at which an error is read off. At a smaller distance, it would
depend on only a few steps and vary."""
_BATCH, _MOST_BATCHES, _LEAST_BATCHES = 8, 32, 8
"""Minimum steps per batch, and maximum and minimum number of batches per round."""
_MOST_LAG = 0.95
"""Maximum autocorrelation of neighboring steps that is assumed from a short round."""
_GAP = 0.5
"""Share of an interval that lies between two neighboring times if the steps have two modes."""
LEAST_SHIFT = 0.05
"""Smallest relative difference worth reporting."""
LEAST_APART = 0.005
"""Share by which the bounds of a difference must exclude zero."""
LEAST_STEPS = 40
"""Minimum steps in a round to distinguish drift and modes from chance."""
MANY = 50_000
"""Values from which numpy, where it is installed, sorts them; Python would keep other threads waiting."""
MOST_LOOKED_AT = 10_000
"""Maximum steps examined in a round, evenly spaced if it has more."""
TRIMMED = 0.02
"""Share of steps dropped at either end when looking for modes: outliers aren't a mode."""
LEAST_MODE = 0.15
"""Minimum share of steps in a mode."""
MOST_BETWEEN = 0.03
"""Maximum share of steps in the middle third between two modes; an even spread has 17%."""


class Distribution(msgspec.Struct, frozen=True, gc=False):
    """Distribution of a sample of times. Fields are None if the sample is too small for them."""

    n: int
    mean: float
    median: float | None = None
    p5: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    std: float | None = None
    """Sample standard deviation (n - 1)."""
    low: float | None = None
    high: float | None = None
    """95% interval of the median, the one behind verdicts. One round: from the order statistics of its steps,
    widened for autocorrelation, so it covers that process only. Two rounds: spans both of their intervals.
    Three or more: the interval of their medians."""
    least: float | None = None
    most: float | None = None
    usual: tuple[float, float] | None = None
    """Bounds beyond which values are outliers; None below ``LEAST_FOR_OUTLIERS`` values."""
    outliers: int = 0
    """Number of outliers."""
    mean_is_median: bool = False
    """Whether the median takes the place of a mean that a source doesn't state."""

    @property
    def known_mean(self) -> float | None:
        """Mean; None if it isn't known."""
        return None if self.mean_is_median else self.mean

    @property
    def total(self) -> float:
        """Sum of all values."""
        return self.mean * self.n

    @property
    def interval_percent(self) -> float | None:
        """Half-width of the 95% interval over the median, in percent."""
        if self.low is None or self.high is None or not self.median:
            return None
        return 50 * (self.high - self.low) / self.median

    @property
    def jitter_percent(self) -> float | None:
        """Standard deviation over the mean, in percent."""
        return 100 * self.std / self.mean if self.std is not None and self.mean else None

    @property
    def tail_percent(self) -> float | None:
        """Time by which p90 exceeds the median, in percent of it. Unlike ``std``, it doesn't grow with n."""
        return 100 * (self.p90 / self.median - 1) if self.p90 is not None and self.median else None

    @property
    def p5_to_p95(self) -> tuple[float, float] | None:
        """5th and 95th percentile."""
        return None if self.p5 is None or self.p95 is None else (self.p5, self.p95)

    def with_rounds(self, medians: Sequence[Statistic]) -> Distribution:
        """Return the distribution with the interval of the rounds' medians, extended to that of all steps."""
        bounds = interval(medians)
        if bounds is None or self.median is None:
            return replace(self, low=None, high=None)
        return replace(self, low=min(bounds.low, self.median), high=max(bounds.high, self.median))


def distribution(times_ms: Times) -> Distribution | None:
    """Compute the distribution of a sample of times; None if it is empty."""
    ordered, n = in_order(times_ms), len(times_ms)
    if not n:
        return None
    bounds = interval([_quantile(times_ms, ordered, 0.5)])
    mean = fsum(ordered) / n
    usual = inlier_range(ordered) if n >= LEAST_FOR_OUTLIERS else None
    return Distribution(
        n=n,
        mean=mean,
        median=percentile(ordered, 50),
        p5=percentile(ordered, 5, LEAST_FOR_P95),
        p90=percentile(ordered, 90, LEAST_FOR_P90),
        p95=percentile(ordered, 95, LEAST_FOR_P95),
        p99=percentile(ordered, 99, LEAST_FOR_P99),
        std=_deviation(ordered, mean) if n > 1 else None,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        least=float(ordered[0]),
        most=float(ordered[-1]),
        usual=usual,
        outliers=bisect_left(ordered, usual[0]) + n - bisect_right(ordered, usual[1]) if usual else 0,
    )


def distribution_of_rounds(rounds: Sequence[Times]) -> Distribution | None:
    """Compute the distribution of the steps of all rounds, none of which is empty; None if there are none."""
    if not rounds:
        return None
    times = array("d")
    for times_ms in rounds:
        times.extend(times_ms)
    whole = distribution(times)
    return whole and whole.with_rounds(
        [round_median for times_ms in rounds if (round_median := median(times_ms))]
    )


def sample(times_ms: Times) -> Sample | None:
    """Summarize the steps of a round, given in the order they ran; None if there are none."""
    ordered, n = in_order(times_ms), len(times_ms)
    if not n:
        return None
    mean = fsum(ordered) / n
    jitter = _deviation(ordered, mean) / mean if n > 1 and mean > 0 else None
    middle = _quantile(times_ms, ordered, 0.5)
    has_tail = n >= LEAST_FOR_P90 and middle.ms > 0
    return Sample(
        n=n,
        median=middle,
        low=_quantile(times_ms, ordered, FAST_QUANTILE),
        mean=Statistic(mean, _error_of_mean(times_ms, mean, jitter)),
        tail=value_at(ordered, 0.9 * (n - 1)) / middle.ms - 1 if has_tail else None,
        extremes_ms=(float(ordered[0]), float(ordered[-1])),
    )


def slices_of(times_ms: Times, turns: Turns, round_index: int) -> Slices | None:
    """Return the turns of a round; None if there isn't a whole one."""
    steps, count = turns.slice_steps, len(times_ms) // turns.slice_steps
    medians = tuple(_middle(sorted(rows)) for rows in _rows(times_ms, count, steps))
    return Slices(turns, round_index, medians) if medians else None


def median(times_ms: Times) -> Statistic | None:
    """Return only the median of ``sample``; None if there are no steps."""
    return _quantile(times_ms, in_order(times_ms), 0.5) if len(times_ms) else None


def outliers(times_ms: Times, spread: Distribution | None = None) -> tuple[int, ...]:
    """Return the indices (from 0) of the outliers; ``spread`` is the distribution of the times, if known."""
    spread = spread or distribution(times_ms)
    if spread is None or spread.usual is None or not spread.outliers:
        return ()
    low, high = spread.usual
    return tuple(step for step, time_ms in enumerate(times_ms) if not low <= time_ms <= high)


def inlier_range(ordered: Times) -> tuple[float, float]:
    """Return the range within which sorted values are not outliers. Needs at least one value."""
    middle = _middle(ordered)
    unit = max(_median_deviation(ordered, middle), LEAST_DEVIATION * abs(middle))
    return middle - OUTLIER_THRESHOLD * unit, middle + OUTLIER_THRESHOLD * unit


def _median_deviation(ordered: Times, middle: float) -> float:
    """Return the median absolute deviation, using only a handful of lookups.

    The nearer half of all values is contiguous, with its farthest values at the ends. It starts at the first
    index where the value just behind it is at least as far from the median as its first.
    """
    n, half = len(ordered), len(ordered) // 2 + 1
    first = bisect_left(
        range(n - half), x=True, key=lambda at: middle - ordered[at] <= ordered[at + half] - middle
    )
    far = sorted(abs(ordered[first + at] - middle) for at in {0, min(1, half - 1), max(half - 2, 0), half - 1})
    return far[-1] if n % 2 else (far[-2] + far[-1]) / 2


def in_order(times_ms: Times) -> Times:
    """Return times in ascending order."""
    if len(times_ms) >= MANY:
        try:
            import numpy as np  # an extra, which takes 0.1 s
        except ImportError:
            pass
        else:
            return array("d", np.sort(np.asarray(times_ms, dtype=float)).tobytes())
    return sorted(times_ms)


def _middle(ordered: Times) -> float:
    """Return the median of sorted values."""
    last = len(ordered) - 1
    return (ordered[last // 2] + ordered[last - last // 2]) / 2


def _deviation(values: Times, mean: float) -> float:
    """Return the sample standard deviation."""
    return dist(values, [mean] * len(values)) / sqrt(len(values) - 1)


def _rows(values: Times, count: int, size: int) -> list[Times]:
    """Return the first values as rows of equal size."""
    return [values[row * size : (row + 1) * size] for row in range(count)]


def _quantile(values: Times, ordered: Times, share: float) -> Statistic:
    """Return a quantile with its error from order statistics (David and Nagaraja, Order Statistics, 7.1)."""
    place = share * (len(ordered) - 1)
    value = value_at(ordered, place)
    if len(ordered) < LEAST_FOR_INTERVAL or ordered[0] <= 0:
        return Statistic(value)
    one = sqrt(len(ordered) * share * (1 - share) * _inflation_of_share(values, value, share))
    first, last = max(floor(place - WIDE * one), 0), min(ceil(place + WIDE * one), len(ordered) - 1)
    below, above = log(ordered[first]), log(ordered[last])
    if _has_gap(ordered[first : last + 1]):
        return Statistic(value, max(above - log(value), log(value) - below) / WIDE)
    # a round may have fewer ranks than the distance needs
    return Statistic(value, (above - below) / min(2 * WIDE, (last - first) / one))


def _has_gap(ordered: Times) -> bool:
    """Return whether most of an interval between two ranks is a gap between two of its times.

    The value then lies at the edge of one of two modes, and the density around it says nothing about its
    error. The interval between the ranks itself still holds the true quantile.
    """
    return max(after - before for before, after in pairwise(ordered)) > _GAP * (ordered[-1] - ordered[0])


def _inflation_of_share(values: Times, value: float, share: float) -> float:
    """Return the variance of the share of steps below a value, relative to that of independent steps."""
    batches = _batches(values)
    if batches is None:
        return _inflation_by_lag([time_ms < value for time_ms in values])
    size = len(batches[0])
    shares = [sum(map(value.__gt__, batch)) / size for batch in batches]
    return max(1.0, _deviation(shares, fmean(shares)) ** 2 * size / (share * (1 - share)))


def _inflation_by_lag(values: Times) -> float:
    """Return the variance of the mean of a few values, relative to that of independent ones.

    It follows from the autocorrelation of neighbors, corrected for its bias in short series (Marriott and Pope,
    Biometrika 41, 1954). One that independent values may well show is ignored.
    """
    n, mean = len(values), fmean(values)
    apart = [value - mean for value in values]
    total = fsum(map(mul, apart, apart))
    lag = fsum(map(mul, apart, apart[1:])) / total if total else 0.0
    if lag <= 1 / sqrt(n):
        return 1.0
    lag = min((n * lag + 1) / (n - 4), _MOST_LAG)
    return (1 + lag) / (1 - lag)


def _error_of_mean(values: Times, mean: float, jitter: float | None) -> float | None:
    """Return the relative standard error of the mean, from batch means if there are enough steps.

    Batch means: Law and Kelton, Simulation Modeling and Analysis, section 9.5.3.
    """
    if len(values) < LEAST_FOR_INTERVAL or jitter is None:
        return None
    alone, batches = jitter / sqrt(len(values)), _batches(values)
    if batches is None:
        return alone * sqrt(_inflation_by_lag(values))
    means = [fmean(batch) for batch in batches]
    return max(alone, _deviation(means, fmean(means)) / sqrt(len(means)) / mean)


def _batches(values: Times) -> list[Times] | None:
    """Return the steps as batches of neighbors of equal size; None if they are too few."""
    count = min(_MOST_BATCHES, len(values) // _BATCH)
    if count < _LEAST_BATCHES:
        return None
    return _rows(values, count, len(values) // count)


class Unsteady(msgspec.Struct, frozen=True):
    """Drift or bimodality of a case's steps."""

    kind: Literal["drift", "two modes"]
    share: float
    """Drift: the median of a round's last quarter over that of its first, minus 1. Two modes: the median of the
    slower one over that of the faster, minus 1."""
    bounds: Bounds
    """Bounds of ``share``, from the interquartile ranges of both groups."""


def detect_unsteadiness(rounds: Sequence[Times]) -> Unsteady | None:
    """Return the largest drift of any round; without drift, the two modes that are farthest apart."""
    long = (round_times for round_times in rounds if len(round_times) >= LEAST_STEPS)
    times = [round_times[:: -(-len(round_times) // MOST_LOOKED_AT)] for round_times in long]
    drifts = [unsteady for round_times in times if (unsteady := _drift(round_times))]
    modes = [] if drifts else [unsteady for round_times in times if (unsteady := _two_modes(round_times))]
    return max(drifts or modes, key=lambda candidate: abs(candidate.share), default=None)


def is_significant(share: float, bounds: Bounds) -> bool:
    """Return whether a difference is large enough to report, and its bounds exclude zero."""
    finite = abs(share) < inf and bounds[1] < inf
    return finite and abs(share) >= LEAST_SHIFT and (bounds[0] > LEAST_APART or bounds[1] < -LEAST_APART)


def _drift(times: Times) -> Unsteady | None:
    quarter = len(times) // 4
    share, bounds = _difference(times[:quarter], times[-quarter:])
    return Unsteady("drift", share, bounds) if is_significant(share, bounds) else None


def _two_modes(times: Times) -> Unsteady | None:
    """Split the steps into two modes with almost nothing between them; None if that isn't possible.

    The split maximizes the variance between the groups: Otsu's threshold (IEEE Transactions on Systems, Man,
    and Cybernetics 9(1), 1979).
    """
    trimmed = int(TRIMMED * len(times))
    ordered = sorted(times)[trimmed : len(times) - trimmed]
    parted = _threshold(ordered)
    if min(parted, len(ordered) - parted) < LEAST_MODE * len(ordered):
        return None
    fast, slow = ordered[:parted], ordered[parted:]
    third = (_middle(slow) - _middle(fast)) / 3
    between = bisect_left(ordered, _middle(slow) - third) - bisect_right(ordered, _middle(fast) + third)
    share, bounds = _difference(fast, slow)
    if between > MOST_BETWEEN * len(ordered) or not is_significant(share, bounds):
        return None
    return Unsteady("two modes", share, bounds)


def _threshold(ordered: Times) -> int:
    """Return the size of the lower group among the sorted times."""
    sums, n = list(accumulate(ordered)), len(ordered)

    def between(lower: int) -> float:
        below, above = sums[lower - 1], sums[-1] - sums[lower - 1]
        return lower * (n - lower) * (below / lower - above / (n - lower)) ** 2

    return max(range(1, n), key=between)


def _difference(first: Times, second: Times) -> tuple[float, Bounds]:
    """Return the second median over the first, minus 1, with bounds from the quartiles of both."""
    groups = sorted(first), sorted(second)
    one, other = ([value_at(times, (len(times) - 1) * part / 4) for part in (1, 2, 3)] for times in groups)
    if not one[0] > 0:
        return inf, (inf, inf)
    return other[1] / one[1] - 1, (other[0] / one[2] - 1, other[2] / one[0] - 1)
