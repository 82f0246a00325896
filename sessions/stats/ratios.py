"""Ratios and verdicts: the one statistical test that compares two cases.

Everything that describes a pair of cases in words uses this module: table, charts, comparison page, report,
gate and recommendations. The compared quantity is the typical step: the ratio of medians, over all rounds. The
first quartile has to agree, and the totals can veto.

There are three sources of variation: steps within a process, fresh processes of one case, and sessions. From
three rounds on, the spread between rounds covers the first two (Student's t on the logarithms of the rounds'
medians, with variances that the cases of a session share, see ``noise``). With fewer, the first comes from the
steps (order statistics of autocorrelated steps) and the second from ``noise``. Alternating rounds are
compared pair by pair, and rounds whose processes took turns are compared turn by turn. Between two sessions, an
assumed variance is added, and bounds are widened by any change in the measured peaks.
"""

from collections.abc import Callable, Iterable, Sequence
from math import ceil, comb, inf, log, sqrt
from operator import attrgetter
from statistics import fmean, geometric_mean

import msgspec
from msgspec.structs import replace

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.disturbance import Slowdown, estimate_slowdown, in_some_rounds, undisturbed
from benchtui.sessions.stats.evidence import (
    Estimate,
    alternating_rounds,
    between_sessions,
    bounds_ms,
    by_alternating,
    counted_rounds,
    difference,
    others_of_pair,
)
from benchtui.sessions.stats.noise import (
    LEAST_REPEATS,
    PACES_BY_TURNS,
    TURNS_SHARE,
    Evidence,
    Spread,
    between,
    moderated,
    pairs_by_turns,
    ratios_by_turns,
    spread_of_pairs,
)
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import (
    LEAST_ROUNDS,
    VERDICT_CONFIDENCE,
    Bounds,
    Sample,
    Statistic,
    log_mean_of_rounds,
)
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Ratio, Verdict
from benchtui.sessions.sweep import UNKNOWN

BOTH_DISTURBED = 1.1
"""Largest assumed ratio between two equally disturbed processes."""
MACHINE_SPEED = "the machine itself ran at a different speed"
"""Cause outside the cases that applies to all cases of two sessions."""


class Comparison(msgspec.Struct, frozen=True):
    """A base case, a new case and their ratios."""

    base: Result
    new: Result
    throughput: Ratio | None
    """Ratio of samples per second at the typical step."""
    latency: Ratio | None
    """Ratio of typical steps, base over new."""

    @property
    def ratio(self) -> Ratio | None:
        """Speedup of the new case per sample, or per step if a step has no samples."""
        return self.throughput or self.latency

    @property
    def verdict(self) -> Verdict:
        """Verdict on the pair."""
        return self.ratio.verdict if self.ratio else Verdict.UNSURE


def comparison(base: Result, new: Result) -> Comparison:
    """Compare two cases by throughput and latency."""
    latency = latency_ratio(base, new)
    return Comparison(base, new, _per_sample(latency, base, new), latency)


def widened_for_machine_speed(pair: Comparison, pace: tuple[float, float]) -> Comparison:
    """Widen both ratios for a change in the speed of the machine itself.

    ``pace`` is the smallest and the largest factor by which the machine became faster.
    """
    throughput, latency = (ratio and widened_for_pace(ratio, pace) for ratio in (pair.throughput, pair.latency))
    return replace(pair, throughput=throughput, latency=latency)


def widened_for_pace(ratio: Ratio, pace: tuple[float, float]) -> Ratio:
    """Widen one ratio for a change in the speed of the machine itself."""
    return ratio.widened(max(pace), 1 / min(pace), MACHINE_SPEED)


def latency_ratio(base: Evidence, new: Evidence) -> Ratio | None:
    """Return the ratio of typical steps, base over new. None if a time is missing or not positive."""
    if not _timed(base) or not _timed(new):
        return None
    ratio = _among_others(_ratio(base, new), base, new)
    return replace(ratio, unlike_files=True) if unlike_files(base, new) else ratio


def recorded_ratio(base: Evidence, new: Evidence, same_within: float) -> Ratio | None:
    """Return the speed of a new case relative to what a base recorded, by samples or by steps.

    The record is a fixed value here, so that the interval is that of the new case alone, which further rounds
    of it make as narrow as needed. Disturbances of the new case widen it, those of the record don't.
    """
    if not _timed(base) or not _timed(new):
        return None
    recorded_ms, bounds = _typical_ms(base), bounds_ms(new)
    speed = (
        bounds.over().times(recorded_ms) if bounds and 0 < bounds.sure_low <= bounds.sure_high < inf else None
    )
    rounds = len(counted_rounds(new))
    ratio = Ratio(recorded_ms / _typical_ms(new), speed, same_within=same_within, rounds=rounds)
    ratio = _disturbed(ratio, Slowdown(), slowdown(new), few=False)
    return _per_sample(ratio, base, new) or ratio


