"""What a case's steps amount to: latency with its spread, throughput as totals over totals, parts of a step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, sqrt

import numpy as np

from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.stats.evidence import repeats, rounds_of
from benchtui.sessions.stats.outliers import outliers
from benchtui.sessions.stats.sampling import Figure, Sample, interval
from benchtui.sessions.stats.steadiness import Unsteady, unsteady

LEAST_FOR_INTERVAL = 6
LEAST_FOR_P90 = 20
LEAST_FOR_P95 = 40
LEAST_FOR_P99 = 100
"""Steps below which a percentile would be one of the last values and little else, and isn't given."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A sample of times and its spread; None where there are too few values to say."""

    n: int
    mean: float
    median: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    std: float | None = None
    """Standard deviation of the sample (n - 1)."""
    low: float | None = None
    high: float | None = None
    """95% interval of the median. Of one process it covers that process alone: order statistics of its steps.
    Of two rounds it holds both their intervals, and from three on it is that of their medians."""
    least: float | None = None
    q3: float | None = None
    """The third quartile; None where there is no interval either."""
    most: float | None = None

    @property
    def interval_percent(self) -> float | None:
        """Half the width of the 95% interval over the median, in percent."""
        if self.low is None or self.high is None or not self.median:
            return None
        return 50 * (self.high - self.low) / self.median

    @property
    def jitter_percent(self) -> float | None:
        """Standard deviation over the mean, in percent."""
        return 100 * self.std / self.mean if self.std is not None and self.mean else None


@dataclass(frozen=True, slots=True)
class Metrics:
    """The figures of one case. Times in milliseconds, rates in 1/s; None where nothing says."""

    latency_ms: Distribution
    """A whole step, tokenizing included."""
    device_ms: Distribution | None
    parts_ms: dict[str, Distribution]
    samples_per_s: float | None
    """All samples over the time of all steps."""
    tokens_per_s: float | None
    """Real tokens, by the attention mask."""
    padded_tokens_per_s: float | None
    """Tokens with the padding that the model computed too."""
    first_step_ms: float | None
    """The very first step of the worker, warm-up included; with compiling it carries the compiler's time."""
    cold_cost_ms: float | None
    """What the first step took beyond a steady one; with compiling that is the compiler's time."""
    rounds_ms: tuple[float, ...]
    """Median step of each round, its mean where no steps were kept; empty where there was but one."""
    rounds: tuple[Sample, ...]
    """What each round's steps say, or each repeat of a source that kept none; what cases are compared by."""
    between_rounds_percent: float | None
    """Range of the rounds' medians over the median of all steps, in percent."""
    outliers: tuple[int, ...]
    """Steps, counted from 0, so far off that something else must have happened; they stay in all figures."""
    mean_power_w: float | None
    energy_per_sample_j: float | None
    rounds_energy_j: tuple[float, ...]
    """Energy of a sample in each round; empty where there was but one, or not every one had a figure."""
    samples_per_step: int
    samples_per_s_low: float | None = None
    samples_per_s_high: float | None = None
    """95% interval of the throughput, by the mean step; it holds the throughput itself."""
    energy_per_sample_low_j: float | None = None
    energy_per_sample_high_j: float | None = None
    """95% interval of the energy of a sample over the rounds, from three on."""
    time_to_first_token_ms: Distribution | None = None
    """The prefill of a generation: one pass over the prompts, up to the first new token of each."""
    time_per_output_token_ms: Distribution | None = None
    """Decoding, over the new tokens after the first; all samples of a batch get theirs at once."""
    new_tokens_per_s: float | None = None
    """Generated tokens alone, over the time of whole steps."""
    loss: float | None = None
    """Of the last measured training step; None where it was no finite number."""
    warmup_steps: int | None = None
    unsteady: Unsteady | None = None
    """A drift within a round, or two kinds of steps, where there is one."""


def distribution(values: Sequence[float]) -> Distribution | None:
    """The spread of a sample of times, or None of an empty one."""
    return _distribution(_ordered(values)) if len(values) else None


def _distribution(ordered: np.ndarray) -> Distribution:
    n = len(ordered)
    low, high = _median_interval(ordered)
    return Distribution(
        n=n,
        mean=float(ordered.mean()),
        median=_percentile(ordered, 50, 1),
        p90=_percentile(ordered, 90, LEAST_FOR_P90),
        p95=_percentile(ordered, 95, LEAST_FOR_P95),
        p99=_percentile(ordered, 99, LEAST_FOR_P99),
        std=float(ordered.std(ddof=1)) if n > 1 else None,
        low=low,
        high=high,
        least=float(ordered[0]),
        q3=_percentile(ordered, 75, LEAST_FOR_INTERVAL),
        most=float(ordered[-1]),
    )


