"""Case metrics: latency and its spread, throughput, energy and the parts of a step.

Throughput is a ratio of totals: everything processed over the time of all steps.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from math import isfinite, sqrt
from statistics import fmean, variance

import msgspec
from msgspec.structs import replace

from benchtui.sessions.payloads import Energy, ReportedTimes
from benchtui.sessions.state.case import CaseState, rounds_energy_j
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.stats.distribution import (
    Distribution,
    Unsteady,
    detect_unsteadiness,
    distribution,
    outliers,
)
from benchtui.sessions.stats.evidence import computed_metrics, counted, outliers_of, repeats, rounds_of
from benchtui.sessions.stats.quantiles import LEAST_FOR_P90, LEAST_FOR_P95, LEAST_FOR_P99, per_second
from benchtui.sessions.stats.sampling import Sample, Statistic, interval
from benchtui.sessions.sweep import Task, task_named


class Metrics(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Metrics of one case. Times are in milliseconds, rates in 1/s; None means unknown."""

    latency_ms: Distribution
    """Whole step, including tokenization."""
    device_ms: Distribution | None = None
    parts_ms: dict[str, Distribution] = msgspec.field(default_factory=dict)
    samples_per_s: float | None = None
    """All samples over the time of all steps."""
    task: Task = task_named("")
    """Task, which names the samples."""
    tokens_per_s: float | None = None
    """Real tokens only, by the attention mask."""
    padded_tokens_per_s: float | None = None
    """Tokens including padding, which the model computes as well."""
    first_step_ms: float | None = None
    """First step of the worker, even if it is a warm-up step. With ``compile`` it includes compilation."""
    cold_cost_ms: float | None = None
    """Extra time over steady state of the first step and of the warm-up steps in which the compiler ran.

    With ``compile``, that is the compile time. It is that of the first round, because a shared cache may
    shorten it in later ones.
    """
    rounds_ms: tuple[float, ...]
    """Median step of each round, or its mean if no steps were kept; empty for a single round."""
    rounds: tuple[Sample, ...]
    """Summary of each round, or of each repeat of a source that kept no steps. Comparisons use these."""
    between_rounds_percent: float | None
    """Range of the round medians over the median of all steps, in percent."""
    outliers: tuple[int, ...] = ()
    """Indices (from 0) of steps too far off for normal variation. They still count in every metric."""
    mean_power_w: float | None = None
    energy_per_sample_j: float | None = None
    rounds_energy_j: tuple[float, ...] = ()
    """Energy per sample in each round; empty for a single round, or if any round has no reading."""
    samples_per_step: int
    samples_per_s_low: float | None = None
    samples_per_s_high: float | None = None
    """95% interval of the throughput, from the mean step. It always contains the throughput."""
    energy_per_sample_low_j: float | None = None
    energy_per_sample_high_j: float | None = None
    """95% interval of the energy per sample over the rounds; needs at least three."""
    time_to_first_token_ms: Distribution | None = None
    """Prefill of a generation: one pass over the prompts, up to the first new token of each. For requests: one
    value per request, including its wait in the queue."""
    time_per_output_token_ms: Distribution | None = None
    """Decode time per new token after the first. Every sample of a batch gets its token at the same time. For
    requests: one value per token, the time since the previous one."""
    request_ms: Distribution | None = None
    """Time of a request, from its submission to its last token; None for a task without requests."""
    new_tokens_per_s: float | None = None
    """Generated tokens only, over the time of whole steps."""
    prompt_tokens_per_s: float | None = None
    """Tokens of the prompts, without padding, over the time of the prefills."""
    loss: float | None = None
    """Loss of the last measured training step; None if it wasn't finite."""
    diverged: bool = False
    """Whether that loss wasn't finite. From then on, steps train nothing."""
    loss_halves: tuple[float, float] | None = None
    """Mean loss of the first and of the second half of the training steps; None if one wasn't finite."""
    loss_error: float | None = None
    """Standard error of the difference between these two means."""
    warmup_steps: int | None = None
    unsteady: Unsteady | None = None
    """Drift within a round, or two modes of step time; None if the steps are steady."""
    host_ms: Distribution | None = None
    """Host time until a step had returned, including waits inside it; None if the host is the device."""

    @property
    def steps(self) -> int:
        """Number of measured steps."""
        return self.latency_ms.n

    @property
    def wait_mean_ms(self) -> float | None:
        """Mean time per step for which the host waited for the device after it had enqueued the work."""
        return None if self.host_ms is None else max(self.latency_ms.mean - self.host_ms.mean, 0.0)


