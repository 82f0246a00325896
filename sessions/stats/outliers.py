"""Steps so far off the others that something else must have happened in them. They are told, never removed."""

from __future__ import annotations  # for numpy, which the bounds do without

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

THRESHOLD = 14.826
"""Distance from the median, in median absolute deviations, from which a step is one.

Ten standard deviations of a normal distribution (hyperfine, outlier_detection.rs, after Iglewicz and Hoaglin,
How to Detect and Handle Outliers).
"""
LEAST_DEVIATION = 0.001
"""Share of the median that a deviation counts for at least: times that agree to the clock's tick have none."""


class InOrder(Protocol):
    """Figures in ascending order, reached by their place."""

    def __getitem__(self, place: int, /) -> float:
        """The figure at a place, counted from 0."""

    def __len__(self) -> int:
        """How many there are."""


def outliers(times_ms: Sequence[float], ordered: np.ndarray | None = None) -> tuple[int, ...]:
    """Places, counted from 0, of the times whose modified z-score is above the threshold."""
    if not len(times_ms):
        return ()
    import numpy as np  # see above

    values = np.asarray(times_ms, dtype=float)
    low, high = usual(np.sort(values) if ordered is None else ordered)
    return tuple(int(place) for place in np.flatnonzero((values < low) | (values > high)))


def usual(ordered: InOrder) -> tuple[float, float]:
    """From where to where figures are no outliers; there must be one at least."""
    last = len(ordered) - 1
    middle = (ordered[last // 2] + ordered[last - last // 2]) / 2
    unit = max(_deviation(ordered, middle), LEAST_DEVIATION * abs(middle))
    return float(middle - THRESHOLD * unit), float(middle + THRESHOLD * unit)


def _deviation(ordered: InOrder, middle: float) -> float:
    """The median of the distances from the median, from a handful of looks.

    The nearest half of all figures stands together, the farthest of it at its ends. It begins where the figure
    behind it is no nearer than its first.
    """
    n, half = len(ordered), len(ordered) // 2 + 1
    first = bisect_left(
        range(n - half), x=True, key=lambda at: middle - ordered[at] <= ordered[at + half] - middle
    )
    far = sorted(abs(ordered[first + at] - middle) for at in {0, min(1, half - 1), max(half - 2, 0), half - 1})
    return far[-1] if n % 2 else (far[-2] + far[-1]) / 2