def metrics(case: CaseState) -> Metrics | None:
    """The figures of a case from its measured steps, or, where none were kept, as its source reported them."""
    if case.figures:
        return case.figures
    return _measured(case) if len(case.measured) else _reported(case)


def _measured(case: CaseState) -> Metrics:
    steps = case.measured
    ordered = _ordered(steps.wall_ms)
    rounds = rounds_of(case)
    latency = over_rounds_too(_distribution(ordered), rounds)
    total_s = latency.mean * latency.n / 1000
    samples = len(steps) * case.samples_per_step
    new_tokens = case.prepared.new_tokens if case.prepared else None
    parts = {part: spread for part, times in steps.parts_ms.items() if (spread := distribution(times))}
    mean_power_w, energy_j = _power_and_energy(case)
    first_step_ms = next(iter(case.warmup.wall_ms or steps.wall_ms))
    rounds_ms = tuple(each.median.ms for each in rounds) if len(rounds) > 1 else ()
    samples_per_s = _ratio(samples or None, total_s)
    low, high = _rate_interval(samples_per_s, rounds, case.samples_per_step)
    rounds_energy_j = _energy_by_round(case)
    energy = interval([Figure(each) for each in rounds_energy_j])
    return Metrics(
        latency_ms=latency,
        device_ms=distribution(steps.device_ms),
        parts_ms=parts,
        samples_per_s=samples_per_s,
        samples_per_s_low=low,
        samples_per_s_high=high,
        tokens_per_s=_ratio(_total(steps.tokens, len(steps)), total_s),
        padded_tokens_per_s=_ratio(_padded_tokens(case, samples), total_s),
        first_step_ms=first_step_ms,
        cold_cost_ms=_beyond(first_step_ms, latency.median),
        rounds_ms=rounds_ms,
        rounds=rounds,
        between_rounds_percent=_range_percent(rounds_ms, latency.median),
        outliers=outliers(steps.wall_ms, ordered),
        mean_power_w=mean_power_w,
        energy_per_sample_j=_ratio(energy_j, samples),
        rounds_energy_j=rounds_energy_j,
        energy_per_sample_low_j=energy.low if energy else None,
        energy_per_sample_high_j=energy.high if energy else None,
        samples_per_step=case.samples_per_step,
        time_to_first_token_ms=parts.get("prefill") if new_tokens else None,
        time_per_output_token_ms=_per_output_token(steps, new_tokens),
        new_tokens_per_s=_ratio(samples * new_tokens, total_s) if new_tokens else None,
        loss=_last_loss(steps),
        warmup_steps=len(case.warmup),
        unsteady=unsteady(steps.by_round()),
    )


def _ordered(values: Sequence[float]) -> np.ndarray:
    return np.sort(np.asarray(values, dtype=float))


def _power_and_energy(case: CaseState) -> tuple[float | None, float | None]:
    """Mean power in watts and energy in joules over the measured steps."""
    energy = case.finished.energy if case.finished else None
    return (energy.mean_power_w, energy.energy_j) if energy else (None, None)


def _beyond(first_ms: float, steady_ms: float | None) -> float | None:
    """What a first step takes beyond a steady one."""
    return None if steady_ms is None else max(first_ms - steady_ms, 0.0)


def _last_loss(steps: Columns) -> float | None:
    return steps.loss[-1] if steps.loss and isfinite(steps.loss[-1]) else None


def _total(counts: Sequence[int], steps: int) -> float | None:
    """All counts together, or None where not every step has one."""
    return float(np.sum(counts, dtype=float)) if len(counts) == steps else None


def _padded_tokens(case: CaseState, samples: int) -> float | None:
    """Tokens with the padding, by the count of each step or, where none was kept, by the sequence length."""
    steps = case.measured
    if len(steps.padded_tokens) or len(steps.tokens) != len(steps) or case.config.padding != "max":
        return _total(steps.padded_tokens, len(steps))
    return float(samples) * case.config.sequence_length


def _per_output_token(steps: Columns, new_tokens: int | None) -> Distribution | None:
    if not new_tokens or new_tokens < 2:
        return None
    return distribution([time_ms / (new_tokens - 1) for time_ms in steps.parts_ms.get("decode", ())])


