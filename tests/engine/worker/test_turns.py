"""Workers that take turns: here threads, whose steps are only noted down."""

import os
import threading
from collections.abc import Sequence
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.devices.base import StepTime
from benchtui.engine.job import TurnOrder
from benchtui.engine.worker import timed_loop
from benchtui.engine.worker.environment import EnvironmentProbe
from benchtui.engine.worker.timed_loop import MeasuredPhase, Recorder, measure
from benchtui.engine.worker.turns import SLICE_MS, SLICES, Pipes, Turns, on_one_processor, slice_steps
from benchtui.engine.workloads.base import StepCounts
from benchtui.sessions.events import Steps
from benchtui.sessions.payloads import CaseRound
from benchtui.sessions.sweep import Measure

PATIENT_S = 30.0


class Worker:
    """Worker whose steps take a given time by its own clock, and note its name."""

    def __init__(self, name: str, step_ms: float, turns: Turns, log: list[str], rules: Measure) -> None:
        self.events: list[Steps] = []
        self.phase: MeasuredPhase | None = None
        self.turns = turns
        self._device: Any = SimpleNamespace(
            time=lambda step: (StepTime(step_ms, None, {}), step(None)), reset_memory_peaks=lambda: None
        )
        self._workload: Any = SimpleNamespace(
            step=lambda lap: log.append(name), count=lambda done: StepCounts(), begin_measuring=lambda: None
        )
        self._rules = rules
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        record = Recorder(0, "measure", self.events.append, lambda: 1.0)
        self.phase = measure(self._workload, self._device, self._rules, record, turns=self.turns)

    @property
    def steps(self) -> int:
        return sum(len(event.wall_ms) for event in self.events)


def around(workers: int, timeout_s: float = PATIENT_S, missing: int | None = None) -> list[Turns]:
    """Return the turns of several workers, case 10 and so on. A missing one has ended before its first turn."""
    ends = [Pipe(duplex=False) for _ in range(workers)]
    rounds = tuple(CaseRound(case=10 + place, round=place) for place in range(workers))
    pipes = [Pipes(ends[place - 1][0], ends[place][1]) for place in range(workers)]
    if missing is not None:
        pipes[missing].close()
    return [
        Turns(TurnOrder(rounds=rounds, place=place), pipes[place], timeout_s)
        for place in range(workers)
        if place != missing
    ]


def run(step_ms: Sequence[float], rules: Sequence[Measure]) -> tuple[list[Worker], list[str]]:
    log: list[str] = []
    turns = around(len(step_ms))
    workers = [Worker(*each) for each in zip("abcd", step_ms, turns, [log] * 4, rules, strict=False)]
    for worker in workers:
        worker.thread.start()
    for worker in workers:
        worker.thread.join(PATIENT_S)
        assert not worker.thread.is_alive()
    return workers, log


def runs_of(log: list[str]) -> list[tuple[str, int]]:
    """Return the steps in a row of each worker."""
    rows: list[tuple[str, int]] = []
    for name in log:
        rows = [*rows[:-1], (name, rows[-1][1] + 1)] if rows and rows[-1][0] == name else [*rows, (name, 1)]
    return rows


def test_two_workers_run_slices_of_the_same_duration_in_turns() -> None:
    (one, other), log = run((2.5, 5.0), [Measure(iterations=3)] * 2)
    assert one.phase and other.phase
    assert (one.phase.slice_steps, other.phase.slice_steps) == (4, 2)
    assert (one.steps, other.steps) == (4 * 75, 2 * 75)
    rows = runs_of(log)
    assert [name for name, _ in rows] == ["a", "b"] * 75
    assert rows[:2] == [("a", 3 + 4), ("b", 3 + 2)], "three steps of the first turn say how long they are"
    assert set(rows[2:]) == {("a", 3 + 4), ("b", 2 + 2)}, "6 ms of steps that aren't recorded lead in"
    assert one.phase.stop == "75 turns of 4 steps"


def test_long_steps_need_no_lead_in_and_short_ones_have_a_least_duration() -> None:
    (long, short, shortest), log = run((50.0, 49.0, 0.0), [Measure(iterations=3)] * 3)
    rows = runs_of(log)
    assert rows[:2] == [("a", 1 + 1), ("b", 2 + 1)], "50 ms say how long they are"
    assert {amount for name, amount in rows[3:] if name == "a"} == {1}
    assert {amount for name, amount in rows[3:] if name == "b"} == {1 + 1}
    assert {amount for name, amount in rows[3:] if name == "c"} == {601 + 1000}, "steps of 0.01 ms"
    assert [worker.steps for worker in (long, short, shortest)] == [75, 75, 75_000]


def test_measurement_of_each_worker_begins_with_its_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    probe = timed_loop.EnvironmentProbe

    def begin() -> EnvironmentProbe:
        log.append("begins")
        return probe()

    monkeypatch.setattr(timed_loop, "EnvironmentProbe", begin)
    one, other = around(2)
    late = Worker("b", SLICE_MS, other, log, Measure(iterations=3))
    late.thread.start()
    first = Worker("a", SLICE_MS, one, log, Measure(iterations=3))
    first.thread.start()
    for worker in (first, late):
        worker.thread.join(PATIENT_S)
    assert log[:2] == ["begins", "a"]
    assert log.index("begins", 1) == log.index("b") - 1


