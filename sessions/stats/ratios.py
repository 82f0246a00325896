"""Ratios and verdicts: the one statistical test that compares two cases.

Everything that describes a pair of cases in words uses this module: table, charts, comparison page, report,
gate and recommendations. The compared quantity is the typical step: the ratio of medians, over rounds where
there are several. The first quartile has to agree, and the totals can veto.

There are three sources of variation: steps within a process, fresh processes of one case, and sessions. From
three rounds on, their spread covers the first two (Welch's t on the logarithms of the rounds' medians). With
fewer, the first comes from the steps (order statistics of autocorrelated steps) and the second from ``noise``.
Between two sessions, an assumed variance is added, and bounds are widened by any change in the measured peaks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from math import ceil, inf, log, sqrt
from statistics import fmean, geometric_mean

import msgspec

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.disturbance import Slowdown, estimate_slowdown
from benchtui.sessions.stats.evidence import Sampled
from benchtui.sessions.stats.noise import BETWEEN_SESSIONS
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import (
    CONFIDENCE,
    LEAST_ROUNDS,
    VERDICT_CONFIDENCE,
    Bounds,
    Statistic,
    log_mean_of_rounds,
)
from benchtui.sessions.stats.student_t import quantile

MIN_EFFECT = 0.005
"""Distance from 1 that a whole interval must keep for FASTER or SLOWER. Less isn't worth reporting."""
MOST_ROUNDS = 100
"""Maximum number of rounds to recommend."""
BOTH_DISTURBED = 1.1
"""How many times as fast a disturbed process may be as another that was equally disturbed."""


class Verdict(StrEnum):
    """Conclusion that a ratio allows."""

    FASTER = "faster"
    SLOWER = "slower"
    """The whole 99% interval lies beyond 0.5%, for typical and for fast steps."""
    SAME = "same"
    """The whole 95% interval lies within the margin of equivalence."""
    UNSURE = "unsure"
    """None of the above."""


