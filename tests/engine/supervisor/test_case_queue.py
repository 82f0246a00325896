from collections.abc import Sequence
from typing import Any

import pytest
from by_turns import HandMade

from benchtui.engine.job import TurnOrder
from benchtui.engine.supervisor import case_queue as queue_module
from benchtui.engine.supervisor.case_queue import Queue
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import RoundsPlanned
from benchtui.sessions.payloads import CaseRound
from benchtui.sessions.sweep import Axes, Config, Measure, Run, Sweep

BOTH = ("cuda:0", "cuda:1")


def made(*, rounds: int = 1, parallel: bool = False, **axes: Any) -> Queue:
    rules = Measure(rounds=rounds)
    return Queue(Sweep(name="s", model="m", axes=Axes(**axes), measure=rules, run=Run(parallel=parallel)))


def start_all(queue: Queue) -> list[int]:
    """Start what may start now."""
    started = []
    while turn := queue.next():
        started.append(turn.case.index)
    return started


def pending(queue: Queue) -> list[int]:
    return [case.index for case in queue.pending]


def test_rounds_alternate_in_direction_and_a_failure_ends_the_case() -> None:
    queue, turns = made(rounds=3, batch_size=(1, 2, 3)), []
    while turn := queue.next():
        turns.append(f"{turn.round}{turn.case.index}")
        queue.ended(turn.case.index, "failed" if turns[-1] == "11" else "ok")
    assert " ".join(turns) == "00 01 02 12 11 10 20 22"
    assert all(queue.has_ended(index) for index in range(3))


def test_parallel_sweep_runs_one_case_per_gpu() -> None:
    queue = made(parallel=True, device=BOTH, batch_size=(1, 2))
    assert start_all(queue) == [0, 2]
    queue.ended(2, "ok")
    assert start_all(queue) == [3]
    queue.ended(0, "ok")
    assert start_all(queue) == [1]


def test_cpu_case_in_a_parallel_sweep_runs_alone_and_is_not_overtaken() -> None:
    queue = made(parallel=True, device=("cuda:0", "cpu", "cuda:1"))
    assert start_all(queue) == [0]
    queue.ended(0, "ok")
    assert start_all(queue) == [1]
    queue.ended(1, "ok")
    assert start_all(queue) == [2]


def test_free_gpu_starts_its_next_round_early() -> None:
    queue = made(parallel=True, rounds=2, device=BOTH)
    assert start_all(queue) == [0, 1]
    queue.ended(1, "ok")
    turn = queue.next()
    assert turn is not None and (turn.case.index, turn.round) == (1, 1)


def test_only_pending_cases_can_be_dropped() -> None:
    queue = made(batch_size=(1, 2, 3))
    start_all(queue)
    assert [case.index for case in queue.drop([2, 2])] == [2]
    assert pending(queue) == [1]
    for index, said in ((0, "case 1 is running"), (2, "case 3 has ended"), (9, "no case 10; .* 3 cases")):
        with pytest.raises(BenchtuiError, match=said):
            queue.drop([1, index])
    with pytest.raises(BenchtuiError, match="no case 0;"):
        queue.require(-1)
    assert pending(queue) == [1], "a refused command changes nothing"


def test_added_case_catches_up_with_earlier_rounds() -> None:
    queue = made(rounds=2, batch_size=(1, 2))
    for _ in range(3):
        queue.ended(start_all(queue)[0], "ok")
    assert queue.add(Config(device="cpu", batch_size=8)).index == 2
    turns = []
    while turn := queue.next():
        turns.append(f"{turn.round}{turn.case.index}")
        queue.ended(turn.case.index, "ok")
    assert turns == ["02", "12", "10"]


def test_added_case_can_follow_another_and_has_a_reason_if_unsupported() -> None:
    queue = made(batch_size=(1, 2))
    case = queue.add(Config(device="cpu", precision="tf32"), after=0)
    assert pending(queue) == [0, 2, 1]
    assert case.skip is not None and "tf32" in case.skip


def test_full_plan_rejects_more_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = made(batch_size=(1, 2))
    monkeypatch.setattr(queue_module, "MOST_CASES", 2)
    with pytest.raises(BenchtuiError, match="the plan is full: at most 2 cases"):
        queue.add(Config(device="cpu"))
    assert len(queue.cases) == 2


def by_turns(cases: Sequence[int] = (2, 0)) -> Queue:
    """Three cases with a first round each, of which some have a further one by turns."""
    plan = Sweep(name="s", model="m", axes=Axes(batch_size=(1, 2, 3)), measure=Measure(rounds_auto=True))
    queue = Queue(plan)
    while turn := queue.next():
        queue.ended(turn.case.index, "ok")
    queue.plan_further(cases, by_turns=True)
    return queue


def test_two_cases_that_take_turns_start_together() -> None:
    queue = by_turns()
    first, second = queue.next(), queue.next()
    assert first and second and queue.next() is None
    rounds = (CaseRound(case=2, round=1), CaseRound(case=0, round=1))
    assert (first.case.index, first.turns) == (2, TurnOrder(rounds=rounds, place=0))
    assert (second.case.index, second.turns) == (0, TurnOrder(rounds=rounds, place=1))
    queue.ended(2, "ok")
    queue.ended(0, "ok")
    queue.plan_further([2, 0])
    alone = queue.next()
    assert alone and alone.turns is None and queue.next() is None


def test_case_whose_partner_is_gone_runs_alone() -> None:
    queue = by_turns()
    queue.drop([2])
    alone = queue.next()
    assert alone and alone.case.index == 0 and alone.turns is None


def test_three_cases_that_take_turns_start_together() -> None:
    queue = by_turns([1, 2, 0])
    started = [queue.next() for _ in range(4)]
    assert [(each.case.index, each.turns and each.turns.place) for each in started if each] == [
        (1, 0),
        (2, 1),
        (0, 2),
    ]


def test_no_case_joins_turns_from_which_one_is_gone() -> None:
    queue = by_turns([1, 2, 0])
    assert queue.next()
    queue.drop([2])
    assert queue.next() is None


def test_turns_that_were_cut_off_is_measured_again_as_a_whole() -> None:
    made = HandMade(10.0, 10.5).alone(0, 1)
    plan = RoundsPlanned(t=9.0, cases=(1, 0), open_questions=1, spent_s=0.0, budget_s=60.0, by_turns=True)
    made.session.apply(plan)
    queue = Queue(made.session.start.sweep)
    queue.restore(made.session)
    turns = queue.next(), queue.next()
    assert [(turn.case.index, turn.turns and turn.turns.place) for turn in turns if turn] == [(1, 0), (0, 1)]
    made.alone(1)
    queue.restore(made.session)
    assert not queue.pending and pending_plans(queue) == [0, 1]


def pending_plans(queue: Queue) -> list[int]:
    return [case.index for case in queue.between_plans]
