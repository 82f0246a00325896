"""Verdict settings that a reader can change: baseline and margin of equivalence."""

import msgspec

from benchtui.sessions.sweep import Baseline


class VerdictSettings(msgspec.Struct, frozen=True):
    """Verdict settings; None means the sweep's baseline, and the default margin."""

    baseline: Baseline | None = None
    same_within: float | None = None
    """Margin of equivalence as a fraction (0.02 is 2%)."""
    baseline_case: int | None = None
    """Number of the baseline case, from 1, instead: of another workload, the case with the same options."""


SWEEP_DEFAULTS = VerdictSettings()

SAME_WITHIN = 0.02
"""Default margin of equivalence: cases whose whole ratio interval lies within it are the same."""