class Doubt(StrEnum):
    """Reason for an UNSURE verdict."""

    NO_INTERVAL = "no interval"
    """Too few steps, or a source that kept none."""
    WIDE = "wide"
    """The interval allows more than one verdict."""
    STEPS = "steps"
    """Typical and fast steps disagree."""
    TOTALS = "totals"
    """Typical steps and the total time of all steps disagree."""
    OUTSIDE = "outside"
    """Something outside the cases may explain the difference."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speedup of a new case over its base; above 1 it is faster."""

    value: float
    bounds: Bounds | None = None
    """Ratio of typical steps with its intervals, widened by the effects in ``outside``."""
    fast: Bounds | None = None
    """Ratio of first quartiles; None if no steps were kept."""
    totals: Bounds | None = None
    """Ratio of mean steps, which determine throughput over all steps."""
    inner: Bounds | None = None
    """Bounds before widening; None if nothing outside the cases widened them."""
    outside: tuple[str, ...] = ()
    """Causes outside the two cases that may explain a difference."""
    same_within: float = 0.0
    """Margin of equivalence."""
    between: float | None = None
    """Relative standard deviation between processes behind the bounds."""
    rounds: int = 0
    """Rounds of the case with fewer."""
    floor: float = 0.0
    """Minimum half-width in log units, from the session's noise floor. More rounds don't reduce it."""
    apart: float = 0.0
    """Variance between two sessions. More rounds don't reduce it."""

    @property
    def low(self) -> float | None:
        """Lower bound of the 95% interval; None without an interval."""
        return self.bounds.low if self.bounds else None

    @property
    def high(self) -> float | None:
        """Upper bound of the 95% interval; None without an interval."""
        return self.bounds.high if self.bounds else None

    @property
    def verdict(self) -> Verdict:
        """Verdict that the bounds support; UNSURE if there is a doubt."""
        return Verdict.UNSURE if self.doubt else _word(self.bounds, self.same_within)

    @property
    def doubt(self) -> Doubt | None:
        """Reason for an UNSURE verdict; None for any other."""
        if self.bounds is None:
            return Doubt.NO_INTERVAL
        own, margin = _word(self.bounds, self.same_within), self.same_within
        if own is Verdict.UNSURE:
            widened = self.inner is not None and _word(self.inner, margin) is not Verdict.UNSURE
            return Doubt.OUTSIDE if widened else Doubt.WIDE
        if self.fast is not None and (found := _witnessed(own, self.fast, margin)):
            return found
        if self.totals is not None and _contradicts(own, self.totals, margin):
            return Doubt.TOTALS
        return None

    @property
    def contested(self) -> bool:
        """Whether the interval alone would give a verdict, but something else contradicts it."""
        return self.doubt in (Doubt.STEPS, Doubt.TOTALS, Doubt.OUTSIDE)

    @property
    def resolution(self) -> float | None:
        """Smallest difference that would have been detected, as a share (0.38 is 38%)."""
        if self.bounds is None or not self.value > 0 or not self.bounds.sure_low > 0:
            return None
        sure = max(self.bounds.sure_high / self.value, self.value / self.bounds.sure_low)
        return sure * (1 + MIN_EFFECT) - 1

    @property
    def rounds_wanted(self) -> int | None:
        """Rounds of each case that would decide a ratio like this one; None if no number would.

        More rounds don't help if something outside the cases may explain the difference.
        """
        if self.doubt is not Doubt.WIDE or self.outside or not self.between or not self.value > 0:
            return None
        off, margin = abs(log(self.value)), log(1 + self.same_within)
        for rounds in range(max(LEAST_ROUNDS, self.rounds + 1), MOST_ROUNDS + 1):
            error = sqrt(self.between**2 * 2 / rounds + self.apart)
            half, sure = (
                max(self.floor, quantile((1 + each) / 2, 2 * rounds - 2) * error)
                for each in (CONFIDENCE, VERDICT_CONFIDENCE)
            )
            if off - sure > log(1 + MIN_EFFECT) or off + half < margin:
                return rounds
        return None

    def times(self, factor: float) -> "Ratio":
        """Return the ratio for this many times the work."""

        def scaled(bounds: Bounds | None) -> Bounds | None:
            return bounds.times(factor) if bounds else None

        return Ratio(  # ``dataclasses.replace`` takes twice as long
            value=self.value * factor,
            bounds=scaled(self.bounds),
            fast=scaled(self.fast),
            totals=scaled(self.totals),
            inner=scaled(self.inner),
            outside=self.outside,
            same_within=self.same_within,
            between=self.between,
            rounds=self.rounds,
            floor=self.floor,
            apart=self.apart,
        )

    def widened(self, down: float, up: float, *why: str) -> "Ratio":
        """Return the ratio with its bounds widened for a cause outside the cases.

        ``down`` and ``up`` are the most by which that cause may have changed the ratio in either direction.
        """
        if self.bounds is None or max(down, up) <= 1:
            return self

        def wide(bounds: Bounds | None) -> Bounds | None:
            return bounds.wider(max(down, 1.0), max(up, 1.0)) if bounds else None

        return replace(
            self,
            bounds=wide(self.bounds),
            fast=wide(self.fast),
            totals=wide(self.totals),
            inner=self.inner or self.bounds,
            outside=tuple(dict.fromkeys((*self.outside, *why))),
        )


@dataclass(frozen=True, slots=True)
class Comparison:
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
    down, up = max(pace), 1 / min(pace)
    why = "the machine itself ran at another pace"
    throughput, latency = (ratio and ratio.widened(down, up, why) for ratio in (pair.throughput, pair.latency))
    return replace(pair, throughput=throughput, latency=latency)


def latency_ratio(base: Sampled, new: Sampled) -> Ratio | None:
    """Return the ratio of typical steps, base over new. None if a time is missing or not positive."""
    return _among_others(_ratio(base, new), base, new) if _timed(base) and _timed(new) else None


def throughput_ratio(base: Sampled, new: Sampled) -> Ratio | None:
    """Return the ratio of samples per second at the typical step, new over base.

    The reported rates are used where a source kept no steps.
    """
    return _per_sample(latency_ratio(base, new), base, new)


def outer_latency_ratio(base: Sampled, new: Sampled) -> Ratio | None:
    """Return the ratio of typical steps with limits that no bounds of ``latency_ratio`` exceed.

    It takes a third of the time. If it is FASTER, so is the other. None if there are no such limits.
    """
    ratio = _outer_ratio(base, new) if _timed(base) and _timed(new) else None
    return ratio and _among_others(ratio, base, new)


def outer_throughput_ratio(base: Sampled, new: Sampled) -> Ratio | None:
    """Return the same for ``throughput_ratio``."""
    return _per_sample(outer_latency_ratio(base, new), base, new)


def _per_sample(ratio: Ratio | None, base: Sampled, new: Sampled) -> Ratio | None:
    """Convert a ratio of steps to a ratio of samples."""
    samples = _quotient(new.case.samples_per_step, base.case.samples_per_step)
    if ratio is None or samples is None:
        return None
    found = ratio.times(samples)
    told = _quotient(_told_rate(new.case), _told_rate(base.case))
    return found.times(told / found.value) if told and found.value else found