def metrics(case: CaseState) -> Metrics | None:
    """Return the metrics of a case; None if there is nothing to compute them from.

    They come from the measured steps, or from the source's own numbers if it kept no steps.
    """
    if computed := computed_metrics(case):
        return computed
    others = counted(case)
    whole = distribution(others.measured.wall_ms)
    if whole is None:
        return _reported(case)
    measured = _with_energy(_with_rates(_with_times(others, whole), others), others)
    return measured if others is case else replace(measured, outliers=outliers_of(case))


def _with_times(case: CaseState, whole: Distribution) -> Metrics:
    """Compute the metrics that depend only on the recorded steps."""
    steps, rounds = case.measured, rounds_of(case)
    latency = whole.with_rounds([round_.median for round_ in rounds])
    new_tokens = case.prepared.new_tokens if case.prepared else None
    parts = {part: spread for part, times in steps.parts_ms.items() if (spread := distribution(times))}
    rounds_ms = tuple(round_.median.ms for round_ in rounds) if len(rounds) > 1 else ()
    halves, last_loss = _loss_halves(steps), steps.loss[-1] if steps.loss else None
    computed = Metrics(
        latency_ms=latency,
        device_ms=distribution(steps.device_ms),
        host_ms=distribution(steps.host_ms),
        parts_ms=parts,
        first_step_ms=next(iter(case.warmup.wall_ms or steps.wall_ms)),
        cold_cost_ms=_cold_cost_ms(case, latency.median),
        rounds_ms=rounds_ms,
        rounds=rounds,
        between_rounds_percent=_range_percent(rounds_ms, latency.median),
        outliers=outliers(steps.wall_ms, whole),
        samples_per_step=case.samples_per_step,
        time_to_first_token_ms=parts.get("prefill") if new_tokens else None,
        time_per_output_token_ms=_per_output_token(steps, new_tokens),
        loss=last_loss if last_loss is not None and isfinite(last_loss) else None,
        diverged=last_loss is not None and not isfinite(last_loss),
        loss_halves=halves and (fmean(halves[0]), fmean(halves[1])),
        loss_error=halves and sqrt(sum(variance(half, fmean(half)) / len(half) for half in halves)),
        warmup_steps=len(case.warmup),
        unsteady=detect_unsteadiness(steps.by_round()),
    )
    return _with_requests(computed, steps) if steps.requests else computed


def _with_requests(metrics: Metrics, steps: Columns) -> Metrics:
    """Add the times of the requests of all steps."""
    return replace(
        metrics,
        time_to_first_token_ms=_pooled(request.first_token_ms for request in steps.requests),
        time_per_output_token_ms=_pooled(request.between_tokens_ms for request in steps.requests),
        request_ms=_pooled(request.request_ms for request in steps.requests),
    )


def _pooled(times: Iterable[list[float]]) -> Distribution | None:
    return distribution(list(chain.from_iterable(times)))


def _with_rates(metrics: Metrics, case: CaseState) -> Metrics:
    """Add throughputs, total over total."""
    steps, total_ms = case.measured, metrics.latency_ms.total
    samples = len(steps) * case.samples_per_step
    new_tokens = case.prepared.new_tokens if case.prepared else None
    samples_per_s = per_second(samples or None, total_ms)
    low, high = _rate_interval(samples_per_s, metrics.rounds, case.samples_per_step)
    return replace(
        metrics,
        samples_per_s=samples_per_s,
        samples_per_s_low=low,
        samples_per_s_high=high,
        task=case.task,
        tokens_per_s=per_second(_total(steps.tokens, len(steps)), total_ms),
        padded_tokens_per_s=per_second(_padded_tokens(case, samples), total_ms),
        new_tokens_per_s=per_second(samples * new_tokens, total_ms) if new_tokens else None,
        prompt_tokens_per_s=_prompt_rate(metrics, case, samples * (new_tokens or 0)),
    )


