"""How a reader wants cases judged: the baseline, and the margin of equivalence."""

from dataclasses import dataclass

from benchtui.sessions.sweep import Baseline


@dataclass(frozen=True, slots=True)
class Judging:
    """By what a reader wants cases judged; None leaves it to the sweep, and to the usual margin."""

    baseline: Baseline | None = None
    same_within: float | None = None
    """Margin of equivalence, as a share of 1."""


LEFT_TO_THE_SWEEP = Judging()

SAME_WITHIN = 0.02
"""Margin of equivalence: cases whose whole ratio lies within it are called the same."""
