"""Steadiness of a case's steps: drift within a round, or two modes. Pure rules over times."""

from collections.abc import Sequence
from math import inf
from typing import Literal

import msgspec
import numpy as np

Bounds = tuple[float, float]

LEAST_SHIFT = 0.05
"""Smallest relative difference worth reporting."""
LEAST_APART = 0.005
"""Share by which the bounds of a difference must exclude zero."""
LEAST_STEPS = 40
"""Minimum steps in a round to distinguish drift and modes from chance."""
MOST_LOOKED_AT = 10_000
"""Maximum steps examined in a round, evenly spaced if it has more."""
TRIMMED = 0.02
"""Share of steps dropped at either end when looking for modes: outliers aren't a mode."""
LEAST_MODE = 0.15
"""Minimum share of steps in a mode."""
MOST_BETWEEN = 0.03
"""Maximum share of steps in the middle third between two modes; an even spread has 17%."""
QUARTILES = (25, 50, 75)


class Unsteady(msgspec.Struct, frozen=True):
    """Drift or bimodality of a case's steps."""

    kind: Literal["drift", "two modes"]
    share: float
    """Drift: the median of a round's last quarter over that of its first, minus 1. Two modes: the median of the
    slower one over that of the faster, minus 1."""
    bounds: Bounds
    """Bounds of ``share``, from the interquartile ranges of both groups."""


def detect_unsteadiness(rounds: Sequence[Sequence[float]]) -> Unsteady | None:
    """Return the largest drift of any round; without drift, the two modes that are farthest apart."""
    times = [_looked_at(round_times) for round_times in rounds if len(round_times) >= LEAST_STEPS]
    drifts = [unsteady for round_times in times if (unsteady := _drift(round_times))]
    modes = [] if drifts else [unsteady for round_times in times if (unsteady := _two_modes(round_times))]
    return max(drifts or modes, key=lambda candidate: abs(candidate.share), default=None)


def is_significant(share: float, bounds: Bounds) -> bool:
    """Return whether a difference is large enough to report, and its bounds exclude zero."""
    finite = abs(share) < inf and bounds[1] < inf
    return finite and abs(share) >= LEAST_SHIFT and (bounds[0] > LEAST_APART or bounds[1] < -LEAST_APART)


def _looked_at(times: Sequence[float]) -> np.ndarray:
    return np.asarray(times, dtype=float)[:: -(-len(times) // MOST_LOOKED_AT)]


def _drift(times: np.ndarray) -> Unsteady | None:
    quarter = len(times) // 4
    share, bounds = _difference(times[:quarter], times[-quarter:])
    return Unsteady("drift", share, bounds) if is_significant(share, bounds) else None


def _two_modes(times: np.ndarray) -> Unsteady | None:
    """Split the steps into two modes with almost nothing between them; None if that isn't possible.

    The split maximizes the variance between the groups: Otsu's threshold (IEEE Transactions on Systems, Man,
    and Cybernetics 9(1), 1979).
    """
    trimmed = int(TRIMMED * len(times))
    ordered = np.sort(times)[trimmed : len(times) - trimmed]
    parted = _threshold(ordered)
    if min(parted, len(ordered) - parted) < LEAST_MODE * len(ordered):
        return None
    fast, slow = ordered[:parted], ordered[parted:]
    third = (np.median(slow) - np.median(fast)) / 3
    between = (ordered > np.median(fast) + third) & (ordered < np.median(slow) - third)
    share, bounds = _difference(fast, slow)
    if np.count_nonzero(between) > MOST_BETWEEN * len(ordered) or not is_significant(share, bounds):
        return None
    return Unsteady("two modes", share, bounds)


def _threshold(ordered: np.ndarray) -> int:
    """Return the size of the lower group among the sorted times."""
    sums, counts = np.cumsum(ordered), np.arange(1, len(ordered))
    rest = len(ordered) - counts
    between = counts * rest * (sums[:-1] / counts - (sums[-1] - sums[:-1]) / rest) ** 2
    return int(np.argmax(between)) + 1


def _difference(first: np.ndarray, second: np.ndarray) -> tuple[float, Bounds]:
    """Return the second median over the first, minus 1, with bounds from the quartiles of both."""
    one, other = (np.percentile(times, QUARTILES).tolist() for times in (first, second))
    if not one[0] > 0:
        return inf, (inf, inf)
    return other[1] / one[1] - 1, (other[0] / one[2] - 1, other[2] / one[0] - 1)
