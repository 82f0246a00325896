from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.engine.job import PeaksReport
from benchtui.engine.node.preflight import NodeTask, idle_and_torch, neighbor_warning, peaks, thread_warning
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Idle, Message, Peaks, Runtime
from benchtui.sessions.payloads import Neighbor

WHY = "its process can't be started: Too many open files"
KEYS = (PeakKey("cpu", "fp32", 1), PeakKey("cpu", "bf16", 1))


class Short:
    """Processes that can't be started."""

    def query_torch(self) -> Any:
        raise BenchtuiError(WHY)

    def measure_peaks(self, key: PeakKey, *, idle_first: bool) -> Any:
        raise BenchtuiError(WHY)


@pytest.fixture
def processes() -> Iterator[Any]:
    yield Short()


def test_machine_that_is_busy_before_the_first_case_is_a_warning_with_names() -> None:
    idle = Idle(t=2.0, window_s=2.0, others_cpu_percent=98.4, neighbors=(Neighbor(name="make", user="bob"),))
    preparation = NodeTask(idle_and_torch(Short(), lambda: idle, 1e-9, None))  # type: ignore[arg-type]
    found = list(preparation.collect(2.0))
    assert found[0] == idle
    assert isinstance(found[1], Message) and found[1].level == "warning"
    assert found[1].text == "other processes use 98% CPU before the first case: make (bob)"
    assert list(neighbor_warning(replace(idle, neighbors=()))) == []


def test_missing_files_for_the_torch_query_are_reported(processes: Any) -> None:
    preparation = NodeTask(idle_and_torch(processes, lambda: None, 0.0, None))
    (event,) = preparation.collect(1.0)
    assert isinstance(event, Message) and event.text == f"can't query torch: {WHY}"
    assert preparation.ended and preparation.sources == []


@pytest.mark.parametrize(("threads", "cpu_limit"), [(64, None), (4, 4.0), (3, 2.5), (None, 4.0)])
def test_threads_within_the_cpu_quota_are_no_warning(threads: int | None, cpu_limit: float | None) -> None:
    assert list(thread_warning(Runtime(t=0.0, torch="2.9", threads=threads), cpu_limit)) == []


def test_more_threads_than_the_cpu_quota_are_a_warning() -> None:
    (warning,) = thread_warning(Runtime(t=0.0, torch="2.9", threads=64, node="n1"), 4.5)
    assert warning.level == "warning"
    assert warning.text.startswith(
        "torch uses 64 threads by default on n1, but the control group's quota is 4.5"
    )
    assert warning.text.endswith("set threads to 4 or less for cases on cpu")


class Answering:
    """A probe of torch that has answered."""

    source, ended = 0, True

    def query_torch(self) -> Any:
        return self

    def result(self) -> Runtime:
        return Runtime(t=0.0, torch="2.9", threads=64)


def test_warning_follows_the_answer_of_torch() -> None:
    processes: Any = Answering()
    preparation = NodeTask(idle_and_torch(processes, lambda: None, 0.0, None, 4.0))
    events = [event for _ in range(2) for event in preparation.collect(1.0)]
    assert [type(event) for event in events] == [Runtime, Message]


def test_missing_files_for_measuring_peaks_are_reported_once(processes: Any) -> None:
    errand = NodeTask(peaks(processes, KEYS, "n1"))
    events = list(errand.collect(1.0))
    assert errand.ended and errand.sources == []
    found = [event for event in events if isinstance(event, Peaks)]
    assert [(each.precision, each.node, each.absent["flops"]) for each in found] == [
        ("fp32", "n1", WHY),
        ("bf16", "n1", WHY),
    ]
    assert list(errand.collect(2.0)) == []


class Measuring:
    """Processes that have measured the peaks of a GPU."""

    source, ended = 0, True

    def __init__(self) -> None:
        self.idled: list[tuple[str, bool]] = []

    def measure_peaks(self, key: PeakKey, *, idle_first: bool) -> Any:
        self.idled.append((key.device, idle_first))
        self.key = key
        return self

    def result(self) -> PeaksReport:
        peaks = Peaks(t=0.0, device=self.key.device, precision=self.key.precision)
        idle_span_s = (5.0, 6.25) if self.idled[-1][1] else None
        return PeaksReport(peaks=peaks, gpu_uuid="GPU-1", idle_span_s=idle_span_s, busy_span_s=(7.0, 9.0))


@pytest.mark.parametrize("readable", [True, False])
def test_power_with_a_context_is_read_before_the_first_peaks_of_each_gpu(readable: bool) -> None:
    keys = [PeakKey(f"cuda:{place}", kind, 0) for place in (0, 1) for kind in ("fp32", "bf16")]
    processes: Any = Measuring()
    reports: list[PeaksReport] = []

    def completed(report: PeaksReport) -> Peaks:
        reports.append(report)
        return replace(report.peaks, context_power_w=116.0 if report.idle_span_s else None)

    errand = NodeTask(peaks(processes, keys, None, completed if readable else None))
    events = [event for _ in keys for event in errand.collect(1.0)]
    found = [event.context_power_w for event in events if isinstance(event, Peaks)]
    assert found == ([116.0, None] * 2 if readable else [None] * 4)
    assert [idle for _, idle in processes.idled] == ([True, False] * 2 if readable else [False] * 4)
    assert len(reports) == (4 if readable else 0), "the clock of every precision counts"
