"""Which open questions are decided by two cases that take turns."""

from itertools import pairwise
from typing import Any

import pytest
from by_turns import HandMade

from benchtui.sessions.advice.deciding_sweep import deciding_sweep
from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.open_questions import open_questions
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.advice.race import cost, plan_rounds
from benchtui.sessions.payloads import ProcessSpread
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
