"""Turns of plain and profiled steps: how many of each, what is recorded, and which trace is exported."""

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from benchtui.engine.devices.base import StepTime
from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.worker.explain import profiling
from benchtui.engine.worker.explain.host_timeline import HostTimeline
from benchtui.engine.worker.explain.profiling import MOST_EVENTS, ROUNDS, _Turns
from benchtui.engine.worker.explain.recording import BLOCK, STEP, ProfiledEvent

MS = 1_000_000


class Device:
    """A CPU on which each plain step takes the same time."""

    torch_device = torch.device("cpu")

    def __init__(self, step_ms: float) -> None:
        self._row = (StepTime(step_ms, None, {}), None)

    def time(self, step: Callable[..., object]) -> tuple[StepTime, None]:
        return self._row

    def time_block(self, step: Callable[..., object], steps: int) -> list[tuple[StepTime, None]]:
        return [self._row] * steps


class Workload:
    """A step of one operator."""

    def __init__(self) -> None:
        self._x = torch.ones(2)
        self.steps = 0

    def step(self, lap: object) -> None:
        self.steps += 1
        torch.sin(self._x)


def block(begin_ms: float, end_ms: float) -> ProfiledEvent:
    return ProfiledEvent(BLOCK, round(begin_ms * MS), round(end_ms * MS), 1)


@pytest.fixture
def turns_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., _Turns]:
    """Run turns whose steps have this time and number of events, without a profiler."""

    def run(step_ms: float, events: int, *, throughput: bool = False) -> _Turns:
        def profile(turns: _Turns, turn: int, sleep: object) -> list[ProfiledEvent]:
            turns._profilers.append(turn)
            return [block(turn, turn + 1)] * events

        monkeypatch.setattr(_Turns, "_profile", profile)
        turns = _Turns(Workload(), Device(step_ms), throughput=throughput)  # type: ignore[arg-type]
        turns.run()
        return turns

    return run


@pytest.mark.parametrize(
    ("step_ms", "events", "blocks", "profiled"),
    [
        (1.0, 100, 10, 6),  # no more blocks than this, however short the steps
        (5.0, 100, 6, 6),  # 30 ms of steps
        (40.0, 100, 1, 6),
        (1.0, MOST_EVENTS // ROUNDS // 2, 2, 6),  # as many blocks as can be read in all turns
        (1.0, MOST_EVENTS // 3, 1, 3),  # too many events even for one block per turn
        (1.0, 2 * MOST_EVENTS, 1, 1),
    ],
)
def test_turn_has_as_many_profiled_steps_as_are_affordable(
    turns_of: Callable[..., _Turns], step_ms: float, events: int, blocks: int, profiled: int
) -> None:
    turns = turns_of(step_ms, events)
    assert (turns._blocks, turns._profilers) == (blocks, list(range(profiled)))


def test_block_in_throughput_mode_is_the_only_one_of_its_turn(turns_of: Callable[..., _Turns]) -> None:
    turns = turns_of(1.0, 100, throughput=True)
    assert (turns._blocks, len(turns._profilers)) == (1, ROUNDS)
    assert turns.block_ns == profiling.BLOCK_STEPS * MS


def test_every_step_of_a_turn_is_recorded_but_the_one_before() -> None:
    workload = Workload()
    turns = _Turns(workload, Device(10.0), throughput=False)  # type: ignore[arg-type]
    turns.run()
    recorded = ROUNDS * 3
    assert workload.steps == (1 + 1) + ROUNDS * (1 + 3)  # a turn to count events comes first
    assert [sum(event.name == name for event in turns.events) for name in (BLOCK, STEP)] == [recorded] * 2
    host = HostTimeline(turns.events)
    assert len(host.blocks) == len(host.steps) == recorded // 2
    operators = [event for event in turns.events if event.name == "aten::sin" and host.covers(event)]
    assert len(operators) == recorded // 2
    numbers = [event.id for event in turns.events if event.id]
    assert len(set(numbers)) == len(numbers)  # also of different turns


def test_exported_trace_has_the_block_nearest_to_plain_steps() -> None:
    """Three turns of two blocks; the fourth block takes as long as a plain step."""
    exported: list[Any] = []
    turns = _Turns(Workload(), Device(10.0), throughput=False)  # type: ignore[arg-type]
    turns._blocks = 2
    turns.plain = [StepTime(10.0, None, {})]
    times_ms = (14.0, 13.0, 18.0, 10.1, 12.0, 25.0)
    turns.events = [block(100 * at, 100 * at + time_ms) for at, time_ms in enumerate(times_ms)]
    turns._profilers = [
        SimpleNamespace(export_chrome_trace=lambda file, turn=turn: exported.append((turn, file)))
        for turn in range(3)
    ]
    turns.export_trace(HostTimeline(turns.events, 0.0, turns.block_ns), "trace.json")
    assert exported == [(1, "trace.json")]


def test_sampled_lines_tell_operators_from_other_native_code() -> None:
    """Products and NumPy's, each on its own line, under the real profiler."""
    x, y = torch.randn(300, 300), np.random.default_rng(0).random((300, 300))

    class Both(Workload):
        def step(self, lap: object) -> None:
            for _ in range(20):
                torch.mm(x, x)
            for _ in range(20):
                y @ y

    turns = _Turns(Both(), Cpu(), throughput=False)  # type: ignore[arg-type]
    turns.run()
    shares: dict[tuple[str, str], float] = defaultdict(float)
    for place in turns.places():
        shares[place.code, place.activity] += place.share
    assert shares["torch.mm(x, x)", "operator"] > 5 * shares["torch.mm(x, x)", "native"]
    assert shares["y @ y", "native"] > 5 * shares["y @ y", "operator"]