@pytest.mark.parametrize("workers", [3, 4])
def test_several_workers_run_one_after_another(workers: int) -> None:
    found, log = run([SLICE_MS] * workers, [Measure(iterations=3)] * workers)
    assert [name for name, _ in runs_of(log)] == list("abcd"[:workers]) * SLICES
    for place, worker in enumerate(found):
        taken = worker.turns.taken(1)
        assert taken and taken.partners == {10 + each: each for each in range(workers) if each != place}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_workers_with_enough_go_on_until_the_last_one_has_enough(place: int) -> None:
    rules = [Measure(iterations=3, max_time_s=0.0)] * 3
    rules[place] = Measure(iterations=3)
    found, _ = run([SLICE_MS] * 3, rules)
    assert [worker.steps for worker in found][: place + 1] == [SLICES] * (place + 1)
    assert all(worker.steps in (SLICES - 1, SLICES) and worker.turns.taken(1) for worker in found)


def test_time_of_all_limits_the_turns_whatever_the_sweep_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_loop, "TURNS_S", 0.0)
    found, _ = run([SLICE_MS] * 2, [Measure(iterations=500), Measure(iterations=3)])
    assert [worker.steps for worker in found] == [6, 6]


@pytest.mark.parametrize("place", [0, 1])
def test_worker_goes_on_alone_when_its_partner_ends(place: int) -> None:
    (turns,) = around(2, missing=1 - place)
    worker = Worker("a", 5.0, turns, [], Measure(iterations=3))
    worker.thread.start()
    worker.thread.join(PATIENT_S)
    assert worker.steps == 2 * SLICES
    assert worker.turns.taken(2) is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_others_go_on_when_one_of_three_ends(place: int) -> None:
    turns = around(3, missing=place)
    workers = [Worker("a", 5.0, each, [], Measure(iterations=3)) for each in turns]
    for worker in workers:
        worker.thread.start()
    for worker in workers:
        worker.thread.join(PATIENT_S)
        assert worker.steps == 2 * SLICES
    assert None in [worker.turns.taken(2) for worker in workers]


def test_partner_that_hangs_is_no_longer_waited_for() -> None:
    _, turns = around(2, timeout_s=0.0)
    turns.wait()
    assert turns.others_have_enough
    turns.pass_on()
    turns.wait()
    assert turns.taken(1) is None


def test_long_steps_are_one_turn_each() -> None:
    assert [slice_steps(step_ms) for step_ms in (0.01, 3.0, 15.0, 19.0, 4000.0)] == [1000, 3, 1, 1, 1]


class Notes:
    """End of a pipe that notes what is waited for and sent; the other end has closed it after ``sends``."""

    def __init__(self, received: Sequence[bytes] = (), sends: int = 1_000) -> None:
        self.sent: list[bytes] = []
        self.waits_s: list[float] = []
        self._received, self._sends = list(received), sends

    def poll(self, seconds: float) -> bool:
        self.waits_s.append(seconds)
        return bool(self._received)

    def recv_bytes(self) -> bytes:
        return self._received.pop(0)

    def send_bytes(self, message: bytes) -> None:
        if len(self.sent) >= self._sends:
            raise BrokenPipeError
        self.sent.append(message)

    def close(self) -> None:
        pass


def noted(workers: int, place: int, before: Notes, after: Notes) -> Turns:
    rounds = tuple(CaseRound(case=each, round=0) for each in range(workers))
    ends: Any = Pipes(before, after)  # type: ignore[arg-type]
    return Turns(TurnOrder(rounds=rounds, place=place), ends, 10.0)


def test_each_other_worker_may_take_the_time_limit_of_a_case() -> None:
    before = Notes([b"\0"])
    noted(4, 1, before, Notes()).wait()
    assert before.waits_s == [30.0]


def test_workers_right_before_one_that_have_enough_are_counted_up_to_all_others() -> None:
    before, after = Notes([b"\0", b"\1", b"\2", b"\2"]), Notes()
    turns = noted(3, 1, before, after)
    for enough in (True, True, True, False):
        turns.wait()
        turns.pass_on(enough=enough)
    assert after.sent == [b"\1", b"\2", b"\2", b"\0"]
    assert turns.others_have_enough


@pytest.mark.parametrize(
    ("had_enough", "enough", "complete"),
    [(2, True, True), (2, False, False), (1, True, False), (0, False, False)],
)
def test_next_worker_may_end_once_all_have_enough(had_enough: int, enough: bool, complete: bool) -> None:
    turns = noted(3, 1, Notes([bytes([had_enough])]), Notes(sends=0))
    turns.wait()
    turns.pass_on(enough=enough)
    assert (turns.taken(1) is not None) is complete


def test_turns_run_on_the_first_usable_processor_and_give_the_others_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usable, calls = {3, 5, 4}, []
    monkeypatch.setattr(os, "sched_getaffinity", {0: usable}.__getitem__, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *each: calls.append(each), raising=False)
    with pytest.raises(KeyboardInterrupt), on_one_processor():
        assert calls == [(0, {3})]
        raise KeyboardInterrupt
    assert calls == [(0, {3}), (0, usable)]


def test_where_processors_cannot_be_chosen_turns_run_on_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with on_one_processor():
        pass