def _with_energy(metrics: Metrics, case: CaseState) -> Metrics:
    """Add mean power and the energy of a sample."""
    energy = (case.finished and case.finished.energy) or Energy()
    rounds_energy_j = _energy_by_round(case)
    bounds = interval([Statistic(joules) for joules in rounds_energy_j])
    return replace(
        metrics,
        mean_power_w=energy.mean_power_w,
        energy_per_sample_j=_ratio(energy.energy_j, _steps_alone(case) * case.samples_per_step),
        rounds_energy_j=rounds_energy_j,
        energy_per_sample_low_j=bounds.low if bounds else None,
        energy_per_sample_high_j=bounds.high if bounds else None,
    )


def _steps_alone(case: CaseState) -> int:
    """Return the measured steps of the rounds that have an energy of their own: not those by turns."""
    spans = case.measured.spans()
    if len(spans) != len(case.ends):
        return len(case.measured)
    return sum(end - first for (_, first, end), ended in zip(spans, case.ends, strict=True) if not ended.turns)


def _cold_cost_ms(case: CaseState, steady_ms: float | None) -> float | None:
    """Return the extra time over steady state of the first round's cold steps, after building an artifact.

    Without a warm-up, the cold steps are among the measured ones. In a session without ``cold``, only the first
    step is cold.
    """
    if steady_ms is None:
        return None
    steps = case.warmup if len(case.warmup) else case.measured
    compiling = case.ends[0].compiling if case.ends else None
    compiled = (compiling.cold if len(case.warmup) else compiling.unsteady) if compiling else ()
    times_ms = steps.by_round()[0]
    cold = {0, *(step for step in compiled if step < len(times_ms))}
    made = case.prepared.artifact if case.prepared else None
    built_ms = 1000 * (made.export_s + made.convert_s + made.load_s) if made else 0.0
    return built_ms + sum(max(times_ms[step] - steady_ms, 0.0) for step in sorted(cold))


LARGEST_LOSS = 1e100
"""Largest loss whose variance is computed; squares of larger ones may overflow."""


def _loss_halves(steps: Columns) -> tuple[Sequence[float], Sequence[float]] | None:
    """Return the losses of both halves of the steps; None below four steps, or if a loss isn't usable."""
    half = len(steps.loss) // 2
    if half < 2 or not all(abs(loss) <= LARGEST_LOSS for loss in steps.loss):
        return None
    return steps.loss[:half], steps.loss[half:]


def _prompt_rate(metrics: Metrics, case: CaseState, new_tokens: int) -> float | None:
    prefill, tokens = metrics.parts_ms.get("prefill"), _total(case.measured.tokens, len(case.measured))
    if prefill is None or tokens is None or tokens <= new_tokens:
        return None
    return per_second(tokens - new_tokens, prefill.mean * prefill.n)


def _total(counts: Sequence[int], steps: int) -> float | None:
    """Return the sum of the counts; None if a step has none."""
    if len(counts) != steps:
        return None
    return float(sum(counts))


def _padded_tokens(case: CaseState, samples: int) -> float | None:
    """Return the tokens including padding, as counted in each step.

    Without such counts, a case padded to ``max`` has the full sequence length per sample.
    """
    steps, length = case.measured, case.config.sequence_length
    if (
        len(steps.padded_tokens)
        or len(steps.tokens) != len(steps)
        or case.config.padding != "max"
        or not length
    ):
        return _total(steps.padded_tokens, len(steps))
    return float(samples) * length