def energy_ratio(base: Result, new: Result) -> Ratio | None:
    """Return the ratio of samples per joule, new over base; bounded from three rounds on."""
    costs = base.metrics.energy_per_sample_j, new.metrics.energy_per_sample_j
    if not costs[0] or not costs[1]:
        return None
    rounds = [[Statistic(each) for each in result.metrics.rounds_energy_j] for result in (base, new)]
    return _over_rounds(costs[0] / costs[1], rounds, base)


def steadiness_ratio(base: Result, new: Result) -> Ratio | None:
    """Return the ratio of jitter, base over new; bounded from three rounds on."""
    jitter = base.metrics.latency_ms.jitter_percent, new.metrics.latency_ms.jitter_percent
    if not jitter[0] or not jitter[1]:
        return None
    rounds = [[Statistic(each.jitter) for each in result.rounds if each.jitter] for result in (base, new)]
    return _over_rounds(jitter[0] / jitter[1], rounds, base)


def memory_ratio(base: Result, new: Result) -> Ratio | None:
    """Return the ratio of peak memory, base over new. Its bounds span the peaks of the rounds."""
    one, other = base.memory_range_mb, new.memory_range_mb
    if one is None or other is None or not min(one[0], other[0]) > 0:
        return None
    (base_low, base_high), (new_low, new_high) = one, other
    low, high = base_low / new_high, base_high / new_low
    value = base_high / new_high
    return Ratio(value, Bounds(value, low, high, low, high), same_within=base.noise.same_within)


def bounds_ms(result: Sampled) -> Bounds | None:
    """Return the bounds of a case's typical step, process-to-process variation included; None if unknown."""
    figures = [each.median for each in result.rounds]
    part = _part(figures, result) if figures and min(each.ms for each in figures) > 0 else None
    if part is None:
        return None
    center, terms = part
    return Bounds.around(center, *_error(terms))


def cold_cost_ms(result: Result) -> float | None:
    """Return the time of the cold steps beyond steady ones. With ``compile``, that is the compile time."""
    return result.metrics.cold_cost_ms


def break_even_steps(pair: Comparison) -> int | None:
    """Return the steps after which the new case's cold steps pay off; None unless it is FASTER."""
    cost_ms, saved_ms = cold_cost_ms(pair.new), pair.base.typical_ms - pair.new.typical_ms
    if cost_ms is None or pair.latency is None or pair.latency.verdict is not Verdict.FASTER:
        return None
    return ceil(cost_ms / saved_ms) if saved_ms > 0 else None


def pairs(results: Iterable[Result], option: str, base_value: object) -> list[Comparison]:
    """Pair each case with the base that differs only in the option, where it has ``base_value``."""
    rows = tuple(results)
    bases = {result.config: result for result in reversed(rows) if getattr(result.config, option) == base_value}
    wanted = ((msgspec.structs.replace(row.config, **{option: base_value}), row) for row in rows)
    return [
        comparison(bases[config], new)
        for config, new in wanted
        if config in bases and getattr(new.config, option) != base_value
    ]


_Terms = list[tuple[float, float]]
"""Variances of logarithms, each with its degrees of freedom."""


def _timed(result: Sampled) -> bool:
    """Return whether the case has rounds, each with a positive median."""
    return bool(result.rounds) and all(each.median.ms > 0 for each in result.rounds)


def _typical_ms(result: Sampled) -> float:
    """Return the geometric mean of the rounds' medians, all of which are positive."""
    return geometric_mean(each.median.ms for each in result.rounds)


def _told_rate(case: CaseState) -> float | None:
    """Return the samples per second reported by a source that kept no steps."""
    reported = case.finished.reported if case.finished and not case.steps_measured else None
    return reported.samples_per_s if reported else None


def _mean_clock_mhz(case: CaseState) -> float | None:
    """Return the GPU's mean clock over the rounds; None if a round has no reading."""
    clocks = [end.environment.sm_clock_mhz for end in case.ends if end.environment]
    known = [clock for clock in clocks if clock]
    return fmean(known) if known and len(known) == len(case.ends) else None


