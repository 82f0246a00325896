"""Round summary: median, first quartile and mean of a round's steps, each with its standard error.

Errors are relative: the standard error of a statistic's natural logarithm. They cover the steps of one process
only; process-to-process variation comes from ``noise`` and from the rounds themselves. ``distribution``
computes the summaries from the steps.
"""

from collections.abc import Sequence
from math import copysign, exp, hypot, inf, log, sqrt
from statistics import fmean

import msgspec

from benchtui.sessions.payloads import Turns
from benchtui.sessions.stats.quantiles import student_t_quantile

FAST_QUANTILE = 0.25
"""Quantile that represents fast steps. A minimum would depend on the few steps at boost clock."""
LEAST_ROUNDS = 3
"""Minimum number of rounds for an interval from their own spread."""
CONFIDENCE = 0.95
VERDICT_CONFIDENCE = 0.99
"""Confidence of the intervals that are shown, and of those behind FASTER and SLOWER."""


class Statistic(msgspec.Struct, frozen=True, gc=False):
    """A statistic of a sample of times."""

    ms: float
    error: float | None = None
    """Relative standard error; None if the sample is too small, or its source kept no steps."""


class Slices(msgspec.Struct, frozen=True, gc=False):
    """Steps of a round that took turns with another case, slice by slice."""

    turns: Turns
    round: int
    """Number of this round, from 0."""
    medians_ms: tuple[float, ...]
    """Median step of each turn."""


class Sample(msgspec.Struct, frozen=True, gc=False):
    """Summary of one round's steps, all run by one process."""

    n: int
    median: Statistic
    low: Statistic | None
    """First quartile; None if no steps were kept."""
    mean: Statistic
    tail: float | None = None
    """Time by which p90 exceeds the median, as a share of it; None below 20 steps, or if none were kept."""
    extremes_ms: tuple[float, float] | None = None
    """Shortest and longest step; None if no steps were kept."""
    slices: Slices | None = None
    """Its turns; None if it was measured alone."""


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

    @property
    def half_width_percent(self) -> float | None:
        """Half-width of the 95% interval in percent of the value."""
        return 50 * (self.high - self.low) / self.value if self.value else None

    def times(self, factor: float) -> "Bounds":
        """Return the bounds multiplied by a factor, such as a change of unit."""
        return Bounds(*(factor * bound for bound in self._all))

    def wider(self, down: float, up: float) -> "Bounds":
        """Return the bounds extended by the factors ``down`` and ``up``, both at least 1."""
        low, sure_low = self.low / down, self.sure_low / down
        return Bounds(self.value, low, self.high * up, sure_low, self.sure_high * up)

    def with_error(self, error: float) -> "Bounds":
        """Return the bounds with a known error of the logarithm as well, so that they are never narrower."""
        half, sure = (
            student_t_quantile((1 + share) / 2, inf) * error for share in (CONFIDENCE, VERDICT_CONFIDENCE)
        )
        pairs = (self.low, -half), (self.high, half), (self.sure_low, -sure), (self.sure_high, sure)
        return Bounds(self.value, *(_farther(end, self.value, by) for end, by in pairs))

    def over(self) -> "Bounds":
        """Return the bounds of the reciprocal."""
        value, low, high, sure_low, sure_high = (1 / bound if bound else float("inf") for bound in self._all)
        return Bounds(value, high, low, sure_high, sure_low)

    def __mul__(self, other: "Bounds") -> "Bounds":
        """Return the bounds of a product of possibly correlated factors, multiplied bound by bound."""
        return Bounds(*(one * two for one, two in zip(self._all, other._all, strict=True)))

    @property
    def _all(self) -> tuple[float, float, float, float, float]:
        return self.value, self.low, self.high, self.sure_low, self.sure_high


def log_mean_of_rounds(figures: Sequence[Statistic]) -> tuple[float, float, float]:
    """Return the mean of the rounds' logarithms, its variance by their spread, and its degrees of freedom.

    The variance is at least what the steps within the rounds account for: rounds that happen to agree don't
    make a case exact. Needs at least two rounds.
    """
    logs = [log(figure.ms) for figure in figures]
    n = len(logs)
    within = sum((figure.error or 0.0) ** 2 for figure in figures) / n**2
    center = fmean(logs)
    between = sum((value - center) ** 2 for value in logs) / (n - 1)
    return center, max(between / n, within), n - 1


def interval(figures: Sequence[Statistic]) -> Bounds | None:
    """Return the bounds of a case from its own steps and rounds; None if they don't suffice.

    From three rounds on, the bounds follow from the spread between them. One round covers its own process only.
    Two rounds give the span of both intervals.
    """
    if not figures or min(figure.ms for figure in figures) <= 0:
        return None
    if len(figures) >= LEAST_ROUNDS:
        center, variance, freedom = log_mean_of_rounds(figures)
        return Bounds.around(center, sqrt(variance), freedom)
    if any(figure.error is None for figure in figures):
        return None
    intervals = [Bounds.around(0.0, one.error or 0.0, float("inf")).times(one.ms) for one in figures]
    return Bounds(
        value=exp(fmean(log(one.ms) for one in figures)),
        low=min(one.low for one in intervals),
        high=max(one.high for one in intervals),
        sure_low=min(one.sure_low for one in intervals),
        sure_high=max(one.sure_high for one in intervals),
    )


def _farther(end: float, value: float, by: float) -> float:
    """Return the end of an interval around a value, farther by an independent error of the logarithm."""
    if not 0 < value < inf or not 0 < end < inf:
        return end
    return value * _exp(copysign(hypot(log(end / value), by), by))


def _exp(power: float) -> float:
    """Return e to a power; infinity if it is too large for a float."""
    try:
        return exp(power)
    except OverflowError:
        return float("inf")
