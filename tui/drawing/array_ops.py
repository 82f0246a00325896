"""Group the values of columns.

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