def _ratio(base: Sampled, new: Sampled) -> Ratio:
    """Build a ratio of steps with all of its bounds."""
    medians, lows, means = _figures(base, new)
    typical = _bounds(base, new, medians)
    if typical is None:
        margin = max(base.noise.margin, new.noise.margin)
        value = _typical_ms(base) / _typical_ms(new)
        return Ratio(value, same_within=margin, rounds=_rounds(base, new))
    return Ratio(
        value=typical[0].value,
        bounds=typical[0],
        fast=_first(_bounds(base, new, lows)),
        totals=_first(_bounds(base, new, means)),
        same_within=max(base.noise.margin, new.noise.margin),
        between=typical[1],
        rounds=_rounds(base, new),
        floor=_floor(base, new),
        apart=_apart(base, new),
    )


def _figures(base: Sampled, new: Sampled) -> tuple[list[list[Statistic]], ...]:
    """Return the medians, first quartiles and means of the rounds of both cases."""
    cases = (base.rounds, new.rounds)
    medians = [[each.median for each in rounds] for rounds in cases]
    lows = [[each.low for each in rounds if each.low] for rounds in cases]
    return medians, lows, [[each.mean for each in rounds] for rounds in cases]


def _outer_ratio(base: Sampled, new: Sampled) -> Ratio | None:
    """Build a ratio whose bounds enclose those of medians, quartiles and means; None if one has no bounds."""
    medians, lows, means = _figures(base, new)
    limits = [_limits(base, new, each) for each in ((medians, lows, means) if any(lows) else (medians, means))]
    known = [each for each in limits if each]
    if len(known) < len(limits):
        return None
    center = known[0][0]
    reach = max(abs(each - center) + half for each, half in known)
    bounds = Bounds.around(center, 0.0, inf, reach)
    return Ratio(bounds.value, bounds, same_within=max(base.noise.margin, new.noise.margin))


def _limits(base: Sampled, new: Sampled, figures: Sequence[Sequence[Statistic]]) -> tuple[float, float] | None:
    """Return the logarithm of a ratio and a limit to half its 99% interval; None for a ratio without one.

    A sum has at least as many degrees of freedom as the term with the fewest.
    """
    found = _terms(base, new, figures)
    if found is None:
        return None
    center, terms = found
    variance = sum(each for each, _ in terms) + _apart(base, new)
    return center, max(_floor(base, new), _longest(min(freedom for _, freedom in terms)) * sqrt(variance))


@cache
def _longest(freedom: float) -> float:
    """Return a limit to the quantile for these degrees of freedom or more, with room for approximations."""
    return 1.001 * quantile((1 + VERDICT_CONFIDENCE) / 2, freedom)


def _first(found: tuple[Bounds, float] | None) -> Bounds | None:
    return found[0] if found else None


def _rounds(base: Sampled, new: Sampled) -> int:
    return min(len(base.rounds), len(new.rounds))


def _bounds(base: Sampled, new: Sampled, figures: Sequence[Sequence[Statistic]]) -> tuple[Bounds, float] | None:
    """Return the bounds of a ratio, base over new, and the process-to-process spread behind them."""
    found = _terms(base, new, figures)
    if found is None:
        return None
    center, terms = found
    between = sqrt(sum(variance for variance, _ in terms) / 2 * len(figures[0]))
    terms.append((_apart(base, new), inf))
    return Bounds.around(center, *_error(terms), _floor(base, new)), between


def _terms(base: Sampled, new: Sampled, figures: Sequence[Sequence[Statistic]]) -> tuple[float, _Terms] | None:
    """Return the logarithm of a ratio and the variances of both cases; None if one has none."""
    if not all(figures) or any(each.ms <= 0 for side in figures for each in side):
        return None
    own = min(map(len, figures)) >= LEAST_ROUNDS
    one, other = _part(figures[0], base, own), _part(figures[1], new, own)
    return (one[0] - other[0], [*one[1], *other[1]]) if one and other else None


def _floor(base: Sampled, new: Sampled) -> float:
    """Return the larger noise floor of the two sessions."""
    return max(base.noise.floor or 0.0, new.noise.floor or 0.0)


def _apart(base: Sampled, new: Sampled) -> float:
    """Return the variance between the sessions of two cases; 0 within one session."""
    return 0.0 if base.session is new.session else 2 * BETWEEN_SESSIONS**2


def _part(figures: Sequence[Statistic], result: Sampled, own: bool = True) -> tuple[float, _Terms] | None:
    """Return a case's mean logarithm and its variances.

    They come from its rounds, or from its steps and the machine's noise. ``own`` says whether the rounds may be
    used on their own if there are enough of them.
    """
    n, noise = len(figures), result.noise
    if own and n >= LEAST_ROUNDS:
        center, variance, freedom = log_mean_of_rounds(figures)
        return center, [(variance, freedom)]
    center = within = 0.0
    for each in figures:
        center += log(each.ms)
        if each.error is not None:
            within += each.error**2
        elif result.case.steps_measured or not noise.measured:
            return None  # too few steps, or a source with neither steps nor repeats
    return center / n, [(within / n**2, inf), (noise.between**2 / n, noise.freedom)]


