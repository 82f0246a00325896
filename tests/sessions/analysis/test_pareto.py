from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchtui.sessions.analysis.chart_series import LATENCY, Value
from benchtui.sessions.analysis.pareto import COSTS, ParetoPoint, costs, front, fronts, pareto_points
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config

CASE = CaseState(0, Config(device="cpu"))


def made(gain: float, cost: float) -> ParetoPoint:
    return ParetoPoint(CASE, Value(gain), Value(cost))


def beats(one: ParetoPoint, other: ParetoPoint) -> bool:
    gain, cost = one.gain.middle - other.gain.middle, other.cost.middle - one.cost.middle
    return gain >= 0 and cost >= 0 and gain + cost > 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_front_contains_the_choices_that_no_other_beats(pairs: list[tuple[int, int]]) -> None:
    choices = [made(gain, cost) for gain, cost in pairs]
    wanted = [each for each in choices if not any(beats(other, each) for other in choices)]
    found = front(choices)
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    assert [each.cost.middle for each in found] == sorted(each.cost.middle for each in found)


def test_only_successful_cases_are_candidates(bench: Any) -> None:
    cases = bench.session(
        bench.case(1, 5.0), bench.case(2, 6.0, outcome="failed", end={"reason": "killed"}), bench.case(4, 50.0)
    ).cases
    found = pareto_points(cases, metrics, LATENCY)
    assert [trade.case.config.batch_size for trade in found] == [1, 4]
    assert [trade.case.config.batch_size for trade in front(found)] == [1]


def test_answers_are_a_cost_once_one_was_compared(bench: Any) -> None:
    """The baseline is at 0, as is rounding; a case without a figure is no point."""
    cases = [bench.case(size, 5.0) for size in (1, 2, 3, 4, 5)]
    assert costs(bench.session(*cases).cases, set()) == COSTS
    figures = ((1, {"kl_mean": 0.25}), (2, {"kl_mean": -1e-17}), (3, {}))
    answered = [bench.answered(case, verdict="close", **figure) for case, figure in figures]
    session = bench.session(*cases, more=[bench.answered(0), *answered])
    *_, distance = costs(session.cases, session.answer_baselines)
    found = pareto_points(session.cases, metrics, distance)
    assert (distance.name, distance.unit) == ("KL divergence", "nats")
    assert [(point.case.index, point.cost.middle) for point in found] == [(0, 0.0), (1, 0.25), (2, 0.0)]


def test_each_sequence_length_has_its_own_front(bench: Any) -> None:
    cases = bench.session(bench.case(1, 5.0, sequence_length=32), bench.case(1, 50.0)).cases
    found = fronts(pareto_points(cases, metrics, LATENCY))
    assert {work.sequence_length: len(row) for work, row in found.items()} == {32: 1, 128: 1}
