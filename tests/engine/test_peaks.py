from collections.abc import Iterable
from itertools import count
from typing import Any, ClassVar

import pytest

from benchtui.engine import peaks
from benchtui.engine.peaks import PeakMeasuring
from benchtui.sessions.events import Message, Peaks
from benchtui.sessions.limits import PeakKey
from benchtui.sessions.sweep import Config

FP32 = Config(device="cpu")


class Probe:
    """A process that answers once it has been waited for so often."""

    asked: ClassVar[list[PeakKey]]
    waits: int
    answer: Peaks | str

    def __init__(self, context: object, key: PeakKey) -> None:
        self.asked.append(key)
        self.source = 7
        self.killed = False

    @property
    def ended(self) -> bool:
        return type(self).waits <= 0

    def result(self) -> Peaks | str:
        return self.answer if self.ended else "not done in time"


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> type[Probe]:
    class Fresh(Probe):
        asked: ClassVar[list[PeakKey]] = []
        waits = 2
        answer = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e9, bytes_per_s=1e9)

    monkeypatch.setattr(peaks, "LocalPeaks", Fresh)
    return Fresh


def told(
    measuring: PeakMeasuring, probe: type[Probe], config: Config, *, stop_after: int = 99
) -> list[Peaks | Message]:
    """What is recorded before a case; the sweep is stopped after so many waits."""
    waited = count()
    seen = []

    def wait(sources: Iterable[int], seconds: float) -> None:
        assert list(sources) == [7] and 0 < seconds <= peaks.LONGEST_S
        seen.append(next(waited))
        probe.waits -= 1

    return list(measuring.before(config, wait, lambda: len(seen) >= stop_after, lambda: 3.5))


def test_each_peak_is_measured_once(probe: type[Probe]) -> None:
    measuring = PeakMeasuring(Any, wanted=True)
    (event,) = told(measuring, probe, FP32)
    assert isinstance(event, Peaks) and (event.t, event.flops_per_s) == (3.5, 1e9)
    assert told(measuring, probe, Config(device="cpu", batch_size=8, compile="default")) == []
    told(measuring, probe, Config(device="cpu", precision="amp-bf16"))
    told(measuring, probe, Config(device="cpu", precision="bf16"))
    told(measuring, probe, Config(device="cpu", threads=1))
    told(measuring, probe, Config(device="cuda:0", precision="fp16", threads=1))
    assert probe.asked == [
        ("cpu", "fp32", 0),
        ("cpu", "bf16", 0),
        ("cpu", "fp32", 1),
        ("cuda:0", "fp16", 0),
    ]


def test_none_is_measured_where_none_is_wanted_or_fits(probe: type[Probe]) -> None:
    assert told(PeakMeasuring(Any, wanted=False), probe, FP32) == []
    assert told(PeakMeasuring(Any, wanted=True), probe, Config(device="cpu", precision="int8")) == []
    assert probe.asked == []


def test_a_process_that_dies_is_a_message_and_the_reason_in_the_record(probe: type[Probe]) -> None:
    probe.answer = "its process ended with exit status -9"
    event, message = told(PeakMeasuring(Any, wanted=True), probe, FP32)
    assert event == Peaks(
        t=3.5, device="cpu", precision="fp32", absent=dict.fromkeys(("flops", "bytes"), probe.answer)
    )
    assert isinstance(message, Message) and message.level == "warning"
    assert message.text == f"peak of cpu fp32 not measured: {probe.answer}"


def test_one_that_takes_too_long_is_given_up(probe: type[Probe], monkeypatch: pytest.MonkeyPatch) -> None:
    probe.waits = 10**6
    moments = count(step=10.0)
    monkeypatch.setattr(peaks, "monotonic", lambda: next(moments))
    event, message = told(PeakMeasuring(Any, wanted=True), probe, FP32)
    assert isinstance(event, Peaks) and set(event.absent.values()) == {"not done in time"}
    assert isinstance(message, Message)


def test_a_stopped_sweep_records_nothing_more(probe: type[Probe]) -> None:
    probe.waits = 10**6
    measuring = PeakMeasuring(Any, wanted=True)
    assert told(measuring, probe, FP32, stop_after=1) == []
    assert told(measuring, probe, Config(device="cpu", threads=2), stop_after=0) == []
