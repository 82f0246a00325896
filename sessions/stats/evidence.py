"""Evidence for comparisons: the summarized rounds of a case, the noise of its session, and estimates from both.

Computed from the steps without the other metrics, because a screen needs it while cases are still finishing.
``results`` provides the same for cases with all metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from math import inf, log, sqrt
from operator import sub
from statistics import correlation, fmean, geometric_mean
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
from msgspec import structs
from msgspec.structs import replace

from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.distribution import Distribution, median, outliers, sample, slices_of
from benchtui.sessions.stats.disturbance import left_out_rounds, undisturbed
from benchtui.sessions.stats.noise import (
    LEAST_KNOWN,
    Evidence,
    Noise,
    Spread,
    is_noisier,
    kind_of_result,
    moderated,
    noise_by_kind,
    spread_by_turns,
)
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.sampling import Bounds, Sample, Statistic

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics


ALTERNATING_S = 3.0
"""Maximum seconds between the rounds of two cases that find the machine in the same state. The variance of
such a difference was 14 to 66% less than the sum of both; of rounds over 8 s apart, it was hardly less."""
LEAST_ALTERNATING = 6
"""Minimum number of alternating rounds to compare pair by pair. Fewer don't measure their spread well."""
TOGETHER = 0.9
"""Probability with which the rounds of two cases that don't vary together are recognized."""


E = TypeVar("E", bound=Evidence)


def counted(case: CaseState) -> CaseState:
    """Return a case without the rounds that don't count: those next to a neighbor, if it has others."""
    left_out = frozenset() if case.metrics else left_out_rounds(case)
    others = case.without_rounds(left_out) if left_out else case
    return others if len(others.measured) else case


def computed_metrics(case: CaseState) -> Metrics | None:
    """Return the metrics of a case if they have been computed and kept."""
    return cast("Metrics | None", case.metrics)


def outliers_of(case: CaseState, spread: Distribution | None = None) -> tuple[int, ...]:
    """Return the indices (from 0) of the outliers among the measured steps, in rounds that count.

    ``spread`` is that of all measured steps, if known.
    """
    if computed := computed_metrics(case):
        return computed.outliers
    others = counted(case)
    if others is case:
        return outliers(case.measured.wall_ms, spread)
    rounds = {round_index for round_index, _, _ in others.measured.spans()}
    spans = (range(first, end) for round_index, first, end in case.measured.spans() if round_index in rounds)
    steps = [step for span in spans for step in span]
    return tuple(steps[place] for place in outliers(others.measured.wall_ms))


def rounds_of(case: CaseState) -> tuple[Sample, ...]:
    """Return the rounds of a case from its steps, or the repeats of a source that kept none."""
    if computed := computed_metrics(case):
        return computed.rounds
    if len(case.measured):
        return tuple(_samples(counted(case)))
    reported = case.reported
    return repeats(reported) if reported else ()


def _samples(case: CaseState) -> Iterator[Sample]:
    """Yield the summary of each round with steps."""
    spans = case.measured.spans()
    ended = case.ends if len(case.ends) == len(spans) else ()
    for (number, first, end), record in zip_longest(spans, ended):
        times = case.measured.wall_ms[first:end]
        summary = sample(times)
        if summary and record and record.turns:
            summary = replace(summary, slices=slices_of(times, record.turns, number))
        if summary:
            yield summary


def medians_of(case: CaseState) -> tuple[Statistic, ...]:
    """Return only the medians of ``rounds_of``, in a fifth of the time."""
    if case.metrics or not len(case.measured):
        return tuple(round_.median for round_ in rounds_of(case))
    return tuple(round_median for times in counted(case).measured.by_round() if (round_median := median(times)))


def repeats(reported: Reported) -> tuple[Sample, ...]:
    """Return the repeats of a source that reports the mean of each but no steps."""
    whole_ms = reported.latency_mean_ms if reported.latency_median_ms is None else reported.latency_median_ms
    means_ms = reported.repeats_mean_ms or (() if whole_ms is None else (whole_ms,))
    figures = (Statistic(mean_ms) for mean_ms in means_ms)
    return tuple(Sample(n=reported.steps or 0, median=figure, low=None, mean=figure) for figure in figures)


def with_noise(evidence: Iterable[E], session: Session) -> list[E]:
    """Return the evidence of a session's cases, each with the noise estimated from all of them."""
    every = list(evidence)
    start, margin = session.start, session.same_within
    medians = ((result.case, [round_.median for round_ in result.rounds]) for result in every)
    by_kind = noise_by_kind(medians, aa_pair(every), start.process_spread, margin, start.host.virtual)
    noise = with_turns(by_kind, every)
    return [replace(result, noise=noise[kind_of_result(result)], session=session) for result in every]


def with_turns(noise_by_kind: dict[str, Noise], results: Iterable[Evidence]) -> dict[str, Noise]:
    """Return the noise of a session with that of its cases that took turns."""
    spreads = spread_by_turns(results)
    return {
        kind: replace(noise, by_turns=spreads[kind]) if kind in spreads else noise
        for kind, noise in noise_by_kind.items()
    }


