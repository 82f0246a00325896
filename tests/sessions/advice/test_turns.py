"""Which open questions are decided by cases that take turns."""

from itertools import combinations, pairwise
from typing import Any

import pytest
from by_turns import HandMade

from benchtui.sessions.advice.deciding_sweep import deciding_sweep
from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.open_questions import open_questions
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.advice.race import cost, plan_rounds
from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Find


def test_close_cases_take_turns_until_they_are_decided() -> None:
    made = HandMade(10.0, 10.6).alone(0, 1)
    firsts, plan = [], plan_rounds(made.session)
    while plan.rounds and len(firsts) < 20:
        assert plan.by_turns and sorted(plan.rounds) == [0, 1]
        firsts.append(plan.rounds[0])
        made.by_turns(*plan.rounds)
        plan = plan_rounds(made.session)
    assert plan.ended == "every question is decided"
    assert 4 <= len(firsts) <= 10
    assert all(one != other for one, other in pairwise(firsts)), "each has the first turn"


def test_cases_of_one_work_take_turns_together() -> None:
    made, waves = HandMade(10.0, 11.0, 13.0).alone(0, 1, 2), []
    while (plan := plan_rounds(made.session)).rounds:
        assert plan.by_turns
        waves.append(set(plan.rounds))
        made.by_turns(*plan.rounds)
    assert plan.ended == "every question is decided"
    assert waves[:3] == [{0, 1, 2}] * 3 and len(waves) <= 6
    ratios = [
        ratio
        for one, other in combinations(measured(made.session), 2)
        if (ratio := comparison(one, other).ratio)
    ]
    assert len(ratios) == 3 and all(ratio.by_turns for ratio in ratios)


def test_at_most_four_cases_take_turns() -> None:
    made = HandMade(10.0, 10.1, 10.2, 10.3, 10.4).alone(0, 1, 2, 3, 4)
    assert len(plan_rounds(made.session).rounds) == 4


def test_cases_of_other_works_take_turns_of_their_own() -> None:
    lengths = (16, 16, 64, 64)
    made = HandMade(10.0, 10.2, 30.0, 30.2, lengths=lengths, budget_s=60.0).alone(0, 1, 2, 3)
    waves = []
    while (plan := plan_rounds(made.session)).rounds:
        waves.append(frozenset(plan.rounds))
        made.by_turns(*plan.rounds)
    assert set(waves) == {frozenset({0, 1}), frozenset({2, 3})}


def test_a_begun_comparison_is_decided_before_the_next_one_begins() -> None:
    made = HandMade(10.0, 11.0, 13.0, memory_mb=3000.0).alone(0, 1, 2)
    pairs: list[frozenset[int]] = []
    while len(pairs) < 8:
        plan = plan_rounds(made.session)
        assert plan.by_turns
        pairs.append(frozenset(plan.rounds))
        made.by_turns(*plan.rounds)
    switches = sum(one != other for one, other in pairwise(pairs))
    assert len(set(pairs)) > 1 and switches == len(set(pairs)) - 1
    assert pairs.count(pairs[0]) >= 4


def test_rest_of_the_budget_goes_to_one_comparison_if_none_can_be_decided() -> None:
    made = HandMade(10.0, 10.1, 10.2, budget_s=12.0).alone(0, 1, 2)
    pairs = set()
    while (plan := plan_rounds(made.session)).rounds:
        pairs.add(frozenset(plan.rounds))
        made.by_turns(*plan.rounds)
    assert len(pairs) == 1 and plan.ended == "the budget is spent"


def test_equal_cases_take_turns_until_they_are_the_same() -> None:
    made = HandMade(10.0, 10.0, seed=3).alone(0, 1)
    while (plan := plan_rounds(made.session)).rounds:
        made.by_turns(*plan.rounds)
    assert plan.ended == "every question is decided"


@pytest.mark.parametrize(
    "entries",
    [
        {"devices": ["cpu", "cuda:0"]},
        {"memory_mb": 2000.0},
        {"memory_mb": None},
        {"run": {"executor": "slurm"}},
        {"run": {"wait_below_c": 60.0}},
    ],
)
def test_cases_that_cannot_share_a_device_get_ordinary_rounds(entries: dict[str, Any]) -> None:
    plan = plan_rounds(HandMade(10.0, 10.5, **entries).alone(0, 1).session)
    assert plan.rounds and not plan.by_turns


def test_long_steps_get_ordinary_rounds() -> None:
    plan = plan_rounds(HandMade(8000.0, 8100.0).alone(0, 1).session)
    assert plan.rounds and not plan.by_turns


def test_ordinary_rounds_decide_where_processes_hardly_differ() -> None:
    recorded = {"cpu": ProcessSpread(between=0.005, freedom=40.0)}
    plan = plan_rounds(HandMade(10.0, 10.1, process_spread=recorded).alone(0, 1).session)
    assert plan.rounds and not plan.by_turns


def test_search_lets_the_nearest_rival_take_turns_with_the_best() -> None:
    find = Find(objective="throughput")
    made = HandMade(20.0, 10.0, 10.2, find=find).alone(0, 1, 2)
    plan = plan_rounds(made.session)
    assert plan.by_turns and set(plan.rounds) <= {0, 1, 2}


def test_pairs_next_to_neighbors_are_not_repeated_forever() -> None:
    made, tries = HandMade(10.0, 10.5).alone(0, 1), 0
    while (plan := plan_rounds(made.session)).by_turns:
        made.by_turns(*plan.rounds, others_cpu_percent=90.0, processors=2)
        tries += 1
        assert tries < 30
    assert tries == 8


def test_turns_contradict_the_typical_steps_in_a_decision() -> None:
    made = HandMade(14.0, 10.6)
    made.alone(*[0] * 12, 1)
    made.steps_ms = (10.0, 10.6)
    for _ in range(6):
        made.by_turns(0, 1, spread=0.005)
    one, other = measured(made.session)
    assert one.typical_ms > other.typical_ms, "it ran at a slow pace more often"
    decision = decide(made.session, Objective("throughput"))
    assert decision.best and decision.best.case.index == 0
    assert decision.verdict is Verdict.FASTER


def test_cost_and_deciding_sweep_of_a_question_that_turns_decide() -> None:
    made = HandMade(10.0, 10.35, seed=2).alone(0, 1)
    for _ in range(4):
        made.by_turns(0, 1, spread=0.03)
    question = next(each for each in open_questions(made.session) if each.ratio)
    assert question.ratio and question.ratio.by_turns and question.rounds
    more = cost(question)
    assert more and more.rounds == 2 * (question.rounds - 4)
    sweep = deciding_sweep(made.session, [question])
    assert sweep and sweep.measure.rounds_auto
