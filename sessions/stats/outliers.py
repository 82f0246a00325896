"""Outlier detection: steps too far off for normal variation. They are reported, never removed."""

from __future__ import annotations  # numpy is only a type here: ``inlier_range`` works without it

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchtui.sessions.stats.quantiles import SortedValues

if TYPE_CHECKING:
    import numpy as np

THRESHOLD = 14.826
"""Distance from the median, in median absolute deviations, beyond which a step is an outlier.

Ten standard deviations of a normal distribution (hyperfine, outlier_detection.rs, after Iglewicz and Hoaglin,
How to Detect and Handle Outliers).
"""
LEAST_DEVIATION = 0.001
"""Minimum deviation, as a share of the median. Times that agree to the clock's tick have a deviation of 0."""

LEAST_FOR_OUTLIERS = 20
"""Minimum number of steps. With fewer, the median absolute deviation is too uncertain to judge by it."""

SHORT = 2_000
"""Number of values up to which reading single values from a list is faster than from an array."""


def outliers(times_ms: Sequence[float], ordered: np.ndarray | None = None) -> tuple[int, ...]:
    """Return the indices (from 0) of times whose modified z-score exceeds the threshold.

    Below ``LEAST_FOR_OUTLIERS`` times there are none.
    """
    if len(times_ms) < LEAST_FOR_OUTLIERS:
        return ()
    import numpy as np  # imported late: ``inlier_range`` works without it

    values = np.asarray(times_ms, dtype=float)
    ordered = np.sort(values) if ordered is None else ordered
    low, high = inlier_range(ordered.tolist() if len(ordered) <= SHORT else ordered)
    if low <= ordered[0] and ordered[-1] <= high:
        return ()
    return tuple(int(place) for place in np.flatnonzero((values < low) | (values > high)))


def inlier_range(ordered: SortedValues) -> tuple[float, float]:
    """Return the range within which values are not outliers. Needs at least one value."""
    last = len(ordered) - 1
    middle = (ordered[last // 2] + ordered[last - last // 2]) / 2
    unit = max(_deviation(ordered, middle), LEAST_DEVIATION * abs(middle))
    return float(middle - THRESHOLD * unit), float(middle + THRESHOLD * unit)


def _deviation(ordered: SortedValues, middle: float) -> float:
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