def aa_pair(evidence: Sequence[E]) -> tuple[E, E] | None:
    """Return the two cases of an A/A pair, or None unless both succeeded."""
    again = next((case_evidence for case_evidence in evidence if case_evidence.config.repeat), None)
    wanted = structs.replace(again.config, repeat=0) if again else None
    first = next((case_evidence for case_evidence in evidence if case_evidence.config == wanted), None)
    return (first, again) if first and again else None


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """Mean logarithm of a case's rounds, or of a ratio, with its variances."""

    center: float
    own: tuple[Spread, ...]
    """Variances by its own rounds and steps."""
    shared: Spread = Spread()
    """Variance by a spread that applies to both cases: of the session, of the machine, or assumed."""
    assumed: bool = False
    """Whether that spread is assumed."""

    def bounds(self, apart: float = 0.0, least: float = 0.0) -> Bounds:
        """Return the bounds, with a minimum half-width, and with another known variance."""
        terms = (*self.own, self.shared)
        total = sum(term.variance for term in terms)
        weighed = sum(term.variance**2 / term.freedom for term in terms if term.variance)
        # Welch-Satterthwaite
        bounds = Bounds.around(self.center, sqrt(total), total**2 / weighed if weighed else inf, least)
        return bounds.with_error(sqrt(apart)) if apart else bounds

    @property
    def between(self) -> float:
        """Variance of the mean of several rounds."""
        return self.shared.variance + sum(spread.variance for spread in self.own)


def counted_rounds(result: Evidence) -> Sequence[Sample]:
    """Return the rounds that count: those that nothing disturbed, or all of them if each was disturbed."""
    rounds = result.rounds
    return rounds if len(rounds) < 2 else undisturbed(result.case, rounds) or rounds


def alternating_rounds(base: Evidence, new: Evidence) -> tuple[list[Sample], list[Sample]] | None:
    """Return the undisturbed rounds of two cases if they alternated; None if they didn't, or are too few."""
    amounts = [len(result.case.ends) for result in (base, new)]
    spans = [[end.measured_s for end in result.case.ends][-min(amounts) :] for result in (base, new)]
    if base.session is not new.session or min(amounts) < LEAST_ALTERNATING:
        return None
    pairs = zip(*spans, strict=True)
    if not all(one and other and _gap_s(one, other) <= ALTERNATING_S for one, other in pairs):
        return None
    by_number, new_by_number = (
        {number - amount: round_ for number, round_ in _undisturbed_rounds(result).items()}
        for result, amount in zip((base, new), amounts, strict=True)
    )
    both = sorted(by_number.keys() & new_by_number.keys())
    if len(both) < LEAST_ALTERNATING:
        return None
    return [by_number[number] for number in both], [new_by_number[number] for number in both]


def _undisturbed_rounds(result: Evidence) -> dict[int, Sample]:
    """Return the rounds that nothing disturbed by their number; empty if some of the others are missing."""
    numbers: Sequence[int] = range(len(result.case.ends))
    if len(numbers) != len(result.rounds):  # those next to a neighbor have been left out
        left_out = left_out_rounds(result.case)
        numbers = [number for number in numbers if number not in left_out]
    if len(numbers) != len(result.rounds):
        return {}
    clean = set(undisturbed(result.case, numbers) or ())
    return {number: round_ for number, round_ in zip(numbers, result.rounds, strict=True) if number in clean}


