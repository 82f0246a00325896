"""Warm-up rule: decides from the step times so far when the warm-up ends."""

from collections.abc import Sequence, Set
from statistics import fmean, quantiles

from benchtui.sessions.estimates.stop_limits import LEAST_WARMUP_STEPS, SETTLED_MS
from benchtui.sessions.sweep import Measure

WINDOW = 8
"""Number of steps that must be stable. The rule is pyperf's, which uses 20; slow models can't afford that."""
MAX_STEPS = 50
MAX_MS = 15_000.0
"""Maximum number of steps, and maximum time of all steps in which nothing is compiled."""
MOST_COLD = 16
"""Number of cold steps that count towards neither time. A case that always compiles must also end."""

QUARTILES_WITHIN = 0.05
MEAN_FALLS, MEAN_RISES = -0.5, 0.1
"""Allowed relative changes between the halves of a window (pyperf, _worker.py, test_calibrate_warmups)."""


def warmed_up(
    times_ms: Sequence[float], rules: Measure, missing_ms: float = 0.0, cold: Set[int] = frozenset({0})
) -> str | None:
    """Return the reason to end the warm-up after these steps, or None.

    ``missing_ms`` is the rest of the minimum time after the steps so far; it is 0 or less once that has passed.
    ``cold`` has the steps in which something was compiled, counted from 0.
    """
    n = len(times_ms)
    if missing_ms > 0:
        return None
    if not rules.warmup_auto:
        return steps_reason(rules.warmup, n, rules.min_warmup_s) if n >= rules.warmup else None
    if n < LEAST_WARMUP_STEPS:
        return None
    if stable(times_ms[-WINDOW:]):
        return f"stable over the last {WINDOW} of {n} steps"
    warm_ms = sum(time_ms for step, time_ms in enumerate(times_ms) if step not in cold)
    if warm_ms >= SETTLED_MS and not cold & {n - 1, n - 2} and _equal(*times_ms[-2:]):
        return f"the last 2 of {n} steps are within {QUARTILES_WITHIN:.0%}"
    if n >= MAX_STEPS:
        return f"not stable after {n} steps, the maximum"
    if warm_ms >= MAX_MS:
        return f"not stable after {n} steps and {MAX_MS / 1000:g} s, the maximum"
    return None


def steps_reason(planned: int, done: int, min_s: float | None) -> str:
    """Return the reason to stop after a number of steps, including those added by a minimum time."""
    return f"{done} steps, for at least {min_s:g} s" if min_s and done > planned else f"{planned} steps"


def stable(window_ms: Sequence[float]) -> bool:
    """Whether a full window has no trend: its first value isn't an outlier and its halves agree."""
    if len(window_ms) < WINDOW:
        return False
    low, _, high = _quartiles(window_ms[1:])
    if window_ms[0] > high + 1.5 * (high - low):
        return False
    return _alike(window_ms[: WINDOW // 2], window_ms[WINDOW // 2 :])


def _equal(before_ms: float, after_ms: float) -> bool:
    return abs(_change(before_ms, after_ms)) <= QUARTILES_WITHIN


def _alike(before: Sequence[float], after: Sequence[float]) -> bool:
    (low, _, high), (low_after, _, high_after) = _quartiles(before), _quartiles(after)
    return (
        _equal(low, low_after)
        and _equal(high, high_after)
        and MEAN_FALLS <= _change(fmean(before), fmean(after)) <= MEAN_RISES
    )


def _change(before: float, after: float) -> float:
    return (before - after) / after if after else 0.0


def _quartiles(values: Sequence[float]) -> list[float]:
    return quantiles(values, n=4, method="inclusive")
