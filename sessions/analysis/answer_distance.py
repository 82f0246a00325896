"""Distance of each case's answer from the baseline's, as a cost that throughput is traded off against."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from benchtui.sessions.analysis.chart_series import PlotMetric, Value
from benchtui.sessions.payloads import AnswerComparison
from benchtui.sessions.state.case import CaseState

if TYPE_CHECKING:  # importing numpy would delay the first frame
    from benchtui.sessions.stats.case_metrics import Metrics


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
