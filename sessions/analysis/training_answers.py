"""Training answers: losses, gradient norms and trained weights of a case's first steps against its baseline's.

Both train from the same weights on the same batches, with several seeds for dropout. What matters is the change
of the loss: in a few steps, no option moves a loss by a percent of its value. If both draw the same random
numbers, small differences count as well. Compiled code and fused attention draw others; a difference then
counts only beyond the spread between the seeds.
"""

from math import sqrt
from typing import Any

import msgspec
import numpy
from numpy.typing import NDArray

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import CANT_TELL
from benchtui.sessions.stats.quantiles import student_t_quantile

Curves = NDArray[Any]
"""Figures of training, with shape (seeds, steps, 3): loss, gradient norm, number of weights with a gradient."""
LOSS, GRADIENTS, TRAINED = 0, 1, 2

SAME_NUMBERS = 1e-5
"""Largest relative difference of the first losses of two cases that drew the same random numbers."""
ROUNDING = 0.1
"""Error of a change that rounding may cause, over the allowed difference of the first losses."""
CONFIDENCE = 0.998
"""One-sided probability that noise stays within its limit, so that 99% of equal cases are CLOSE."""
UNCERTAIN = 0.5
"""Share of the baseline's change from which noise and rounding hide whether anything was learned."""


class Distance(msgspec.Struct, frozen=True):
    """Relative differences of two runs of training, or limits of them."""

    start: float = 0.0
    """Of the first losses, which no update has affected."""
    change: float = 0.0
    """Of the changes of the loss since the first step: root mean squares over the steps."""
    gradients: float = 0.0
    """Of the gradient norms, likewise."""

    def or_larger(self, other: "Distance") -> "Distance":
        """Return the larger of each difference."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Distance(*map(max, pairs))

    def exceeds(self, limits: "Distance") -> bool:
        """Return whether any difference is larger than its limit."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(limits), strict=True)
        return any(own > limit for own, limit in pairs)


def compare_training(base: Curves, mine: Curves, limits: Distance) -> dict[str, Any]:
    """Return the verdict and the figures of training, as fields of ``AnswerComparison``.

    Runs of unlike length are compared as far as both go. Raises BenchtuiError if the runs don't tell whether
    the cases differ.
    """
    steps, seeds = min(base.shape[1], mine.shape[1]), min(len(base), len(mine))
    base, mine = base[:seeds, :steps], mine[:seeds, :steps]
    distance, trained = _distance(base, mine), float(mine[0, 0, TRAINED] / max(base[0, 0, TRAINED], 1))
    figures = _figures(base, mine) | {
        "change_difference": distance.change,
        "gradient_difference": distance.gradients,
        "trained_share": trained,
    }
    if numpy.array_equal(base, mine):
        return figures | {"verdict": "identical"}
    noise = _noise(base, mine) if distance.start > SAME_NUMBERS else Distance()
    size = _size(_mean_change(base))
    rounding = ROUNDING * limits.start * _start(base) / size
    allowed = limits.or_larger(noise or Distance()).or_larger(Distance(change=rounding))
    beyond = distance.exceeds(allowed)
    if trained != 1 or _draws(base) != _draws(mine) or (beyond and noise is not None):
        learns = float(_mean_change(base)[-1] * _mean_change(mine)[-1]) > 0  # in the baseline's direction
        return figures | {"verdict": "different" if learns else "broken"}
    in_steps = f"{CANT_TELL} in {steps} steps"
    if beyond:
        raise BenchtuiError(f"{in_steps}: dropout draws other numbers, and there was no time for several seeds")
    if (unclear := max(rounding, noise.change if noise else 0.0)) >= UNCERTAIN:
        raise BenchtuiError(
            f"{in_steps}: the baseline's loss changes by {size:.2g}, noise and rounding by {unclear * size:.2g}"
        )
    return figures | {"verdict": "close"}


def _figures(base: Curves, mine: Curves) -> dict[str, Any]:
    ours, theirs = base[..., LOSS], mine[..., LOSS]
    gaps = numpy.abs(theirs - ours)
    unequal = numpy.flatnonzero(gaps.any(0))
    return {
        "loss_difference": float((gaps / numpy.maximum(numpy.abs(ours), _LEAST)).max()),
        "largest_difference": float(gaps.max()),
        "first_difference": int(unequal[0]) if len(unequal) else None,
    }


_LEAST = 1e-12
"""Smallest divisor: far below the rounding errors of a loss."""


def _noise(base: Curves, mine: Curves) -> Distance | None:
    """Return what the means of equal cases that draw other numbers may differ by; None for a single seed.

    That is Student's t interval of a difference of means, from the spread between the seeds of both.
    """
    seeds = len(base)
    if seeds < 2:
        return None
    times = student_t_quantile(CONFIDENCE, 2 * (seeds - 1)) * sqrt(2 / seeds)
    return Distance(
        times * _spread(base[:, :1, LOSS], mine[:, :1, LOSS]) / max(_start(base), _LEAST),
        times * _spread(_changes(base), _changes(mine)) / _size(_mean_change(base)),
        times * _spread(base[..., GRADIENTS], mine[..., GRADIENTS]) / _size(base[..., GRADIENTS].mean(0)),
    )


def _spread(one: Curves, other: Curves) -> float:
    """Return the standard deviation between the seeds of two cases, pooled over them and over the steps."""
    return _size(numpy.stack([one - one.mean(0), other - other.mean(0)])) * sqrt(len(one) / (len(one) - 1))


def _distance(base: Curves, mine: Curves) -> Distance:
    """Return the differences of the means over the seeds, relative to the baseline's."""
    change, norms = _mean_change(base), base[..., GRADIENTS].mean(0)
    return Distance(
        abs(_start(mine) - _start(base)) / max(_start(base), _LEAST),
        _size(_mean_change(mine) - change) / _size(change),
        _size(mine[..., GRADIENTS].mean(0) - norms) / _size(norms),
    )


def _draws(curves: Curves) -> bool:
    """Return whether the seed affects the first loss, as dropout does."""
    first = curves[:, 0, LOSS]
    return float(numpy.abs(first - first[0]).max()) > SAME_NUMBERS * abs(float(first[0]))


def _start(curves: Curves) -> float:
    """Return the mean loss of the first step."""
    return abs(float(curves[:, 0, LOSS].mean()))


def _changes(curves: Curves) -> Curves:
    """Return the change of each seed's loss since the first step, for each further step."""
    return curves[:, 1:, LOSS] - curves[:, :1, LOSS]


def _mean_change(curves: Curves) -> Curves:
    change: Curves = _changes(curves).mean(0)
    return change


def _size(values: Curves) -> float:
    """Return the root mean square, at least the smallest divisor."""
    return max(float(numpy.sqrt(numpy.square(values).mean())), _LEAST)
