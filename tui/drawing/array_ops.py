"""Group the values of columns that only grow.

Importing numpy takes 0.1 s, so it is imported by the functions: nothing draws columns before the first paint.
"""

from collections.abc import Sequence


def extremes(values: Sequence[float], count: int, steps: int) -> list[tuple[float, float]]:
    """Return (min, max) of each group of ``steps`` among the first ``count`` values."""
    import numpy as np  # see module docstring

    if not count:
        return []
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
