"""ETA: the remaining time of a sweep, from the cases that this session has finished."""

from bisect import bisect, insort
from collections.abc import Iterable, Sequence
from math import ceil
from operator import attrgetter
from statistics import fmean

import msgspec
from msgspec.structs import replace

from benchtui.sessions.estimates.stop_limits import (
    CHECK_MS,
    LEAST_WARMUP_STEPS,
    SETTLED_MS,
    least_steps,
    longest_s,
    wanted_percent,
)
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.sessions.sweep import Config, Measure, unsupported_reason
from benchtui.sessions.sweep.options import AXES

NEWEST = 1000
"""Number of newest steps of a running case whose mean predicts the remaining ones."""
SETTLING_STEPS = 260
"""Approximate number of steps after which the deviation of normal noise stays within 5% over 64 estimates."""

Group = tuple[object, ...]

_other_options = attrgetter(*(name for name in AXES if name not in ("sequence_length", "batch_size")))


class Estimate(msgspec.Struct, frozen=True):
    """An estimated duration."""

    seconds: float
    rough: bool = False
    """Whether it is based on cases with other options, or on typical noise."""


class StepTimeModel:
    """Step times learned from the finished cases."""

    def __init__(self, cases: Iterable[CaseState] = ()) -> None:
        self._pools: dict[Group, list[tuple[int, float]]] = {}
        """By group, by device and overall: work per step and mean step time in seconds, sorted by work."""
        self._overheads_s: dict[Group, list[float]] = {}
        """By group: time of a round outside its steady steps: worker start, model loading, compiling."""
        self._measured = self._rounds = 0
        """Measured steps of the learned cases, and their rounds."""
        for case in cases:
            self.learn(case)

    def learn(self, case: CaseState) -> None:
        """Learn from a case that finished ok, or that waits for its next round; others are ignored."""
        step_s = _mean_step_s(case)
        if not (case.state == "ok" or _waits(case)) or case.started is None or step_s is None:
            return
        self._measured += case.steps_measured
        self._rounds += len(case.ends)
        overhead_s = max(0.0, case.ends[-1].t - case.started.t - _steps_of_last_round(case) * step_s)
        for key in _groups(case.config):
            insort(self._pools.setdefault(key, []), (case.config.size, step_s))
            self._overheads_s.setdefault(key, []).append(overhead_s)

    def knows(self, config: Config) -> bool:
        """Return whether a case of the same model has been learned on the same device."""
        return _groups(config)[2] in self._pools

    def step(self, config: Config) -> Estimate | None:
        """Return the time of one step, scaled linearly in work from the nearest finished case; None if unknown.

        The search covers cases with the same options first, then those with the same model, precision,
        quantization, compile mode and attention, then the same model, then the same device, then all. A result
        from cases with other options is rough.
        """
        own, *wider = _groups(config)
        if own in self._pools:
            return Estimate(_scaled(self._pools[own], config.size))
        pool = next((self._pools[key] for key in wider if key in self._pools), None)
        return Estimate(_scaled(pool, config.size), rough=True) if pool else None

    def case(self, config: Config, measure: Measure) -> Estimate | None:
        """Return the time of one whole round of a case, including preparation; None if unknown."""
        step = self.step(config)
        if step is None:
            return None
        if unsupported_reason(config):
            return Estimate(0.0)
        overheads_s = next(self._overheads_s[key] for key in _groups(config) if key in self._overheads_s)
        steps = self.steps_per_round(measure)
        measure = measure.for_device(config.device)
        steps_s = warmup_s(measure, step.seconds) + measuring_s(steps, step.seconds, measure)
        return Estimate(min(fmean(overheads_s) + steps_s, measure.timeout_s), step.rough)

    def steps_per_round(self, measure: Measure) -> float:
        """Return the measured steps of a round: as planned, or the mean so far if a narrow interval ends it."""
        if measure.until_error or not _by_spread(measure):
            return least_steps(measure)
        return max(least_steps(measure), self._measured / max(self._rounds, 1))


class StepsLeft(msgspec.Struct, frozen=True):
    """Measured steps that a round still needs."""

    steps: int
    percent: float | None = None
    """Target half-width of the interval over the median, in percent; None if a step count ends the round."""
    rough: bool = False
    """Whether it is based on typical noise."""
    limited: bool = False
    """Whether the time limit ends the round before it reaches its target."""
    min_time_s: float | None = None
    """Minimum measured time that requires these steps; None if another rule requires as many."""


