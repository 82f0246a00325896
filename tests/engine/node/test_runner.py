from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.engine.job import PeaksReport
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.node.runner import NodeRunner
from benchtui.sessions.events import Peaks, Telemetry
from benchtui.sessions.payloads import Gpu, GpuReadings

MIG = Gpu(index=2, name="C", uuid="GPU-3", mig=True)


def run(on_gpu: bool, index: int | None = None) -> Any:
    return SimpleNamespace(on_gpu=on_gpu, gpu=None if index is None else Gpu(index=index, name="A"))


def completed(node: NodeRunner, uuid: str, *, idle: bool) -> Peaks:
    """Return peaks whose process was idle or busy on a GPU from 101.5 to 103.5 s of the monotonic clock."""
    peaks, span_s = Peaks(t=0.0, device="cuda:0", precision="fp32"), (101.5, 103.5)
    idle_s, busy_s = (span_s, None) if idle else (None, span_s)
    return node.completed(PeaksReport(peaks=peaks, gpu_uuid=uuid, idle_span_s=idle_s, busy_span_s=busy_s))


@pytest.mark.parametrize(
    ("runs", "measured"),
    [
        ([], None),
        ([run(True)], None),
        ([run(True, 3)], {3}),
        ([run(True, 3), run(True, 0)], {0, 3}),
        ([run(True, 3), run(True)], None),
        ([run(False)], set()),
        ([run(False), run(True, 1)], {1}),
    ],
)
def test_any_gpu_may_be_measured_until_each_case_on_a_gpu_has_named_its_own(
    runs: list[Any], measured: set[int] | None
) -> None:
    node = NodeRunner()
    node._runs = runs
    assert node._measured_gpus() == measured


def test_power_of_a_gpu_is_that_of_its_readings_in_the_span() -> None:
    node = NodeRunner()
    gpus = (Gpu(index=0, name="A", uuid="GPU-1"), Gpu(index=1, name="B", uuid="GPU-2"), MIG)
    node.host = replace(node.host, gpus=gpus)
    node._settings = OpenNode(zero_s=100.0)
    readings = tuple(GpuReadings(index=each, power_w=[70.0, 116.0, 118.0, 600.0]) for each in (1, 2))
    node._telemetry.add(Telemetry(t=4.0, at_s=[1.0, 2.0, 3.0, 4.0], gpus=readings))
    assert completed(node, "GPU-2", idle=True).context_power_w == 117.0
    for uuid in ("GPU-1", "GPU-3", "GPU-4"):
        assert completed(node, uuid, idle=True).context_power_w is None


def test_clock_under_load_is_kept_for_later_cases() -> None:
    node = NodeRunner()
    node.host = replace(node.host, gpus=(Gpu(index=0, name="A", uuid="GPU-1"), MIG))
    node._settings = OpenNode(zero_s=100.0)
    readings = tuple(
        GpuReadings(index=each, graphics_clock_mhz=[345.0, 1900.0, 1800.0, 345.0]) for each in (0, 2)
    )
    node._telemetry.add(Telemetry(t=4.0, at_s=[1.0, 2.0, 3.0, 4.0], gpus=readings))
    for uuid in ("GPU-1", "GPU-3"):
        completed(node, uuid, idle=False)
    assert node._telemetry.best_clock_mhz(0, 4.0, 4.0) == 1850.0, "a slower case doesn't lower it"
    assert node._telemetry.best_clock_mhz(1, 0.0, 9.0) is None


class Processes:
    """Processes of which it is only known whether their server was started."""

    started = False

    def start_server(self) -> None:
        self.started = True


@pytest.mark.parametrize("rapl", [True, False])
def test_torch_is_imported_during_the_idle_sample_unless_a_processors_power_is_read(rapl: bool) -> None:
    processes: Any = Processes()
    node = NodeRunner(processes)
    node.host = replace(node.host, absent={} if rapl else {"rapl": "no counters"})
    node.prepare()
    assert processes.started is not rapl
