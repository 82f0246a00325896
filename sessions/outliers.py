"""Steps so far off the others that something else must have happened in them. They are told, never removed."""

from collections.abc import Sequence

import numpy as np

THRESHOLD = 14.826
"""Distance from the median, in median absolute deviations, from which a step is one.

Ten standard deviations of a normal distribution (hyperfine, outlier_detection.rs, after Iglewicz and Hoaglin,
How to Detect and Handle Outliers).
"""
LEAST_DEVIATION = 0.001
"""Share of the median that a deviation counts for at least: times that agree to the clock's tick have none."""


def outliers(times_ms: Sequence[float]) -> tuple[int, ...]:
    """Places, counted from 0, of the times whose modified z-score is above the threshold."""
    if not len(times_ms):
        return ()
    values = np.asarray(times_ms, dtype=float)
    middle = float(np.median(values))
    distances = np.abs(values - middle)
    unit = max(float(np.median(distances)), LEAST_DEVIATION * abs(middle))
    return tuple(int(place) for place in np.flatnonzero(distances > THRESHOLD * unit))