class RoundSoFar(msgspec.Struct, frozen=True):
    """Progress of a round."""

    steps: int
    seconds: float
    """Total time of these steps."""
    interval_percent: float | None
    """Half-width of the 95% interval of the median over the median, in percent."""
    on_host: bool
    """Whether the steps are timed by the host's clock only."""


def steps_left(done: RoundSoFar, measure: Measure) -> StepsLeft:
    """Estimate the steps until a round has enough, or its time limit ends it.

    ``measure`` has the rules for the case's device.
    """
    needed = _steps_needed(done, measure)
    most_s = longest_s(measure)
    if not done.steps or not done.seconds:
        return needed
    step_s = done.seconds / done.steps
    min_time_s = measure.min_time_s or 0.0
    if (for_time := ceil((min_time_s - done.seconds) / step_s)) > needed.steps:
        needed = replace(needed, steps=for_time, rough=True, min_time_s=min_time_s)
    if most_s is None:
        return needed
    most = max(0, ceil((most_s - done.seconds) / step_s))
    return needed if needed.steps <= most else StepsLeft(most, needed.percent, rough=True, limited=True)


def _steps_needed(done: RoundSoFar, measure: Measure) -> StepsLeft:
    """Estimate the steps without a time limit. The interval narrows with the square root of the steps."""
    least = max(0, least_steps(measure) - done.steps)
    wanted = wanted_percent(measure, done.on_host)
    settling = max(least, SETTLING_STEPS - done.steps, 1)
    if measure.until_error:
        return StepsLeft(max(least, 1), rough=True)
    if wanted is None:
        return StepsLeft(settling if measure.until_auto else least, rough=measure.until_auto)
    if done.interval_percent is None:
        return StepsLeft(max(least, 1), wanted, rough=True)
    missing = max(1, ceil(done.steps * ((done.interval_percent / wanted) ** 2 - 1)))
    return StepsLeft(max(least, min(missing, settling) if measure.until_auto else missing), wanted, rough=True)


def case_left(
    case: CaseState, measure: Measure, step_times: StepTimeModel, now_s: float, needed: StepsLeft | None = None
) -> Estimate | None:
    """Estimate the time until a started case ends, including later rounds; None if unknown.

    ``needed`` is an estimate for the current round; without one, the planned number of steps is used.
    """
    measure = measure.for_device(case.config.device)
    whole = step_times.case(case.config, measure)
    round_index = case.started.round if case.started else 0
    now = _round_left(case, measure, needed, whole, now_s)
    later = measure.rounds - round_index - 1
    if now is None or later <= 0:
        return now
    return None if whole is None else Estimate(now.seconds + later * whole.seconds, now.rough or whole.rough)


def _round_left(
    case: CaseState, measure: Measure, needed: StepsLeft | None, whole: Estimate | None, now_s: float
) -> Estimate | None:
    round_index = case.started.round if case.started else 0
    warmed, measured = case.warmup.of_round(round_index), case.measured.of_round(round_index)
    step_s = _mean_step_s(case, NEWEST)
    if step_s is not None and warmed + measured:
        warmup_left_s = 0.0 if measured else max(0.0, warmup_s(measure, step_s) - warmed * step_s)
        needed = needed or StepsLeft(max(0, least_steps(measure) - measured))
        steps_s = max(needed.steps * step_s, _min_measuring_s(measure) - measured * step_s)
        if (most_s := longest_s(measure)) is not None:
            steps_s = max(0.0, min(steps_s, most_s - measured * step_s))
        return Estimate(warmup_left_s + steps_s, needed.rough)
    if whole is None or case.started is None:
        return whole
    return Estimate(max(0.0, whole.seconds - (now_s - case.started.t)), whole.rough)


def queue_left(cases: Sequence[CaseState], measure: Measure, step_times: StepTimeModel) -> Estimate | None:
    """Estimate the time of all cases that wait for their first or next round; None if unknown."""
    queued = [case for case in cases if _waits(case) or (case.started is None and case.finished is None)]
    rounds = [max(measure.rounds - len(case.rounds), int(case.round_planned)) for case in queued]
    estimates = [estimate for case in queued if (estimate := step_times.case(case.config, measure)) is not None]
    if len(estimates) < len(queued):
        return None
    seconds = sum(estimate.seconds * times for estimate, times in zip(estimates, rounds, strict=True))
    return Estimate(seconds, any(estimate.rough for estimate in estimates))