def _gap_s(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the time between the end of the earlier of two spans and the start of the later one."""
    return max(one[0], other[0]) - min(one[1], other[1])


def by_alternating(
    base: Evidence, new: Evidence, figures: Sequence[Sequence[Statistic]], others: tuple[Spread, Spread]
) -> Estimate | None:
    """Return the estimated logarithm of a ratio from alternating rounds.

    If the rounds of both cases vary together, by a one-sided test of their correlation at 10%, its variance is
    that of the differences of neighbors, as it is if the session's spread can't be shared. Otherwise these only
    know less than two cases that share it.
    """
    if not all(map(all_positive, figures)):
        return None
    logs, pool = [[log(figure.ms) for figure in side] for side in figures], base.noise.pool
    n, center = len(logs[0]), fmean(map(sub, *logs))
    if pool.has_paces or pool.freedom < n - 1 or _vary_together(*logs):
        pairs = zip(*figures, strict=True)
        ratios = [Statistic(one.ms / other.ms, _joint_error(one, other)) for one, other in pairs]
        return Estimate(center, (Spread.of(ratios).of_mean(n),))
    if pool.freedom >= LEAST_KNOWN:
        return difference(base, new, figures, others)
    return Estimate(center, (Spread(2 * pool.variance, pool.freedom).of_mean(n),))


def _vary_together(one: Sequence[float], other: Sequence[float]) -> bool:
    if min(len(set(one)), len(set(other))) < 2:
        return False
    alike, freedom = correlation(one, other), len(one) - 2
    return alike * sqrt(freedom) > student_t_quantile(TOGETHER, freedom) * sqrt(max(1 - alike**2, 0.0))


def _joint_error(one: Statistic, other: Statistic) -> float:
    return sqrt((one.error or 0.0) ** 2 + (other.error or 0.0) ** 2)


def difference(
    base: Evidence, new: Evidence, figures: Sequence[Sequence[Statistic]], others: tuple[Spread, Spread]
) -> Estimate | None:
    """Return the estimated logarithm of a ratio, base over new; None if a case has no variance.

    ``others`` is the spread of each case's session without that of the compared cases.
    """
    if not all(map(all_positive, figures)):
        return None
    one, other = map(estimate_of, figures, (base, new), others)
    if one is None or other is None:
        return None
    own = (*one.own, *other.own)
    center, assumed = one.center - other.center, one.assumed or other.assumed
    if base.session is not new.session and not (one.assumed and other.assumed):
        return Estimate(center, (*own, one.shared, other.shared), assumed=assumed)
    variance = one.shared.variance + other.shared.variance
    return Estimate(center, own, Spread(variance, max(one.shared.freedom, other.shared.freedom)), assumed)


def all_positive(figures: Sequence[Statistic]) -> bool:
    """Return whether there are figures, and all of them have a logarithm."""
    return bool(figures) and all(figure.ms > 0 for figure in figures)


def others_of_pair(base: Evidence, new: Evidence) -> tuple[Spread, Spread]:
    """Return the spread of each case's session without that of the two cases."""
    of_base = others_of(base, base, new)
    alike = base.session is new.session and base.noise == new.noise
    return of_base, of_base if alike else others_of(new, base, new)


def others_of(result: Evidence, *compared: Evidence) -> Spread:
    """Return the spread of a case's session without that of the compared cases."""
    pool = result.noise.pool
    for other in compared:
        if other.session is result.session and other.noise == result.noise and len(other.rounds) > 1:
            clean = undisturbed(other.case, other.rounds) or ()
            pool = pool.minus(Spread.of([one.median for one in clean]))
    return pool


def estimate_of(figures: Sequence[Statistic], result: Evidence, others: Spread) -> Estimate | None:
    """Return a case's mean logarithm and its variances.

    They come from its rounds, or from its steps and the spread between processes known from elsewhere.
    """
    n, noise, own = len(figures), result.noise, Spread.of(figures)
    center = fmean(log(figure.ms) for figure in figures)
    within = sum((figure.error or 0.0) ** 2 for figure in figures) / n**2
    spread = moderated(own, noise.pool, others)
    if spread is not None:
        of_mean = spread.of_mean(n)
        return Estimate(center, (Spread(max(of_mean.variance, within), of_mean.freedom),))
    if any(figure.error is None for figure in figures) and (result.case.steps_measured or not noise.known):
        return None  # too few steps, or a source with neither steps nor repeats
    between = noise.between**2
    if not noise.known or is_noisier(own, others):
        between = max(between, own.variance)
    shared = Spread(between / n, noise.freedom(n))
    return Estimate(center, (Spread(within, inf),), shared, assumed=not noise.known)


def typical_ms(case: CaseState, metrics: Metrics) -> float:
    """Return the typical step in milliseconds, which ratios are based on.

    The geometric mean of the medians of the rounds that nothing disturbed, or of all if there are none; the
    mean if a source that kept no steps reports no median.
    """
    latency = metrics.latency_ms
    whole = latency.mean if latency.median is None else latency.median
    return typical_of_rounds(case, metrics.rounds_ms) or whole


def typical_of_rounds(case: CaseState, medians: Sequence[float]) -> float | None:
    """Return the typical step from the medians of several measured rounds; None from fewer."""
    if len(medians) < 2 or not case.steps_measured or not min(medians) > 0:
        return None
    return geometric_mean(undisturbed(case, medians) or medians)


def rate_bounds(metrics: Metrics, evidence: Evidence) -> tuple[float, float] | None:
    """Return the 95% interval of samples per second, which holds another session; None if nothing bounds it."""
    means = [round_.mean for round_ in counted_rounds(evidence)]
    bounds = _bounds_of(means, evidence, between_sessions(evidence, evidence))
    rate = metrics.samples_per_s
    if bounds is None or not rate or not evidence.case.steps_measured or not bounds.low > 0:
        return None
    samples = 1000 * metrics.samples_per_step
    return min(rate, samples / bounds.high), max(rate, samples / bounds.low)


def bounds_ms(result: Evidence, *, again: bool = False) -> Bounds | None:
    """Return the bounds of a case's typical step, including process-to-process variation; None if unknown.

    With ``again``, they hold that of another session on the machine.
    """
    apart = between_sessions(result, result) if again else 0.0
    return _bounds_of([round_.median for round_ in counted_rounds(result)], result, apart)


def between_sessions(one: Evidence, other: Evidence) -> float:
    """Return the variance between the sessions of two cases."""
    return one.noise.between_sessions**2 + other.noise.between_sessions**2


def _bounds_of(figures: Sequence[Statistic], result: Evidence, apart: float) -> Bounds | None:
    estimate = estimate_of(figures, result, others_of(result, result)) if all_positive(figures) else None
    return estimate.bounds(apart) if estimate else None
