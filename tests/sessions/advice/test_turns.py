"""Which open questions are decided by cases that take turns."""

from itertools import combinations, pairwise
from typing import Any

import pytest
from by_turns import ROUND_S, SLICE_STEPS, SLICES, HandMade
from msgspec.structs import replace

from benchtui.sessions.advice.deciding_sweep import deciding_sweep
from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.open_questions import ROUNDS_WORTH, OpenQuestion, open_questions
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.advice.race import cost, plan_rounds
from benchtui.sessions.advice.turns import Turns
from benchtui.sessions.estimates.stop_limits import TURNS_S
from benchtui.sessions.events import CasePrepared
from benchtui.sessions.payloads import Model, ProcessSpread
from benchtui.sessions.stats.noise import OWN_ROUNDS
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import FIRST_ROUNDS, Ratio, Verdict
from benchtui.sessions.sweep import Find


def question(made: HandMade, *cases: int, by_turns: bool = False, **asked: Any) -> OpenQuestion:
    """An open question about two cases."""
    ratio = Ratio(1.05, same_within=0.02, by_turns=by_turns)
    states = tuple(made.session.cases[index] for index in cases)
    return OpenQuestion(about=("verdict",), cases=states, ratio=ratio, **asked)


def turns(made: HandMade) -> Turns:
    return Turns(made.session, measured(made.session))


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


def test_pairs_beyond_the_fourth_case_wait() -> None:
    made = HandMade(10.0, 10.1, 10.2, 10.3, 10.4).alone(0, 1, 2, 3, 4)
    asked = [question(made, 0, 1), question(made, 0, 2), question(made, 3, 4), question(made, 1, 3)]
    assert sorted(turns(made).next(asked, 600.0)) == [0, 1, 2, 3]


def test_cases_of_other_works_take_turns_of_their_own() -> None:
    lengths = (16, 16, 64, 64)
    made = HandMade(10.0, 10.2, 30.0, 30.2, lengths=lengths, budget_s=60.0).alone(0, 1, 2, 3)
    waves = []
    while (plan := plan_rounds(made.session)).rounds:
        waves.append(frozenset(plan.rounds))
        made.by_turns(*plan.rounds)
    assert set(waves) == {frozenset({0, 1}), frozenset({2, 3})}


def test_works_without_a_case_to_recommend_come_first() -> None:
    made = HandMade(10.0, 10.2, 30.0, 30.2, lengths=(16, 16, 64, 64)).alone(0, 1, 2, 3)
    assert plan_rounds(made.session).questions[0].cases[0].config.sequence_length == 16
    for _ in range(4):
        made.by_turns(0, 1)
    first, *others = plan_rounds(made.session).questions
    assert first.cases[0].config.sequence_length == 64
    assert any(each.cases and each.cases[0].config.sequence_length == 16 for each in others)


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
        {"container_memory_mb": 2000.0},
        {"run": {"executor": "slurm"}},
        {"run": {"wait_below_c": 60.0}},
    ],
)
def test_cases_that_cannot_share_a_device_get_ordinary_rounds(entries: dict[str, Any]) -> None:
    plan = plan_rounds(HandMade(10.0, 10.5, **entries).alone(0, 1).session)
    assert plan.rounds and not plan.by_turns


@pytest.mark.parametrize(
    ("worker_cpu", "own", "by_turns"),
    [
        (1.1995, (0.5, 0.5), True),
        (1.25, (0.5, 0.5), False),
        (1.21, (1.0, None), False),
        (1.9, (None, None), True),
        (None, (1.0, 0.0), True),
    ],
)
def test_case_whose_data_loader_would_go_on_gets_ordinary_rounds(
    worker_cpu: float | None, own: tuple[float | None, float | None], by_turns: bool
) -> None:
    """The worker itself uses one processor, its children the rest, where both are known."""
    own_ms = 1000 * ROUND_S / (SLICES * SLICE_STEPS)
    user_ms, system_ms = (part and part * own_ms for part in own)
    made = HandMade(10.0, 10.5).alone(0)
    made.alone(1, worker_cpu=worker_cpu, user_ms=user_ms, system_ms=system_ms)
    made.alone(0, 1)
    assert plan_rounds(made.session).by_turns is by_turns


@pytest.mark.parametrize("steps_ms", [(5100.0, 5200.0), (10.0, 8000.0)])
def test_long_steps_get_ordinary_rounds(steps_ms: tuple[float, float]) -> None:
    made = HandMade(*steps_ms).alone(0, 1)
    assert not turns(made).suit(question(made, 0, 1))


@pytest.mark.parametrize(("memory_mb", "fit"), [(8000.0, True), (2500.0, True), (2499.0, False), (None, False)])
def test_cases_on_a_gpu_share_the_memory_of_that_gpu(memory_mb: float | None, fit: bool) -> None:
    made = HandMade(10.0, 10.5, devices=["cuda:0", "cuda:0"], gpus_mb=(80_000.0, memory_mb)).alone(0, 1)
    for case in made.session.cases:  # torch's cuda:0 is the driver's second GPU
        case.prepared = CasePrepared(t=1.0, case=case.index, model=Model(name=""), gpu_uuid="GPU-1")
    assert turns(made).suit(question(made, 0, 1)) is fit


def test_memory_of_cases_is_their_highest_peak() -> None:
    made = HandMade(10.0, 10.5).alone(0, 1)
    assert turns(made).suit(question(made, 0, 1))
    made.peak_mb = 4000.0
    made.alone(0, 1)
    made.peak_mb = 1000.0
    made.alone(0, 1)
    assert not turns(made).suit(question(made, 0, 1))


def test_case_without_a_round_takes_no_turns_yet() -> None:
    made = HandMade(10.0, 10.5, 10.6).alone(0, 1)
    assert not turns(made).suit(question(made, 0, 2))


