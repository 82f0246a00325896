"""Effect pairs: cases that differ in one option, compared only as far as the report requires.

A sweep of 100,000 cases has hundreds of thousands of such pairs. Limits on their ratios settle most verdicts
and rank the pairs, so that few exact ratios are computed.
"""

from collections.abc import Iterable, Sequence
from math import exp, inf

from benchtui.sessions.advice.ratio_limits import RatioLimits
from benchtui.sessions.stats.ratios import Comparison, comparison
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio, Verdict

ROUNDING = 1e-8
"""Distance in log units within which the limits of two ratios don't determine their order."""


class EffectPair:
    """A case and the base that it is compared with."""

    __slots__ = ("_compared", "_log", "_settled", "base", "new")

    def __init__(self, base: Result, new: Result, log_value: float, settled: Verdict | None) -> None:
        """``log_value`` is the log of the throughput ratio, NaN if unknown; ``settled`` is a known verdict."""
        self.base, self.new = base, new
        self._log, self._settled = log_value, settled
        self._compared: Comparison | None = None

    @property
    def comparison(self) -> Comparison:
        """The exact comparison, computed on first use."""
        self._compared = self._compared or comparison(self.base, self.new)
        return self._compared

    @property
    def verdict(self) -> Verdict:
        """Verdict on the pair."""
        return self._settled or self.comparison.verdict

    @property
    def throughput(self) -> Ratio | None:
        """Ratio of samples per second; None if a step has no samples."""
        return self.comparison.throughput

    @property
    def factor(self) -> float:
        """Factor, at least 1, by which the ratio differs from 1, up to rounding; infinity if unknown."""
        return inf if self._log != self._log else exp(min(abs(self._log), 700.0) + ROUNDING)

    def within(self, low: float, high: float) -> bool:
        """Return whether the logarithm of the ratio is between two others, beyond rounding."""
        return low + ROUNDING < self._log < high - ROUNDING

    @property
    def log_value(self) -> float:
        """Logarithm of the throughput ratio, up to rounding; NaN if unknown."""
        return self._log


def effect_pairs(found: Sequence[tuple[Result, Result]], limits: RatioLimits) -> list[EffectPair]:
    """Return pairs with the verdicts that the limits of their ratios imply."""
    if not found:
        return []
    known = limits.product(["throughput"], [base for base, _ in found], [new for _, new in found])
    rows = zip(found, known.value.tolist(), known.verdicts(), strict=True)
    return [EffectPair(base, new, value, settled) for (base, new), value, settled in rows]


def extremes(pairs: Iterable[EffectPair]) -> tuple[float, float] | None:
    """Return the smallest and the largest throughput ratio; None if no pair has one."""
    rows = list(pairs)
    logs = [pair.log_value for pair in rows if pair.log_value == pair.log_value]
    low, high = min(logs, default=0.0), max(logs, default=0.0)
    outer = (pair.throughput for pair in rows if not pair.within(low, high))
    values = [ratio.value for ratio in outer if ratio]
    return (min(values), max(values)) if values else None