def _error(terms: _Terms) -> tuple[float, float]:
    """Return the standard error of a sum, and its degrees of freedom (Welch-Satterthwaite)."""
    total = weighed = 0.0
    for variance, freedom in terms:
        total += variance
        weighed += variance**2 / freedom
    return sqrt(total), total**2 / weighed if weighed else inf


def _over_rounds(value: float, rounds: Sequence[Sequence[Statistic]], base: Result) -> Ratio:
    """Build a ratio from one value per round. It has no interval below three rounds."""
    if min(map(len, rounds)) < LEAST_ROUNDS or min(each.ms for side in rounds for each in side) <= 0:
        return Ratio(value, same_within=base.noise.margin)
    (one, first, first_n), (other, second, second_n) = (log_mean_of_rounds(side) for side in rounds)
    bounds = Bounds.around(one - other, *_error([(first, first_n), (second, second_n)]))
    return Ratio(bounds.value, bounds, same_within=base.noise.margin, rounds=min(map(len, rounds)))


def _word(bounds: Bounds | None, same_within: float) -> Verdict:
    """Return the verdict that one set of bounds supports."""
    if bounds is None:
        return Verdict.UNSURE
    if bounds.sure_low > 1 + MIN_EFFECT:
        return Verdict.FASTER
    if bounds.sure_high < 1 / (1 + MIN_EFFECT):
        return Verdict.SLOWER
    inside = bounds.low >= 1 / (1 + same_within) and bounds.high <= 1 + same_within
    return Verdict.SAME if inside else Verdict.UNSURE


def _witnessed(own: Verdict, witness: Bounds, same_within: float) -> Doubt | None:
    """Return the doubt that fast steps cast on a verdict: STEPS if they disagree, WIDE if they are unsure."""
    word = _word(witness, same_within)
    if own is Verdict.SAME:
        within = 1 / (1 + same_within) <= witness.value <= 1 + same_within
        return Doubt.STEPS if word in (Verdict.FASTER, Verdict.SLOWER) or not within else None
    if word is own:
        return None
    alike = witness.value > 1 + MIN_EFFECT if own is Verdict.FASTER else witness.value < 1 / (1 + MIN_EFFECT)
    return Doubt.WIDE if word is Verdict.UNSURE and alike else Doubt.STEPS


def _contradicts(own: Verdict, totals: Bounds, same_within: float) -> bool:
    """Return whether the total time contradicts a verdict by more than the margin of equivalence."""
    faster, slower = totals.value > 1 + same_within, totals.value < 1 / (1 + same_within)
    against = {Verdict.FASTER: slower, Verdict.SLOWER: faster, Verdict.SAME: faster or slower}
    return against.get(own, False)


def _among_others(ratio: Ratio, base: Sampled, new: Sampled) -> Ratio:
    """Widen a ratio for disturbances and clock differences around the two cases."""
    few = _rounds(base, new) < LEAST_ROUNDS
    one, other = (estimate_slowdown(each.case, throughout=not few) for each in (base, new))
    ratio = _disturbed(ratio, one, other, few)
    if not few and base.session is new.session:
        return ratio  # rounds alternate: the case itself causes a clock that differs in all of them
    clocks = _mean_clock_mhz(base.case), _mean_clock_mhz(new.case)
    if clocks[0] and clocks[1] and abs(clocks[1] / clocks[0] - 1) > MIN_EFFECT:
        pace = clocks[1] / clocks[0]
        why = f"the GPU's clock was {clocks[0]:,.0f} and {clocks[1]:,.0f} MHz"
        return ratio.widened(max(pace, 1.0), max(1 / pace, 1.0), why)
    return ratio


def _disturbed(ratio: Ratio, base: Slowdown, new: Slowdown, few: bool) -> Ratio:
    """Widen a ratio if either case may have been slowed down."""
    if not base.by > 1 and not new.by > 1:
        return ratio
    rest = BOTH_DISTURBED if few and base.by > 1 and new.by > 1 else 1.0
    down, up = rest * max(base.by / new.by, 1.0), rest * max(new.by / base.by, 1.0)
    return ratio.widened(down, up, *base.why, *new.why)


def _quotient(amount: float | None, by: float | None) -> float | None:
    return amount / by if amount is not None and by is not None and by > 0 else None