def slowdown(result: Evidence) -> Slowdown:
    """Return how much the rounds of a case that count may have been slowed down."""
    return _slowdown(result, len(result.rounds) < LEAST_ROUNDS)


def unlike_files(base: Evidence, new: Evidence) -> bool:
    """Return whether two cases of one session used different versions of files.

    Two sessions may differ in them on purpose; a comparison lists what differs.
    """
    one, other = base.case.file_changes, new.case.file_changes
    if base.session is not new.session or not (one or other):
        return False
    return set(one) != set(other) or any(in_some_rounds(mark) for mark in one)


def throughput_ratio(base: Evidence, new: Evidence) -> Ratio | None:
    """Return the ratio of samples per second at the typical step, new over base.

    The reported rates are used if a source kept no steps.
    """
    return _per_sample(latency_ratio(base, new), base, new)


def _per_sample(ratio: Ratio | None, base: Evidence, new: Evidence) -> Ratio | None:
    """Convert a ratio of steps to a ratio of samples."""
    samples = _quotient(new.case.samples_per_step, base.case.samples_per_step)
    if ratio is None or samples is None:
        return None
    per_sample = ratio.times(samples)
    reported = _quotient(_reported_rate(new.case), _reported_rate(base.case))
    return per_sample.times(reported / per_sample.value) if reported and per_sample.value else per_sample


def ratio_over_rounds(
    base: Result,
    new: Result,
    cost: Callable[[Result], float | None],
    costs_of: Callable[[Result], Iterable[float]],
) -> Ratio | None:
    """Return the ratio of a cost, base over new, with bounds over its values in the rounds, from three on.

    What disturbed the steps of a case may have changed the cost as much.
    """
    costs = cost(base), cost(new)
    if not costs[0] or not costs[1]:
        return None
    rounds = [[Statistic(value) for value in costs_of(result)] for result in (base, new)]
    return _among_others(_over_rounds(costs[0] / costs[1], rounds, base), base, new)


def memory_ratio(base: Result, new: Result) -> Ratio | None:
    """Return the ratio of peak memory, base over new. Its bounds span the peaks of the rounds."""
    one, other = base.memory_range_mb, new.memory_range_mb
    if one is None or other is None:
        return None
    (base_low, base_high), (new_low, new_high) = one, other
    low, high = base_low / new_high, base_high / new_low
    value = base_high / new_high
    return Ratio(value, Bounds(value, low, high, low, high), same_within=base.noise.same_within)


def break_even_steps(pair: Comparison) -> int | None:
    """Return the steps after which the new case's cold steps pay off; None unless it is FASTER.

    Those of a compiled base needn't be paid.
    """
    cost_ms, saved_ms = pair.new.metrics.cold_cost_ms, pair.base.typical_ms - pair.new.typical_ms
    instead_ms = pair.base.metrics.cold_cost_ms if pair.base.config.compile not in ("off", UNKNOWN) else None
    if cost_ms is None or pair.latency is None or pair.latency.verdict is not Verdict.FASTER:
        return None
    return ceil(max(cost_ms - (instead_ms or 0.0), 0.0) / saved_ms) if saved_ms > 0 else None


def matched(results: Sequence[Result], option: str, base_value: object) -> list[tuple[Result, Result]]:
    """Pair each case with the base that differs only in the option, where it has ``base_value``."""
    value_of = attrgetter(f"case.config.{option}")
    others = [row for row in results if value_of(row) != base_value]
    if not others:
        return []  # saves computing a key for each case
    bases = {row.config: row for row in reversed(results) if value_of(row) == base_value}
    wanted = ((msgspec.structs.replace(row.config, **{option: base_value}), row) for row in others)
    return [(bases[config], new) for config, new in wanted if config in bases]


GPU_CLOCKS = {"graphics_clock_mhz": "clock", "memory_clock_mhz": "memory clock"}
"""Recorded mean clocks that may explain a ratio, by field of the environment."""


def _timed(result: Evidence) -> bool:
    """Return whether the case has rounds, each with a positive median."""
    return bool(result.rounds) and all(round_.median.ms > 0 for round_ in result.rounds)


def _typical_ms(result: Evidence) -> float:
    """Return the geometric mean of the rounds' medians, which must be positive."""
    return geometric_mean(round_.median.ms for round_ in counted_rounds(result))


def _is_reported(case: CaseState) -> bool:
    """Return whether the times of a case come from a source that kept no steps."""
    return bool(case.finished and case.finished.reported and not case.steps_measured)


