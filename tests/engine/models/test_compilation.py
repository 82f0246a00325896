import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._dynamo.callback import CallbackTrigger, callback_handler
from torch._dynamo.utils import counters

from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.models.compilation import CompileWatch, applied_cuda_graphs
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
            step=lambda lap: call(torch.ones(1, next(widths))),
            count=lambda done: StepCounts(),
            begin_warmup=lambda: None,
            begin_measuring=lambda: None,
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
    """The second width is recompiled, for any width; the third needs no more."""
    found = run([8, 8, 12, 16], [20, 24])
    assert (found.cold, found.unsteady, found.recompiles) == ((0, 2), (), 0)


def test_a_measured_step_that_compiles_is_unsteady_and_not_cold(run: Run) -> None:
    found = run([8, 8], [8, 12, 16])
    assert (found.cold, found.unsteady, found.recompiles) == ((0,), (1,), 1)


def record_cuda_graph() -> None:
    """Report a recording as torch does; its inputs are all static, so no counter moves."""
    with callback_handler.install_callbacks(CallbackTrigger.CUDAGRAPH_RECORDING, "0/0"):
        pass


@pytest.fixture
def watch() -> Iterator[CompileWatch]:
    """Watch a case in whose warm-up torch recorded a CUDA graph in the second of three steps."""
    skips, started = counters["inductor"]["cudagraph_skips"], len(callback_handler.start_callbacks)
    watch = CompileWatch(cuda_graphs=True)
    watch.check(1)
    record_cuda_graph()
    watch.check(2)
    watch.check(3)
    watch.begin_measuring()
    yield watch
    counters["inductor"]["cudagraph_skips"] = skips
    del callback_handler.start_callbacks[started:]


def test_recording_a_cuda_graph_makes_a_warmup_step_cold(watch: CompileWatch) -> None:
    found = watch.result()
    assert (found.cold, found.unsteady, found.cuda_graphs, found.cuda_graph_skips) == ((1,), (), 1, 0)
    assert applied_cuda_graphs(found) is True


def test_recording_a_cuda_graph_makes_a_measured_step_unsteady(watch: CompileWatch) -> None:
    watch.check(1)
    record_cuda_graph()
    watch.check(2)
    found = watch.result()
    assert (found.cold, found.unsteady, found.cuda_graphs) == ((1,), (1,), 2)


def test_cuda_graphs_are_not_applied_if_torch_skipped_one(watch: CompileWatch) -> None:
    counters["inductor"]["cudagraph_skips"] += 1
    found = watch.result()
    assert found.cuda_graph_skips == 1
    assert applied_cuda_graphs(found) is False


def test_cuda_graphs_are_unknown_if_they_were_not_requested() -> None:
    found = CompileWatch().result()
    assert (found.cuda_graphs, found.cuda_graph_skips, applied_cuda_graphs(found)) == (None, None, None)
    assert applied_cuda_graphs(None) is None


def test_counting_graphs_does_not_load_the_compiler() -> None:
    script = """
import sys
from benchtui.engine.models import compilation
assert compilation.graphs() == 0
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