def _waits(case: CaseState) -> bool:
    """Return whether a case has measured a round and waits for the next one."""
    return case.between_rounds and bool(case.rounds)


def remaining_time(running: Sequence[Estimate | None], queue: Estimate | None) -> Estimate | None:
    """Estimate the time until the sweep ends at the current parallelism; None if a part is unknown."""
    estimates = [estimate for estimate in running if estimate is not None]
    if len(estimates) < len(running) or queue is None:
        return None
    side_by_side = (sum(estimate.seconds for estimate in estimates) + queue.seconds) / max(len(estimates), 1)
    longest = max((estimate.seconds for estimate in estimates), default=0.0)
    return Estimate(max(side_by_side, longest), queue.rough or any(estimate.rough for estimate in estimates))


def with_further_rounds(session: Session, planned: Estimate | None) -> Estimate | None:
    """Add the time that further rounds may take at most to the estimated time of all planned ones."""
    if planned is None or not session.start.sweep.measure.rounds_auto:
        return planned
    if session.rounds_planned is None:
        first_s = session.busy_s + planned.seconds
        return Estimate(planned.seconds + session.start.sweep.run.budget_after_s(first_s), rough=True)
    left_s = session.budget_s - session.budget_spent_s if session.rounds_planned.cases else 0.0
    return Estimate(max(planned.seconds, left_s), rough=True)


def _mean_step_s(case: CaseState, newest: int = 0) -> float | None:
    """Return the mean of all steps, or of the newest ones, because summing millions per frame is too slow."""
    if metrics := computed_metrics(case):
        return metrics.latency_ms.mean / 1000
    steps = (case.measured.wall_ms or case.warmup.wall_ms[1:])[-newest:]
    return sum(steps) / len(steps) / 1000 if steps else None


def _steps_of_last_round(case: CaseState) -> float:
    """Return the number of the last round's steps, or the mean of all rounds if they were evicted."""
    metrics = computed_metrics(case)
    if metrics and not case.steps_in_memory:
        return (metrics.steps + (metrics.warmup_steps or 0)) / (len(case.rounds) + 1)
    last = case.started.round if case.started else 0
    return case.warmup.of_round(last) + case.measured.of_round(last)


def warmup_s(measure: Measure, step_s: float) -> float:
    """Return the time of the warm-up: its steps, or its minimum time after the first step."""
    minimum_s = measure.min_warmup_s or 0.0
    steps_s = measure.warmup * step_s
    if measure.warmup_auto:
        steps_s = max(LEAST_WARMUP_STEPS * step_s, min(steps_s, SETTLED_MS / 1000))
    return max(steps_s, minimum_s + step_s if minimum_s else 0.0)


def measuring_s(steps: float, step_s: float, measure: Measure) -> float:
    """Return the time of measuring this many steps, within the limits of the rules for the case's device."""
    most_s = longest_s(measure)
    least_s = max(steps * step_s, _min_measuring_s(measure))
    return least_s if most_s is None else min(least_s, most_s)


def _min_measuring_s(measure: Measure) -> float:
    return max(measure.min_time_s or 0.0, CHECK_MS / 1000 if _by_spread(measure) else 0.0)


def _by_spread(measure: Measure) -> bool:
    """Whether the spread of the steps ends a round, not their number."""
    return measure.until_auto or measure.until_error or measure.until_percent is not None


def _groups(config: Config) -> tuple[Group, ...]:
    """Return the groups in which step time is assumed to depend only on work, from narrow to wide."""
    device = (config.machine, config.device)
    alike = (*device, config.model, config.precision, config.quantization, config.compile, config.attention)
    return (same_options(config), alike, (*device, config.model), device, ())


def same_options(config: Config) -> Group:
    """Return all options except the two sizes. Step time can't be scaled across the others."""
    options: Group = _other_options(config)
    return options


def _scaled(step_times: Sequence[tuple[int, float]], wanted: int) -> float:
    place = bisect(step_times, (wanted, 0.0))
    nearest, step_s = min(step_times[max(place - 1, 0) : place + 1], key=lambda pair: abs(pair[0] - wanted))
    return step_s * wanted / nearest
