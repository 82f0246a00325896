from collections.abc import Iterator
from typing import Any

import pytest

from benchtui.engine.node.preflight import IdleAndTorchTask, PeaksTask
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import OutOfFilesError
from benchtui.sessions.events import Message, Peaks

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
