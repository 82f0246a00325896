"""Steps of one case that aren't all alike: a drift in a round, or two kinds of steps. Pure rules over times."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

Bounds = tuple[float, float]

LEAST_SHIFT = 0.05
"""Share of a time from which a difference is worth a word."""
LEAST_APART = 0.005
"""Share by which its bounds have to lie off nothing."""
LEAST_STEPS = 40
"""Steps of a round below which drift and modes can't be told from chance."""
MOST_LOOKED_AT = 10_000
"""Steps of a round that are looked at, evenly spaced where it has more."""
TRIMMED = 0.02
"""Share of steps left out at either end when looking for modes: outliers are no mode."""
LEAST_MODE = 0.15
"""Share of steps that a mode has at least."""
MOST_BETWEEN = 0.03
"""Share of steps that two modes may have in the middle third between them; an even spread has 17%."""
QUARTILES = (25, 50, 75)


@dataclass(frozen=True, slots=True)
class Unsteady:
    """How the steps of a case differ."""

    kind: Literal["drift", "two modes"]
    share: float
    """Drift: the median of the last quarter of a round over that of its first, minus 1. Two modes: the slower
    one's over the faster one's, minus 1."""
    bounds: Bounds
    """Of that share, by the middle halves of both."""


def unsteady(rounds: Sequence[Sequence[float]]) -> Unsteady | None:
    """The drift of the round that drifts most; where none does, the two modes that lie widest apart."""
    times = [_looked_at(each) for each in rounds if len(each) >= LEAST_STEPS]
    drifts = [found for each in times if (found := _drift(each))]
    modes = [] if drifts else [found for each in times if (found := _two_modes(each))]
    return max(drifts or modes, key=lambda each: abs(each.share), default=None)


def surely_off(share: float, bounds: Bounds) -> bool:
    """Whether a difference is large enough for a word, and its bounds leave no doubt that there is one."""
    finite = abs(share) < inf and bounds[1] < inf
    return finite and abs(share) >= LEAST_SHIFT and (bounds[0] > LEAST_APART or bounds[1] < -LEAST_APART)


def _looked_at(times: Sequence[float]) -> np.ndarray:
    return np.asarray(times, dtype=float)[:: -(-len(times) // MOST_LOOKED_AT)]


def _drift(times: np.ndarray) -> Unsteady | None:
    quarter = len(times) // 4
    share, bounds = _apart(times[:quarter], times[-quarter:])
    return Unsteady("drift", share, bounds) if surely_off(share, bounds) else None


def _two_modes(times: np.ndarray) -> Unsteady | None:
    """Two groups with next to nothing between them, parted where the variance between them is greatest.

    That is Otsu's threshold (IEEE Transactions on Systems, Man, and Cybernetics 9(1), 1979).
    """
    trimmed = int(TRIMMED * len(times))
    ordered = np.sort(times)[trimmed : len(times) - trimmed]
    parted = _threshold(ordered)
    if min(parted, len(ordered) - parted) < LEAST_MODE * len(ordered):
        return None
    fast, slow = ordered[:parted], ordered[parted:]
    third = (np.median(slow) - np.median(fast)) / 3
    between = (ordered > np.median(fast) + third) & (ordered < np.median(slow) - third)
    share, bounds = _apart(fast, slow)
    if np.count_nonzero(between) > MOST_BETWEEN * len(ordered) or not surely_off(share, bounds):
        return None
    return Unsteady("two modes", share, bounds)


def _threshold(ordered: np.ndarray) -> int:
    """How many of the sorted times make up the lower group."""
    sums, counts = np.cumsum(ordered), np.arange(1, len(ordered))
    rest = len(ordered) - counts
    between = counts * rest * (sums[:-1] / counts - (sums[-1] - sums[:-1]) / rest) ** 2
    return int(np.argmax(between)) + 1


def _apart(first: np.ndarray, second: np.ndarray) -> tuple[float, Bounds]:
    """The second median over the first, minus 1, and the same of the ends of their middle halves."""
    one, other = (np.percentile(times, QUARTILES).tolist() for times in (first, second))
    if not one[0] > 0:
        return inf, (inf, inf)
    return other[1] / one[1] - 1, (other[0] / one[2] - 1, other[2] / one[0] - 1)
