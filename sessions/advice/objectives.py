"""Objectives of a recommendation, as costs to minimize."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.constraints import NONE, Constraints
from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import COMPARED_BY
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import bounds_ms
from benchtui.sessions.stats.ratios import latency_ratio, memory_ratio, ratio_over_rounds, throughput_ratio
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import SERVE, Find, Work
from benchtui.sessions.sweep import Need as Need

NEEDS: tuple[Need, ...] = get_args(Need)
SPEED_NEEDS: tuple[Need, ...] = ("throughput", "latency")
"""Needs about speed: those that the report names first, and for which slow steps matter."""

OBJECTIVES: dict[str, Need] = {**{need: need for need in NEEDS}, "cost": "throughput"}
"""Needs by the names that users state. At a price per hour, the lowest cost is the highest throughput."""
NEAR = 0.1
"""Lead of the best case up to which another one may be preferred, if the lead isn't established."""


class Objective(msgspec.Struct, frozen=True):
    """Objective and constraints under which a configuration is chosen."""

    need: Need = "throughput"
    constraints: Constraints = NONE
    steps: int | None = None
    """Length of the job in steps, to which the cold cost is added once; None for an endless job."""
    any_answer: bool = False
    """Whether to consider cases of trained weights whose answers aren't the baseline's."""
    work: Work | None = None
    """Work of the cases to choose from. None selects all cases, which must then share their work."""
    search: bool = False
    """Whether to choose as a search does: cases are ranked by typical steps, whose intervals decide, and the
    likeliest of several is chosen, whatever else it costs."""

    @property
    def keeps_answers(self) -> bool:
        """Whether a case that changes the answer isn't considered. A limit on the divergence replaces that."""
        return not self.any_answer and self.constraints.kl is None


def find_objective(session: Session, find: Find) -> Objective:
    """Return the objective and constraints of a search. Answers count once there are any."""
    compared = any(case.comparison for case in session.cases)
    constraints = Constraints(
        vram_mb=find.max_vram_mb,
        p99_ms=find.max_p99_ms,
        latency_ms=find.max_latency_ms,
        power_w=find.max_power_w,
        samples_per_s=find.min_samples_per_s,
        answer=find.answers if find.answers != "any" and compared else None,
    )
    return Objective(find.objective, constraints, find.steps, any_answer=find.answers == "any", search=True)


def session_objective(session: Session, need: Need, work: Work | None = None) -> Objective:
    """Return the objective for a need: that of the session's search, if it is one for that."""
    find = session.start.sweep.find
    wanted = find_objective(session, find) if find and need == find.objective else Objective(need)
    return replace(wanted, work=work)


def usual_need(results: Sequence[Result]) -> Need:
    """Return the need if none is stated: throughput, or latency if no case has a rate."""
    return "throughput" if not results or any(row.metrics.samples_per_s for row in results) else "latency"


def usual_objective(session: Session, results: Sequence[Result]) -> Objective:
    """Return the objective if none is stated: that of the session's search, or the usual need."""
    find = session.start.sweep.find
    return find_objective(session, find) if find else Objective(usual_need(results))


class CostMetric(msgspec.Struct, frozen=True):
    """A cost to minimize, its ratio between two cases, and the message for a case that lacks it."""

    cost: Callable[[Result], float | None]
    ratio: Callable[[Result, Result], Ratio | None]
    """Cost of the first case over that of the second."""
    missing_reason: str


def job_ms(result: Result, steps: int) -> float | None:
    """Return the time of a job with this many steps, in milliseconds.

    The cold cost is added to the typical time of every step. None if the cold cost is unknown.
    """
    cold_ms = result.metrics.cold_cost_ms
    return None if cold_ms is None else cold_ms + steps * result.typical_ms


def cost_metrics(objective: Objective, results: Sequence[Result]) -> tuple[CostMetric, ...]:
    """Return the metrics whose product is the cost of a case."""
    sample = TYPICAL_SAMPLE_TIME if objective.search else SAMPLE_TIME
    sample = sample if objective.steps is None else _job_sample(objective.steps)
    step = STEP_TIME if objective.steps is None else _job_step(objective.steps)
    match objective.need:
        case "throughput":
            return (sample,)
        case "latency":
            return (step,)
        case "memory":
            return (sample, PEAK_MEMORY)
        case "energy":
            return (ENERGY,)
        case "steadiness":
            return (SLOW_STEPS,)
        case "balanced":
            return shared_metrics((sample, step, PEAK_MEMORY, ENERGY), results)


