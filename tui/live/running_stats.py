"""Running statistics of step times: kept sorted, so that appending a batch is cheap.

Quantiles and intervals are those of the report (``sessions.stats.quantiles``), but without numpy, whose import
takes 0.1 s and 15 MB.
"""

from __future__ import annotations  # the module of Metrics imports numpy

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchtui.sessions.stats.outliers import LEAST_FOR_OUTLIERS, inlier_range
from benchtui.sessions.stats.quantiles import (
    LEAST_FOR_P90,
    LEAST_FOR_P95,
    LEAST_FOR_P99,
    half_width_percent,
    median_interval,
    percentile,
)
from benchtui.tui.drawing.array_ops import summed
from benchtui.tui.live.sorted_samples import SortedSample

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics


class RunningStats:
    """Sorted values of a growing sample of times, in milliseconds."""

    def __init__(self, values: Sequence[float] = ()) -> None:
        self._ordered = SortedSample()
        self.total = 0.0
        """Sum of all values."""
        self.extend(values)

    def extend(self, values: Sequence[float]) -> None:
        """Add values to the sample."""
        if len(values):
            self._ordered.extend(values)
            self.total += summed(values)

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self._ordered)

    @property
    def least(self) -> float | None:
        """Minimum, or None if empty."""
        return self._ordered[0] if self._ordered else None

    @property
    def most(self) -> float | None:
        """Maximum, or None if empty."""
        return self._ordered[-1] if self._ordered else None

    @property
    def median(self) -> float | None:
        """Median, or None if empty."""
        return percentile(self._ordered, 50)

    @property
    def p5_to_p95(self) -> tuple[float, float] | None:
        """5th and 95th percentile, or None below 40 values."""
        low, high = (percentile(self._ordered, percent, LEAST_FOR_P95) for percent in (5, 95))
        return None if low is None or high is None else (low, high)

    @property
    def p90(self) -> float | None:
        """90th percentile, or None with too few values."""
        return percentile(self._ordered, 90, LEAST_FOR_P90)

    @property
    def p99(self) -> float | None:
        """99th percentile, or None below 100 values."""
        return percentile(self._ordered, 99, LEAST_FOR_P99)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the median, or None below 6 values."""
        return median_interval(self._ordered)

    @property
    def interval_percent(self) -> float | None:
        """Half the width of the interval over the median, in percent."""
        return half_width_percent(self.interval, self.median)

    def below(self, value: float) -> int:
        """Return the number of values smaller than this one."""
        return self._ordered.below(value)

    @property
    def usual(self) -> tuple[float, float] | None:
        """Bounds beyond which values are outliers, or None below 20 values."""
        return inlier_range(self._ordered) if self.n >= LEAST_FOR_OUTLIERS else None

    def outliers(self) -> int:
        """Return the number of outliers."""
        if self.usual is None:
            return 0
        low, high = self.usual
        return self.below(low) + self.n - self._ordered.up_to(high)


class SummaryStats:
    """Statistics of summarized steps, taken from their metrics."""

    def __init__(self, figures: Metrics) -> None:
        latency = figures.latency_ms
        self.n = latency.n
        self.total = latency.mean * latency.n
        self.least, self.most = latency.least, latency.most
        self.median, self.p90, self.p99 = latency.median, latency.p90, latency.p99
        self.interval_percent = latency.interval_percent
        self._figures = figures

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the median, or None below 6 values."""
        low, high = self._figures.latency_ms.low, self._figures.latency_ms.high
        return None if low is None or high is None else (low, high)

    @property
    def p5_to_p95(self) -> tuple[float, float] | None:
        """5th and 95th percentile, or None below 40 values."""
        low, high = self._figures.latency_ms.p5, self._figures.latency_ms.p95
        return None if low is None or high is None else (low, high)

    def outliers(self) -> int:
        """Return the number of outliers."""
        return len(self._figures.outliers)