def _reported_rate(case: CaseState) -> float | None:
    """Return the samples per second reported by a source that kept no steps.

    None for an exported case whose session had steps: its typical step came back with the export.
    """
    if case.finished is None or case.steps_measured or case.finished.exported.get("latency_least_ms"):
        return None
    return case.finished.reported.samples_per_s if case.finished.reported else None


def mean_clock_mhz(case: CaseState, name: str) -> float | None:
    """Return a mean clock over the rounds; None if a round has no reading."""
    clocks: list[float | None] = [getattr(end.environment, name) for end in case.ends if end.environment]
    recorded = list(filter(None, clocks))
    return fmean(recorded) if recorded and len(recorded) == len(case.ends) else None


def _ratio_by_turns(base: Evidence, new: Evidence) -> Ratio | None:
    """Return the ratio of two cases by the rounds in which they took turns; None if those are too few.

    The machine's pace cancels out, so neither the spread between single processes nor the noise floor of an A/A
    pair that ran one after the other applies.
    """
    pairs = pairs_by_turns(base, new) if base.session is new.session else []
    if len(pairs) < LEAST_ROUNDS:
        return None
    ratios, pool = ratios_by_turns(pairs), base.noise.by_turns
    rest = pool.minus(spread_of_pairs(ratios, pairs))
    typical = estimate_by_turns(ratios, pool, rest)
    mean = estimate_by_turns([Statistic(one.mean.ms / other.mean.ms) for one, other in pairs], pool, rest)
    if typical is None or mean is None:
        return None
    bounds = typical.bounds()
    return Ratio(
        value=bounds.value,
        bounds=bounds,
        totals=mean.bounds(),
        same_within=base.noise.same_within,
        between=sqrt(typical.between / 2 * len(pairs)),
        moderated=base.noise.by_turns.freedom >= LEAST_REPEATS,
        rounds=len(pairs),
        by_turns=True,
    )


def estimate_by_turns(ratios: Sequence[Statistic], pool: Spread, rest: Spread) -> Estimate | None:
    """Return the mean logarithm of several ratios, with a variance that pairs of other cases share.

    ``pool`` is the spread of all pairs, and ``rest`` that of the others.
    """
    n = len(ratios)
    spread = moderated(between(ratios), pool, rest, least_known=LEAST_REPEATS, paces=PACES_BY_TURNS)
    if spread is None:
        return None
    by_turns = TURNS_SHARE * sum((ratio.error or 0.0) ** 2 for ratio in ratios) / n**2
    variance = max(spread.variance / n, by_turns)
    return Estimate(fmean(log(ratio.ms) for ratio in ratios), (Spread(variance, spread.freedom),))


def _ratio(base: Evidence, new: Evidence) -> Ratio:
    """Build a ratio of steps with all of its bounds."""
    if by_turns_ratio := _ratio_by_turns(base, new):
        return by_turns_ratio
    alternating = alternating_rounds(base, new)
    sides = alternating or (counted_rounds(base), counted_rounds(new))
    others, estimated = others_of_pair(base, new), by_alternating if alternating else difference
    typical, low, mean = (
        estimated(base, new, figures, others) for figures in zip(*map(statistics_of, sides), strict=True)
    )
    margin, rounds = max(base.noise.margin, new.noise.margin), min(map(len, sides))
    if typical is None and (separate := _if_all_steps_differ(base, new)):
        return separate
    if typical is None:
        value, reported = (
            _typical_ms(base) / _typical_ms(new),
            _is_reported(base.case) and _is_reported(new.case),
        )
        return Ratio(value, same_within=margin, rounds=rounds, reported=reported)
    floor, apart = _floor(base, new), _apart(base, new)
    bounds = typical.bounds(apart, floor)
    return Ratio(
        value=bounds.value,
        bounds=bounds,
        fast=low.bounds(apart, floor) if low else None,
        totals=mean.bounds(apart, floor) if mean else None,
        same_within=margin,
        between=sqrt(typical.between / 2 * rounds),
        moderated=base.noise.known and new.noise.known,
        assumed=typical.assumed,
        rounds=rounds,
        floor=floor,
        apart=apart,
    )


