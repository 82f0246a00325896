"""Pareto front: cases that no other case beats in one metric without being worse in another.

One of the metrics is the distance of a case's answer from the baseline's.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from benchtui.sessions.analysis.chart_series import BY_QUANTITY, SAMPLES, MetricsLookup, PlotMetric, Value
from benchtui.sessions.metrics.views import COMPARED_BY
from benchtui.sessions.payloads import AnswerComparison
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.sweep import Work, distinct_works


class Distance(NamedTuple):
    """Metric of an answer comparison that is 0 for equal answers."""

    name: str
    unit: str
    of: Callable[[AnswerComparison], float | None]


def _lacking(share: float | None) -> float | None:
    """Return 1 minus a share or cosine."""
    return None if share is None else 1 - share


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


DISTANCES = (
    Distance("KL divergence", "nats", lambda comparison: comparison.kl_mean),
    Distance("unequal tokens", "%", lambda comparison: _percent(_lacking(comparison.equal_tokens))),
    Distance("change of the loss", "%", lambda comparison: _percent(comparison.change_difference)),
    Distance("largest difference of a loss", "%", lambda comparison: _percent(comparison.loss_difference)),
    Distance("1 - cosine", "", lambda comparison: _lacking(comparison.cosine)),
)
"""Distance of each kind of answer: logits, tokens, losses, values."""

LEAST = 1e-15
"""Smaller distances count as 0. They are rounding errors of doubles, and may even be negative."""


def answer_distance(cases: Iterable[CaseState], baselines: Collection[int]) -> PlotMetric | None:
    """Return the distance that applies to the answers of these cases; None if no answer was compared.

    ``baselines`` are the cases that others were compared with (``Session.answer_baselines``). Their distance is
    0 by definition.
    """
    compared = [case.comparison for case in cases if case.comparison and case.comparison.verdict]
    chosen = next(
        (candidate for candidate in DISTANCES if any(candidate.of(one) is not None for one in compared)), None
    )
    if chosen is None:
        return None

    def of(case: CaseState, _metrics: Metrics) -> Value | None:
        comparison = case.comparison
        if comparison is None or comparison.verdict in (None, "identical"):
            same = case.index in baselines if comparison is None else comparison.verdict is not None
            return Value(0.0) if same else None
        distance = chosen.of(comparison)
        return None if distance is None else Value(distance if distance >= LEAST else 0.0)

    return PlotMetric(chosen.name, chosen.unit, of)


COSTS = tuple(BY_QUANTITY[COMPARED_BY[need]] for need in ("latency", "energy", "memory"))
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
    """Return every measured case that has both metrics. The second case of an A/A pair is left out."""
    points = []
    for case in cases:
        metrics = lookup(case) if case.has_result and not case.config.repeat else None
        gain, paid = (rate.of(case, metrics), cost.of(case, metrics)) if metrics else (None, None)
        if gain and paid:
            points.append(ParetoPoint(case, gain, paid))
    return tuple(points)


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


def _same(one: ParetoPoint, other: ParetoPoint) -> bool:
    return (one.gain.middle, one.cost.middle) == (other.gain.middle, other.cost.middle)