def _reported(case: CaseState) -> Metrics | None:
    reported = case.finished.reported if case.finished else None
    if reported is None or reported.latency_mean_ms is None:
        return None
    rounds_ms = reported.repeats_mean_ms
    return Metrics(
        latency_ms=_told(reported, reported.latency_mean_ms),
        device_ms=None,
        parts_ms={},
        samples_per_s=reported.samples_per_s,
        tokens_per_s=reported.tokens_per_s,
        padded_tokens_per_s=reported.padded_tokens_per_s,
        first_step_ms=None,
        cold_cost_ms=None,
        rounds_ms=rounds_ms,
        rounds=repeats(reported),
        between_rounds_percent=_range_percent(rounds_ms, reported.latency_mean_ms),
        outliers=(),
        mean_power_w=reported.mean_power_w,
        energy_per_sample_j=_ratio(reported.mean_power_w, reported.samples_per_s or 0.0),
        rounds_energy_j=(),
        samples_per_step=case.samples_per_step,
    )


def _told(reported: Reported, mean_ms: float) -> Distribution:
    """A spread by the word of its source, as far as so few steps may have a percentile here too."""
    n = reported.steps or 0
    return Distribution(
        n=n,
        mean=mean_ms,
        median=reported.latency_median_ms,
        p90=reported.latency_p90_ms if n >= LEAST_FOR_P90 else None,
        p95=reported.latency_p95_ms if n >= LEAST_FOR_P95 else None,
        p99=reported.latency_p99_ms if n >= LEAST_FOR_P99 else None,
        std=reported.latency_std_ms,
    )


def over_rounds_too(found: Distribution, rounds: Sequence[Sample]) -> Distribution:
    """A distribution whose interval knows of the rounds that the steps came from."""
    bounds = interval([each.median for each in rounds]) if len(rounds) > 1 else None
    if bounds is None or found.median is None:
        return found
    return replace(found, low=min(bounds.low, found.median), high=max(bounds.high, found.median))


def _rate_interval(
    rate: float | None, rounds: Sequence[Sample], samples: int
) -> tuple[float | None, float | None]:
    """95% interval of a throughput, by the mean steps of the rounds."""
    bounds = interval([each.mean for each in rounds])
    if bounds is None or rate is None or not bounds.low > 0:
        return None, None
    return min(rate, 1000 * samples / bounds.high), max(rate, 1000 * samples / bounds.low)


def _energy_by_round(case: CaseState) -> tuple[float, ...]:
    """Joules a sample in each round; that of the last is what the others leave of the whole."""
    whole, ended = case.finished.energy if case.finished else None, case.rounds
    known = [each.energy.energy_j for each in ended if each.energy and each.energy.energy_j is not None]
    if not ended or len(known) < len(ended) or whole is None or whole.energy_j is None:
        return ()
    steps = [case.measured.of_round(each.round) for each in ended]
    last = len(case.measured) - sum(steps)
    joules, counts = [*known, whole.energy_j - sum(known)], [*steps, last]
    if min(*counts, *joules, case.samples_per_step) <= 0:
        return ()
    return tuple(joule / (count * case.samples_per_step) for joule, count in zip(joules, counts, strict=True))


def _range_percent(rounds_ms: tuple[float, ...], middle_ms: float | None) -> float | None:
    return 100 * (max(rounds_ms) - min(rounds_ms)) / middle_ms if rounds_ms and middle_ms else None


def _ratio(amount: float | None, total: float) -> float | None:
    return amount / total if amount is not None and total > 0 else None


def _percentile(ordered: np.ndarray, percent: float, least: int) -> float | None:
    """Between the two nearest ranks, as numpy's does; that one would order a copy of all values once more."""
    if len(ordered) < least:
        return None
    rank = (len(ordered) - 1) * percent / 100
    below, above = ordered[floor(rank)], ordered[ceil(rank)]
    return float(below + (above - below) * (rank - floor(rank)))


def _median_interval(ordered: np.ndarray) -> tuple[float | None, float | None]:
    """The 95% interval of the median from the sorted values."""
    ranks = median_ranks(len(ordered))
    return (None, None) if ranks is None else (float(ordered[ranks[0]]), float(ordered[ranks[1]]))


def median_ranks(n: int) -> tuple[int, int] | None:
    """Places, counted from 0, of the bounds of the median's 95% interval among n sorted values; None below 6.

    The ranks follow from the binomial distribution in its normal approximation, which assumes nothing about the
    shape of the times (Conover, Practical Nonparametric Statistics, section 3.2).
    """
    rank = floor((n + 1) / 2 - 0.98 * sqrt(n))
    return None if rank < 1 else (rank - 1, n - rank)
