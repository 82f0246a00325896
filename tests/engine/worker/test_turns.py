"""Workers that take turns: here threads, whose steps are only noted down."""

import threading
from collections.abc import Callable
from math import ceil
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.devices.base import StepTime
from benchtui.engine.job import Partner
from benchtui.engine.worker.timed_loop import MeasuredPhase, Recorder, measure
from benchtui.engine.worker.turns import LEAD_IN_MS, SLICE_MS, SLICES, Turns, slice_steps
from benchtui.engine.workloads.base import StepCounts
from benchtui.sessions.events import Steps
from benchtui.sessions.sweep import Measure

PATIENT_S = 30.0


class Worker:
    """Worker whose steps take a given time by its own clock, and note its name."""

    def __init__(self, name: str, step_ms: float, pipe: Connection, log: list[str], rules: Measure) -> None:
        self.events: list[Steps] = []
        self.phase: MeasuredPhase | None = None
        self._turns = Turns(Partner(case=0, round=1, first=name == "a"), pipe, PATIENT_S)
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
        self.phase = measure(self._workload, self._device, self._rules, record, turns=self._turns)

    @property
    def steps(self) -> int:
        return sum(len(event.wall_ms) for event in self.events)


def run(step_ms: tuple[float, float], rules: tuple[Measure, Measure]) -> tuple[Worker, Worker, list[str]]:
    log: list[str] = []
    ends = Pipe()
    one, other = (Worker(*each, log, rule) for *each, rule in zip("ab", step_ms, ends, rules, strict=True))
    for worker in (one, other):
        worker.thread.start()
    for worker in (one, other):
        worker.thread.join(PATIENT_S)
        assert not worker.thread.is_alive()
    return one, other, log


def runs_of(log: list[str]) -> list[tuple[str, int]]:
    """Return the steps in a row of each worker."""
    rows: list[tuple[str, int]] = []
    for name in log:
        rows = [*rows[:-1], (name, rows[-1][1] + 1)] if rows and rows[-1][0] == name else [*rows, (name, 1)]
    return rows


def test_two_workers_run_slices_of_the_same_duration_in_turns() -> None:
    one, other, log = run((2.5, 5.0), (Measure(iterations=3), Measure(iterations=3)))
    assert one.phase and other.phase
    assert (one.phase.slice_steps, other.phase.slice_steps) == (4, 2)
    assert (one.steps, other.steps) == (4 * SLICES, 2 * SLICES)
    rows = runs_of(log)
    assert [name for name, _ in rows] == ["a", "b"] * SLICES
    assert {amount for name, amount in rows[2:] if name == "a"} == {4 + ceil(LEAD_IN_MS / 2.5)}
    assert one.phase.stop == f"{SLICES} turns of 4 steps; 3 steps"


def test_worker_with_enough_goes_on_until_its_partner_has_enough() -> None:
    rules = Measure(iterations=3), Measure(iterations=10 * SLICES)
    one, other, _ = run((SLICE_MS, SLICE_MS), rules)
    assert (one.steps, other.steps) == (10 * SLICES, 10 * SLICES)


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("end", [lambda pipe: pipe.close(), lambda pipe: pipe.send_bytes(b"")])
def test_worker_goes_on_alone_when_its_partner_ends(end: Callable[[Connection], None], name: str) -> None:
    pipe, partner = Pipe()
    worker = Worker(name, 5.0, pipe, [], Measure(iterations=3))
    end(partner)
    worker.thread.start()
    worker.thread.join(PATIENT_S)
    assert worker.steps == 2 * SLICES


def test_partner_that_hangs_is_no_longer_waited_for() -> None:
    pipe, _silent = Pipe()
    turns = Turns(Partner(case=0, round=0, first=False), pipe, most_wait_s=0.0)
    turns.wait()
    assert turns.partner_has_enough
    turns.pass_on()
    turns.wait()


def test_long_steps_are_one_turn_each() -> None:
    assert [slice_steps(step_ms) for step_ms in (0.01, 3.0, 15.0, 19.0, 4000.0)] == [1000, 3, 1, 1, 1]
