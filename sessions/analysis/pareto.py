"""Pareto front: cases that no other case beats in one metric without being worse in another."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from benchtui.sessions.analysis.answer_distance import answer_distance
from benchtui.sessions.analysis.chart_series import (
    BY_QUANTITY,
    SAMPLES,
    MetricsLookup,
    PlotMetric,
    Value,
)
from benchtui.sessions.metrics.views import COSTS_OF_THROUGHPUT
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Work, distinct_works

COSTS: tuple[PlotMetric, ...] = tuple(BY_QUANTITY[key] for key in COSTS_OF_THROUGHPUT)
"""Metrics that throughput is traded off against in every session."""


class ParetoPoint(msgspec.Struct, frozen=True):
    """Throughput and cost of a case."""

    case: CaseState
    gain: Value
    """Samples or tokens per second."""
    cost: Value
    """Milliseconds per step, joules per sample, peak memory in 10**6 bytes, or distance of the answer."""


def costs(cases: Iterable[CaseState], answer_baselines: Collection[int]) -> tuple[PlotMetric, ...]:
    """Return the metrics that throughput is traded off against, with answer distance if any was compared."""
    distance = answer_distance(cases, answer_baselines)
    return (*COSTS, distance) if distance else COSTS


def pareto_points(
    cases: Iterable[CaseState], lookup: MetricsLookup, cost: PlotMetric, rate: PlotMetric = SAMPLES
) -> tuple[ParetoPoint, ...]:
    """Return every successful case that has both metrics. The second case of an A/A pair is left out."""
    points = (_pareto_point(case, lookup, cost, rate) for case in cases if not case.config.repeat)
    return tuple(point for point in points if point)


def front(choices: Iterable[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """Return the choices that no other choice beats, cheapest first. All ties are kept."""
    best: list[ParetoPoint] = []
    for point in sorted(choices, key=lambda choice: (choice.cost.middle, -choice.gain.middle)):
        if not best or point.gain.middle > best[-1].gain.middle or _same(point, best[-1]):
            best.append(point)
    return tuple(best)


def fronts(choices: Sequence[ParetoPoint]) -> dict[Work, tuple[ParetoPoint, ...]]:
    """Return one front per work, because cases of different work aren't alternatives."""
    works = distinct_works(point.case.config.work for point in choices)
    return {work: front(point for point in choices if point.case.config.work == work) for work in works}


def _pareto_point(
    case: CaseState, lookup: MetricsLookup, cost: PlotMetric, rate: PlotMetric
) -> ParetoPoint | None:
    metrics = lookup(case) if case.state == "ok" else None
    if metrics is None:
        return None
    gain, paid = rate.of(case, metrics), cost.of(case, metrics)
    return ParetoPoint(case, gain, paid) if gain and paid else None


def _same(one: ParetoPoint, other: ParetoPoint) -> bool:
    return (one.gain.middle, one.cost.middle) == (other.gain.middle, other.cost.middle)