def _per_output_token(steps: Columns, new_tokens: int | None) -> Distribution | None:
    if not new_tokens or new_tokens < 2:
        return None
    return distribution([time_ms / (new_tokens - 1) for time_ms in steps.parts_ms.get("decode", ())])


def _reported(case: CaseState) -> Metrics | None:
    reported = case.reported
    if reported is None:
        return None
    statistics = ("mean", "median", "std", "p90", "p95", "p99")
    latency = {f"{name}_ms": getattr(reported, f"latency_{name}_ms") for name in statistics}
    distribution = _reported_distribution(ReportedTimes(n=reported.steps, **latency))
    if distribution is None:
        return None
    rates = ("samples_per_s", "tokens_per_s", "padded_tokens_per_s", "new_tokens_per_s", "mean_power_w")
    return Metrics(
        **{name: getattr(reported, name) for name in rates},
        latency_ms=distribution,
        task=case.task,
        time_to_first_token_ms=_reported_distribution(reported.first_token),
        time_per_output_token_ms=_reported_distribution(reported.per_token),
        request_ms=_reported_distribution(reported.request),
        rounds_ms=reported.repeats_mean_ms,
        rounds=repeats(reported),
        between_rounds_percent=_range_percent(reported.repeats_mean_ms, reported.center_ms),
        energy_per_sample_j=_ratio(reported.mean_power_w, reported.samples_per_s or 0.0),
        samples_per_step=case.samples_per_step,
    )


def _reported_distribution(times: ReportedTimes | None) -> Distribution | None:
    """Build a distribution from reported numbers. Without a mean, the median takes its place.

    Percentiles require as many values as in a measured sample.
    """
    center_ms = None if times is None else times.median_ms if times.mean_ms is None else times.mean_ms
    if times is None or center_ms is None:
        return None
    n = times.n or 0
    return Distribution(
        n=n,
        mean=center_ms,
        mean_is_median=times.mean_ms is None,
        median=times.median_ms,
        p90=times.p90_ms if n >= LEAST_FOR_P90 else None,
        p95=times.p95_ms if n >= LEAST_FOR_P95 else None,
        p99=times.p99_ms if n >= LEAST_FOR_P99 else None,
        std=times.std_ms,
    )


def _rate_interval(
    rate: float | None, rounds: Sequence[Sample], samples: int
) -> tuple[float | None, float | None]:
    """Return the 95% interval of a throughput, from the mean steps of the rounds."""
    bounds = interval([round_.mean for round_ in rounds])
    if bounds is None or rate is None or not bounds.low > 0:
        return None, None
    return min(rate, 1000 * samples / bounds.high), max(rate, 1000 * samples / bounds.low)


def _energy_by_round(case: CaseState) -> tuple[float, ...]:
    """Return the energy per sample in each round that was measured alone, in joules.

    The energy of the last round is the total minus that of the others.
    """
    end, ended = case.finished, case.rounds
    energies = [joules for joules in rounds_energy_j(ended) if joules is not None]
    if not ended or len(energies) < len(ended) or not end or not end.energy or end.energy.energy_j is None:
        return ()
    steps = [case.measured.of_round(round_.round) for round_ in ended]
    joules = [*energies, end.energy.energy_j - sum(energies)]
    counts = [*steps, len(case.measured) - sum(steps)]
    alone = [place for place, ended_round in enumerate(case.ends) if ended_round.turns is None]
    joules, counts = [joules[place] for place in alone], [counts[place] for place in alone]
    if len(alone) < 2:
        return ()
    if min(*counts, *joules, case.samples_per_step) <= 0:
        return ()
    return tuple(joule / (count * case.samples_per_step) for joule, count in zip(joules, counts, strict=True))


def _range_percent(rounds_ms: tuple[float, ...], middle_ms: float | None) -> float | None:
    return 100 * (max(rounds_ms) - min(rounds_ms)) / middle_ms if rounds_ms and middle_ms else None


def _ratio(amount: float | None, total: float) -> float | None:
    return amount / total if amount is not None and total > 0 else None