def _if_all_steps_differ(base: Evidence, new: Evidence) -> Ratio | None:
    """Return the ratio of two cases with too few steps if each step of one is longer than all of the other.

    That happens to at most 1 of 100 equal pairs (the exact rank-sum test). The bounds span all pairs of steps,
    widened by the spread between processes. None if the steps overlap, or if there are too few even for that.
    """
    sides = counted_rounds(base), counted_rounds(new)
    extremes = [[round_.extremes_ms for round_ in side if round_.extremes_ms] for side in sides]
    amounts = [sum(round_.n for round_ in side) for side in sides]
    if not all(extremes) or comb(sum(amounts), amounts[0]) < 2 / (1 - VERDICT_CONFIDENCE):
        return None
    (least, most), (new_least, new_most) = (
        (min(low for low, _ in side), max(high for _, high in side)) for side in extremes
    )
    if not (least > new_most or new_least > most) or not min(least, new_least) > 0:
        return None
    terms = [result.noise.between**2 / len(side) for result, side in zip((base, new), sides, strict=True)]
    freedom = min(result.noise.freedom(len(side)) for result, side in zip((base, new), sides, strict=True))
    floor, apart = _floor(base, new), _apart(base, new)
    around = Bounds.around(0.0, sqrt(sum(terms) + apart), freedom, floor)
    value, low, high = _typical_ms(base) / _typical_ms(new), least / new_most, most / new_least
    return Ratio(
        value=value,
        bounds=Bounds(
            value, low * around.low, high * around.high, low * around.sure_low, high * around.sure_high
        ),
        same_within=max(base.noise.margin, new.noise.margin),
        between=sqrt(sum(terms) / 2 * min(map(len, sides))),
        assumed=not (base.noise.known and new.noise.known),
        rounds=min(map(len, sides)),
        floor=floor,
        apart=apart,
    )


def statistics_of(rounds: Sequence[Sample]) -> tuple[list[Statistic], list[Statistic], list[Statistic]]:
    """Return the medians, first quartiles and means of a case's rounds, from which ratios are computed."""
    lows = [round_.low for round_ in rounds if round_.low]
    return [round_.median for round_ in rounds], lows, [round_.mean for round_ in rounds]


def _floor(base: Evidence, new: Evidence) -> float:
    """Return the larger noise floor of the two sessions."""
    return max(base.noise.floor or 0.0, new.noise.floor or 0.0)


def _apart(base: Evidence, new: Evidence) -> float:
    """Return the variance between the sessions of two cases; 0 within one session."""
    return 0.0 if base.session is new.session else between_sessions(base, new)


def _over_rounds(value: float, rounds: Sequence[Sequence[Statistic]], base: Result) -> Ratio:
    """Build a ratio from one value per round. It has no interval below three rounds."""
    few = min(map(len, rounds))
    if few < LEAST_ROUNDS or min(figure.ms for side in rounds for figure in side) <= 0:
        return Ratio(value, same_within=base.noise.margin, rounds=few)
    (one, first, first_n), (other, second, second_n) = (log_mean_of_rounds(side) for side in rounds)
    bounds = Estimate(one - other, (Spread(first, first_n), Spread(second, second_n))).bounds()
    return Ratio(bounds.value, bounds, same_within=base.noise.margin, rounds=few)


def _among_others(ratio: Ratio, base: Evidence, new: Evidence) -> Ratio:
    """Widen a ratio for disturbances and clock differences around the two cases."""
    few = ratio.rounds < LEAST_ROUNDS
    one, other = (_slowdown(result, few) for result in (base, new))
    ratio = _disturbed(ratio, one, other, few)
    if not few and base.session is new.session:
        return ratio  # rounds alternate, so a clock that differs in all of them is caused by the case itself
    for field, clock in GPU_CLOCKS.items():
        one_mhz, other_mhz = (mean_clock_mhz(result.case, field) for result in (base, new))
        if one_mhz and other_mhz and abs(other_mhz / one_mhz - 1) > MIN_EFFECT:
            pace = other_mhz / one_mhz
            why = f"the GPU's {clock} was {one_mhz:,.0f} and {other_mhz:,.0f} MHz"
            return ratio.widened(max(pace, 1.0), max(1 / pace, 1.0), why)
    return ratio


def _slowdown(result: Evidence, few: bool) -> Slowdown:
    """Return how much the rounds that count may have been slowed down."""
    clean = undisturbed(result.case, result.rounds)
    return Slowdown() if clean else estimate_slowdown(result.case, throughout=not few)


def _disturbed(ratio: Ratio, base: Slowdown, new: Slowdown, few: bool) -> Ratio:
    """Widen a ratio if either case may have been slowed down."""
    if base.unbounded or new.unbounded:
        return ratio.widened(inf, inf, *base.why, *new.why)
    rest = BOTH_DISTURBED if few and base.by > 1 and new.by > 1 else 1.0
    down, up = rest * max(base.by / new.by, 1.0), rest * max(new.by / base.by, 1.0)
    return ratio.widened(down, up, *base.why, *new.why)


def _quotient(amount: float | None, by: float | None) -> float | None:
    return amount / by if amount is not None and by is not None and by > 0 else None