def test_begun_turns_go_on_where_ordinary_rounds_would_do() -> None:
    recorded = {"cpu": ProcessSpread(between=0.005, freedom=40.0)}
    made = HandMade(10.0, 11.0, process_spread=recorded).alone(0, 1)
    assert not turns(made).suit(question(made, 0, 1, rounds=FIRST_ROUNDS))
    assert turns(made).suit(question(made, 0, 1, rounds=FIRST_ROUNDS + 1))
    made.by_turns(0, 1)
    assert turns(made).suit(question(made, 0, 1, rounds=2))


@pytest.mark.parametrize(
    ("by_turns", "asked", "find", "pairs"),
    [
        (False, {"rounds": None}, None, OWN_ROUNDS - 2),
        (True, {"rounds": 6}, None, 4),
        (True, {"rounds": 2}, None, 0),
        (True, {"rounds": 1}, None, 0),
        (True, {"rounds": None}, None, 0),
        (True, {"obstacle": "close"}, None, 0),
        (True, {"obstacle": "close"}, Find(), ROUNDS_WORTH - 2),
        (True, {"obstacle": "steps", "rounds": 3}, Find(), 1),
    ],
)
def test_pairs_that_a_question_still_needs(
    by_turns: bool, asked: dict[str, Any], find: Find | None, pairs: int
) -> None:
    made = HandMade(10.0, 10.5, find=find).alone(0, 1).by_turns(0, 1).by_turns(0, 1)
    assert turns(made).pairs(question(made, 0, 1, by_turns=by_turns, **asked)) == pairs


@pytest.mark.parametrize("asked", [{"rounds": None}, {"obstacle": "close"}])
def test_question_that_no_pairs_decide_gets_none(asked: dict[str, Any]) -> None:
    made = HandMade(10.0, 10.5).alone(0, 1)
    assert turns(made).pairs(question(made, 0, 1, by_turns=True, **asked)) == 0


@pytest.mark.parametrize(
    ("left_s", "first", "cases"),
    [
        (70.0, {"by_turns": True, "rounds": 20}, {0, 1}),
        (50.0, {"by_turns": True, "rounds": 20}, {2, 3}),
        (0.0, {"by_turns": True, "rounds": 20}, set()),
    ],
)
def test_first_question_that_fits_the_rest_of_the_budget_is_next(
    left_s: float, first: dict[str, Any], cases: set[int]
) -> None:
    """A pair of rounds takes 4 s: 16 are missing of the first question, and 1 of the second."""
    made = HandMade(10.0, 10.5, 20.0, 21.0, lengths=(16, 16, 64, 64)).alone(0, 1, 2, 3)
    for _ in range(4):
        made.by_turns(0, 1).by_turns(2, 3)
    asked = [question(made, 0, 1, **first), question(made, 2, 3, by_turns=True, rounds=5)]
    assert set(turns(made).next(asked, left_s)) == cases


def test_question_begun_with_a_single_pair_goes_before_others() -> None:
    made = HandMade(10.0, 10.5, 20.0, 21.0, lengths=(16, 16, 64, 64)).alone(0, 1, 2, 3).by_turns(2, 3)
    asked = [question(made, 0, 1), question(made, 2, 3)]
    assert set(turns(made).next(asked, 600.0)) == {2, 3}


@pytest.mark.parametrize(("timed", "start_s"), [(True, 0.0), (False, ROUND_S)])
def test_turns_of_cases_that_were_measured_alone_take_their_start_and_two_seconds(
    timed: bool, start_s: float
) -> None:
    """A whole round counts as the start if it is unknown when its steps began."""
    made = HandMade(10.0, 10.5, 20.0, 21.0, lengths=(16, 16, 64, 64)).alone(0, 1, 2, 3).by_turns(2, 3)
    for case in made.session.cases[:2]:
        case.rounds = tuple(replace(end, measured_s=end.measured_s if timed else None) for end in case.rounds)
    asked = [question(made, 0, 1), question(made, 2, 3, by_turns=True, rounds=2)]
    needed_s = OWN_ROUNDS * 2 * (start_s + TURNS_S)
    assert set(turns(made).next(asked, needed_s)) == {0, 1}
    assert set(turns(made).next(asked, needed_s - 0.1)) == {2, 3}


@pytest.mark.parametrize(("left_s", "amount"), [(8.0, 4), (6.0, 4), (5.9, 2), (2.0, 2), (1.9, 0)])
def test_last_turns_end_at_most_the_time_of_one_case_too_late(left_s: float, amount: int) -> None:
    """A round of four cases takes 8 s, and one of a pair 4 s."""
    made = HandMade(10.0, 10.1, 10.2, 10.3).alone(0, 1, 2, 3).by_turns(0, 1, 2, 3)
    asked = [question(made, 0, other) for other in (1, 2, 3)]
    assert len(turns(made).next(asked, left_s)) == amount


def test_last_turns_may_exceed_the_budget_by_the_time_of_the_slowest_case() -> None:
    """One case takes 2 s, the other one 5 s."""
    made = HandMade(10.0, 10.1).alone(0, 1)
    slow = made.session.cases[0]
    assert slow.started
    slow.started = replace(slow.started, t=slow.started.t - 3.0)
    asked = [question(made, 0, 1)]
    assert [turns(made).next(asked, left_s) for left_s in (2.0, 1.9)] == [(0, 1), ()]


def test_race_without_time_for_turns_has_spent_its_budget() -> None:
    plan = plan_rounds(HandMade(10.0, 10.1, budget_s=1.9).alone(0, 1).session)
    assert (plan.rounds, plan.ended) == ((), "the budget is spent")


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
