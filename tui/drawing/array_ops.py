"""Long columns of figures: ordered, summed, cut into parts. Numpy is imported for long ones alone.

It takes a tenth of a second and 15 MB, and is worth them from tens of thousands of figures on, which plain
Python takes tenths of a second to order.
"""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

from array import array
from collections.abc import Sequence

MANY = 50_000


def merged(ordered: array[float], values: Sequence[float]) -> array[float]:
    """All values in order, some of which are already."""
    if len(ordered) + len(values) < MANY:
        every = [*ordered, *values]
        every.sort()
        return array("d", every)
    import numpy as np  # see above

    both = np.concatenate((ordered, values))
    both.sort(kind="stable" if len(ordered) > len(values) else "quicksort")
    result = array("d")
    result.frombytes(both.data.cast("B"))
    return result


def summed(values: Sequence[float]) -> float:
    """The sum of a column."""
    if len(values) < MANY:
        return sum(values)
    import numpy as np  # see above

    return float(np.sum(values))


def extremes(values: Sequence[float], count: int, steps: int) -> list[tuple[float, float]]:
    """The least and the most of each group of ``steps`` among the first ``count`` values."""
    if count < MANY:
        groups = (values[at : min(at + steps, count)] for at in range(0, count, steps))
        return [(min(group), max(group)) for group in groups]
    import numpy as np  # see above

    first = np.asarray(values)[:count]
    starts = range(0, count, steps)
    least, most = np.minimum.reduceat(first, starts), np.maximum.reduceat(first, starts)
    return list(zip(least.tolist(), most.tolist(), strict=True))


def outside(values: Sequence[float], count: int, low: float, high: float) -> Sequence[int]:
    """The places of those among the first ``count`` values that lie below one bound or above the other."""
    if count < MANY:
        return [place for place, value in enumerate(values[:count]) if not low <= value <= high]
    import numpy as np  # see above

    first = np.asarray(values)[:count]
    places: list[int] = np.flatnonzero((first < low) | (first > high)).tolist()
    return places
