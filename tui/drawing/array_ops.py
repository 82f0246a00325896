"""Merge, sum, group and filter columns of numbers. NumPy is imported only for long ones.

Importing it takes 0.1 s and 15 MB. That pays off from tens of thousands of values, which take plain Python
tenths of a second to sort.
"""

from __future__ import annotations  # before Python 3.12, array[float] exists only for type checkers

from array import array
from collections.abc import Sequence

NUMPY_THRESHOLD = 50_000


def merged(ordered: array[float], values: Sequence[float]) -> array[float]:
    """Merge values into a sorted array."""
    if len(ordered) + len(values) < NUMPY_THRESHOLD:
        every = [*ordered, *values]
        every.sort()
        return array("d", every)
    import numpy as np  # see module docstring

    both = np.concatenate((ordered, values))
    both.sort(kind="stable" if len(ordered) > len(values) else "quicksort")
    result = array("d")
    result.frombytes(both.data.cast("B"))
    return result


def summed(values: Sequence[float]) -> float:
    """Return the sum of the values."""
    if len(values) < NUMPY_THRESHOLD:
        return sum(values)
    import numpy as np  # see module docstring

    return float(np.sum(values))


def extremes(values: Sequence[float], count: int, steps: int) -> list[tuple[float, float]]:
    """Return (min, max) of each group of ``steps`` among the first ``count`` values."""
    if count < NUMPY_THRESHOLD:
        groups = (values[at : min(at + steps, count)] for at in range(0, count, steps))
        return [(min(group), max(group)) for group in groups]
    import numpy as np  # see module docstring

    first = np.asarray(values)[:count]
    starts = range(0, count, steps)
    least, most = np.minimum.reduceat(first, starts), np.maximum.reduceat(first, starts)
    return list(zip(least.tolist(), most.tolist(), strict=True))


class GrowingExtremes:
    """``extremes`` of a column that only grows: complete groups aren't recomputed."""

    def __init__(self) -> None:
        self._values: Sequence[float] = ()
        self._steps = 0
        self._complete: list[tuple[float, float]] = []

    def __call__(self, values: Sequence[float], count: int, steps: int) -> list[tuple[float, float]]:
        """Return (min, max) of each group of ``steps`` among the first ``count`` values."""
        if values is not self._values or steps != self._steps or count < len(self._complete) * steps:
            self._values, self._steps, self._complete = values, steps, []
        known = self._complete
        first = len(known) * steps
        found = known + extremes(values[first:count], count - first, steps)
        self._complete = found[: count // steps]
        return found


def outside(values: Sequence[float], count: int, low: float, high: float) -> Sequence[int]:
    """Return the indices of values below ``low`` or above ``high`` among the first ``count``."""
    if count < NUMPY_THRESHOLD:
        return [place for place, value in enumerate(values[:count]) if not low <= value <= high]
    import numpy as np  # see module docstring

    first = np.asarray(values)[:count]
    places: list[int] = np.flatnonzero((first < low) | (first > high)).tolist()
    return places
