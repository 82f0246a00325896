"""The spread of step times that keep coming: kept in order, so that a new batch costs little.

The figures are those of ``sessions.metrics`` (a test compares them), which needs numpy: a tenth of a second and
15 MB that a screen can do without.
"""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

from array import array
from collections.abc import Sequence
from math import floor, sqrt

from benchtui.tui.columns import merged, summed

LEAST_FOR_P99 = 100
"""Steps below which a p99 would be the last value and little else."""


class Spread:
    """The ordered values of a growing sample of times, in milliseconds."""

    def __init__(self, values: Sequence[float] = ()) -> None:
        self._ordered: array[float] = array("d")
        self.total = 0.0
        """Sum of all values."""
        self.extend(values)

    def extend(self, values: Sequence[float]) -> None:
        """Take more values in; sorting what is almost sorted already takes time linear in its length."""
        if values:
            self._ordered = merged(self._ordered, values)
            self.total += summed(values)

    @property
    def n(self) -> int:
        """How many values there are."""
        return len(self._ordered)

    @property
    def least(self) -> float | None:
        """The smallest value."""
        return self._ordered[0] if self._ordered else None

    @property
    def most(self) -> float | None:
        """The largest value."""
        return self._ordered[-1] if self._ordered else None

    @property
    def median(self) -> float | None:
        """The median."""
        return self._quantile(0.5) if self._ordered else None

    @property
    def p99(self) -> float | None:
        """The 99th percentile, or None below 100 values."""
        return self._quantile(0.99) if self.n >= LEAST_FOR_P99 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of the median by order statistics (Conover, section 3.2), or None below 6 values."""
        rank = floor((self.n + 1) / 2 - 0.98 * sqrt(self.n)) if self.n else 0
        return (self._ordered[rank - 1], self._ordered[self.n - rank]) if rank >= 1 else None

    @property
    def interval_percent(self) -> float | None:
        """Half the width of the interval over the median, in percent."""
        if self.interval is None or not self.median:
            return None
        low, high = self.interval
        return 50 * (high - low) / self.median

    def _quantile(self, share: float) -> float:
        place = share * (self.n - 1)
        before = int(place)
        after = min(before + 1, self.n - 1)
        return self._ordered[before] + (place - before) * (self._ordered[after] - self._ordered[before])
