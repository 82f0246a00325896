"""Sum of a comparison: the geometric mean of the ratios of corresponding cases, with its verdict."""

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, log, prod, sqrt
from statistics import fmean, variance

import msgspec

from benchtui.sessions.stats.evidence import Estimate
from benchtui.sessions.stats.noise import Spread
from benchtui.sessions.stats.ratios import MACHINE_SPEED, Comparison, widened_for_pace
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio

LEAST_CASES = 4
"""Number of cases from which the interval follows from how their ratios differ. With three, equal cases whose
processes run at two paces are called different in 3 of 100 comparisons."""


class Overall(msgspec.Struct, frozen=True):
    """Geometric mean of the ratios of the cases that two sessions share."""

    ratio: Ratio
    cases: int
    """Number of cases in it."""
    disturbed: int
    """Number of cases left out because something outside them may explain their ratio."""
    unbounded: int
    """Number of cases left out because their ratio has no interval."""


def overall(
    pairs: Sequence[Comparison], machine_speedups: Sequence[tuple[float, float] | None]
) -> Overall | None:
    """Return the geometric mean of the ratios of all pairs; None if no pair has a positive ratio.

    Its interval follows from the differences between the ratios (Student's t on their logarithms), which hold
    the noise of every process and also what a change does to one case and not to another. What is common to
    all cases is added: the variance between two sessions, and a change in the speed of the machine. Disturbed
    cases and those without an interval are left out while there are enough others; those whose ratio isn't
    shown, while there are any others.
    """
    ratios = [pair.ratio for pair in pairs if pair.ratio and pair.ratio.value > 0]
    if not ratios:
        return None
    shown = [ratio for ratio in ratios if ratio.shown is not None] or ratios
    quiet = _enough([ratio for ratio in shown if set(ratio.outside) <= {MACHINE_SPEED}], shown)
    used = _enough([ratio for ratio in quiet if ratio.bounds], quiet)
    by_differences = partial(_by_differences, apart=max(ratio.apart for ratio in used))
    mean = _geometric_mean(used, by_differences if len(used) >= LEAST_CASES else _by_bounds)
    speedups = list(filter(None, machine_speedups))
    if speedups and len(used) >= LEAST_CASES:
        pace = min(low for low, _ in speedups), max(high for _, high in speedups)
        mean = widened_for_pace(mean, pace)
    return Overall(mean, len(used), len(ratios) - len(quiet), len(quiet) - len(used))


def overall_of_records(ratios: Sequence[Ratio]) -> Overall | None:
    """Return the geometric mean of speeds relative to recorded ones; None without any.

    Its interval follows from those of the cases, which are independent: the records are fixed values, so that
    nothing is common to all. Cases without an interval are left out while there are others.
    """
    if not ratios:
        return None
    used = [ratio for ratio in ratios if ratio.bounds] or ratios
    disturbed = sum(bool(ratio.outside) for ratio in ratios) - sum(bool(ratio.outside) for ratio in used)
    left_out = len(ratios) - len(used)
    return Overall(_geometric_mean(used, _by_errors), len(used), disturbed, left_out - disturbed)


def _enough(some: Sequence[Ratio], every: Sequence[Ratio]) -> Sequence[Ratio]:
    """Return some of the ratios if there are enough of them, else all."""
    return some if len(some) >= min(LEAST_CASES, len(every)) else every


def _geometric_mean(ratios: Sequence[Ratio], combine: Callable[[Sequence[Bounds]], Bounds]) -> Ratio:
    """Return the geometric mean of several ratios, with combined bounds. Of one it is that ratio itself."""
    if len(ratios) == 1:
        return ratios[0]
    bounds, fast, totals = (
        combine(parts) if all(parts := [getattr(ratio, name) for ratio in ratios]) else None
        for name in ("bounds", "fast", "totals")
    )
    causes = (why.partition(":")[0] for ratio in ratios for why in ratio.outside)  # without names of processes
    return Ratio(
        value=exp(fmean(log(ratio.value) for ratio in ratios)),
        bounds=bounds,
        fast=fast,
        totals=totals,
        outside=() if bounds else tuple(dict.fromkeys(causes)),
        same_within=max(ratio.same_within for ratio in ratios),
        rounds=min(ratio.rounds for ratio in ratios),
        reported=all(ratio.reported for ratio in ratios),
        unlike_files=any(ratio.unlike_files for ratio in ratios),
    )


def _by_differences(parts: Sequence[Bounds], apart: float) -> Bounds:
    """Return the bounds of the geometric mean by Student's t over the cases, and a variance common to all."""
    logs = [log(part.value) for part in parts]
    return Estimate(fmean(logs), (Spread(variance(logs) / len(logs), len(logs) - 1),)).bounds(apart)


def _by_bounds(parts: Sequence[Bounds]) -> Bounds:
    """Return the geometric mean of the bounds of a few cases. They include the variance between sessions."""
    names = Bounds.__struct_fields__
    return Bounds(*(prod(getattr(part, name) for part in parts) ** (1 / len(parts)) for name in names))


def _by_errors(parts: Sequence[Bounds]) -> Bounds:
    """Return the bounds of the geometric mean of independent cases: their errors add up by their squares."""
    center = fmean(log(part.value) for part in parts)

    def reach(name: str) -> float:
        return sqrt(sum(log(getattr(part, name) / part.value) ** 2 for part in parts)) / len(parts)

    return Bounds(
        exp(center),
        low=exp(center - reach("low")),
        high=exp(center + reach("high")),
        sure_low=exp(center - reach("sure_low")),
        sure_high=exp(center + reach("sure_high")),
    )