def is_need_of(need: Need, results: Sequence[Result]) -> bool:
    """Return whether a need applies to these cases and differs from the other needs.

    ``balanced`` needs more than one metric. For a server under load, a step is a whole run, whose time is not a
    latency.
    """
    if need in ("latency", "steadiness", "balanced") and any(row.metrics.task is SERVE for row in results):
        return False
    return need != "balanced" or len(cost_metrics(Objective(need), results)) > 1


def shared_metrics(metrics: Sequence[CostMetric], results: Sequence[Result]) -> tuple[CostMetric, ...]:
    """Return the metrics that every result has."""
    return tuple(metric for metric in metrics if all(metric.cost(row) is not None for row in results))


def _cost(key: str) -> Callable[[Result], float | None]:
    """Return the function that reads a quantity. A value of 0 counts as unknown: ratios divide by it."""
    row = quantity(key)
    return lambda result: row.figure(CaseData.of(result)) or None


def _job_step(steps: int) -> CostMetric:
    return CostMetric(
        lambda row: job_ms(row, steps),
        lambda base, new: _job_ratio(base, new, steps, 1.0),
        STEP_TIME.missing_reason,
    )


def _job_sample(steps: int) -> CostMetric:
    def cost(row: Result) -> float | None:
        total_ms, samples = job_ms(row, steps), row.metrics.samples_per_step
        return total_ms / (steps * samples) if total_ms and samples else None

    def ratio(base: Result, new: Result) -> Ratio | None:
        return _job_ratio(base, new, steps, new.metrics.samples_per_step / base.metrics.samples_per_step)

    return CostMetric(cost, ratio, SAMPLE_TIME.missing_reason)


def _job_ratio(base: Result, new: Result, steps: int, samples: float) -> Ratio | None:
    """Compare two jobs. Only their steps have bounds, because the cold cost was observed once."""
    totals = job_ms(base, steps), job_ms(new, steps)
    if not totals[0] or not totals[1]:
        return None
    value, margin = samples * totals[0] / totals[1], max(base.noise.margin, new.noise.margin)
    mine, theirs = bounds_ms(base), bounds_ms(new)
    if mine is None or theirs is None:
        return Ratio(value, same_within=margin)
    one, other = (_job_bounds(row, step_bounds, steps) for row, step_bounds in ((base, mine), (new, theirs)))
    bounds = (one * other.over()).times(samples)
    return Ratio(value, replace(bounds, value=value), same_within=margin)


def _job_bounds(result: Result, step: Bounds, steps: int) -> Bounds:
    cold_ms = result.metrics.cold_cost_ms or 0.0
    ends = (step.value, step.low, step.high, step.sure_low, step.sure_high)
    return Bounds(*(cold_ms + steps * end for end in ends))


_ENERGY, _TAIL = (_cost(COMPARED_BY[need]) for need in ("energy", "steadiness"))
SAMPLE_TIME = CostMetric(_cost("time_per_sample_ms"), throughput_ratio, "throughput not measured")
TYPICAL_SAMPLE_TIME = CostMetric(
    lambda row: row.typical_ms / row.metrics.samples_per_step if row.metrics.samples_per_step else None,
    throughput_ratio,
    "throughput not measured",
)
STEP_TIME = CostMetric(_cost(COMPARED_BY["latency"]), latency_ratio, "step time not measured")
PEAK_MEMORY = CostMetric(_cost(COMPARED_BY["memory"]), memory_ratio, "peak memory not measured")
ENERGY = CostMetric(
    _ENERGY,
    partial(ratio_over_rounds, cost=_ENERGY, costs_of=lambda row: row.metrics.rounds_energy_j),
    "energy not measured",
)
SLOW_STEPS = CostMetric(
    _TAIL,
    partial(
        ratio_over_rounds, cost=_TAIL, costs_of=lambda row: filter(None, (round_.tail for round_ in row.rounds))
    ),
    "no p90: it needs 20 steps",
)
"""By how much p90 exceeds p50. A standard deviation is decided by a few outliers, of which longer series have
more."""
