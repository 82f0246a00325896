from collections.abc import Iterator
from typing import Any

import pytest

from benchtui.engine.node.preflight import IdleAndTorchTask, PeaksTask, thread_warning
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import OutOfFilesError
from benchtui.sessions.events import Message, Peaks, Runtime

WHY = "its process can't be started: Too many open files"
KEYS = (PeakKey("cpu", "fp32", 1), PeakKey("cpu", "bf16", 1))


class Short:
    """Processes that can't be started."""

    def query_torch(self) -> Any:
        raise OutOfFilesError(WHY)

    def measure_peaks(self, key: PeakKey) -> Any:
        raise OutOfFilesError(WHY)


@pytest.fixture
def processes() -> Iterator[Any]:
    yield Short()


def test_missing_files_for_the_torch_query_are_reported(processes: Any) -> None:
    preparation = IdleAndTorchTask(processes, None, None)
    (event,) = preparation.collect(1.0)
    assert isinstance(event, Message) and event.text == f"can't query torch: {WHY}"
    assert preparation.ended and preparation.sources == []


@pytest.mark.parametrize(("threads", "cpu_limit"), [(64, None), (4, 4.0), (3, 2.5), (None, 4.0)])
def test_threads_within_the_cpu_quota_are_no_warning(threads: int | None, cpu_limit: float | None) -> None:
    assert list(thread_warning(Runtime(t=0.0, torch="2.9", threads=threads), cpu_limit, 1.0)) == []


def test_more_threads_than_the_cpu_quota_are_a_warning() -> None:
    (warning,) = thread_warning(Runtime(t=0.0, torch="2.9", threads=64, node="n1"), 4.5, 1.0)
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

    def result(self, now_s: float) -> Runtime:
        return Runtime(t=now_s, torch="2.9", threads=64)


def test_warning_follows_the_answer_of_torch() -> None:
    processes: Any = Answering()
    preparation = IdleAndTorchTask(processes, None, None, 4.0)
    events = [event for _ in range(2) for event in preparation.collect(1.0)]
    assert [type(event) for event in events] == [Runtime, Message]


def test_missing_files_for_measuring_peaks_are_reported_once(processes: Any) -> None:
    errand = PeaksTask(processes, KEYS, "n1")
    events = list(errand.collect(1.0))
    assert errand.ended and errand.sources == []
    found = [event for event in events if isinstance(event, Peaks)]
    assert [(each.precision, each.node, each.absent["flops"]) for each in found] == [
        ("fp32", "n1", WHY),
        ("bf16", "n1", WHY),
    ]
    assert list(errand.collect(2.0)) == []
