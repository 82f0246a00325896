from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.models.compilation import CompileWatch
from benchtui.engine.worker.timed_loop import Recorder, measure, warm_up
from benchtui.engine.workloads.base import StepCounts
from benchtui.sessions.events import Phase, Steps
from benchtui.sessions.payloads import Compiling
from benchtui.sessions.sweep import Measure

Run = Callable[[list[int], list[int]], Compiling]


@pytest.fixture
def run() -> Iterator[Run]:
    """Warm up and measure a compiled function, called with a batch of the next width at each step."""

    def compiling(warmup: list[int], measured: list[int]) -> Compiling:
        torch._dynamo.reset()
        call = torch.compile(lambda batch: batch * 2, backend="eager")
        widths = iter([*warmup, *measured])
        workload: Any = SimpleNamespace(
            step=lambda lap: call(torch.ones(1, next(widths))), count=lambda done: StepCounts()
        )
        events: list[Steps] = []

        def recorder(phase: Phase) -> Recorder:
            return Recorder(0, phase, events.append, lambda: 0.0)

        rules, watch = Measure(warmup=len(warmup), iterations=len(measured)), CompileWatch()
        warm_up(workload, Cpu(), rules, recorder("warmup"), watch)
        found = measure(workload, Cpu(), rules, recorder("measure"), watch).compiling
        assert found is not None
        return found

    yield compiling
    torch._dynamo.reset()


def test_every_warmup_step_that_compiled_is_recorded(run: Run) -> None:
    """The second width is compiled anew, for any width; the third needs no more."""
    found = run([8, 8, 12, 16], [20, 24])
    assert (found.cold, found.unsteady, found.recompiles) == ((0, 2), (), 0)


def test_a_measured_step_that_compiles_is_unsteady_and_not_cold(run: Run) -> None:
    found = run([8, 8], [8, 12, 16])
    assert (found.cold, found.unsteady, found.recompiles) == ((0,), (1,), 1)
