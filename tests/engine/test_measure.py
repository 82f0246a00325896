from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.devices import Lap, StepTime
from benchtui.engine.measure import Recorder, StopRule, measure, warm_up
from benchtui.engine.workloads.base import Counted
from benchtui.sessions.events import Steps
from benchtui.sessions.sweep import Measure


class Device:
    """A device whose n-th step takes n milliseconds."""

    def __init__(self) -> None:
        self.steps = count(1)
        self.resets = 0

    def time(self, step: Callable[[Lap], Any]) -> tuple[StepTime, Any]:
        number = next(self.steps)
        return StepTime(float(number), None, {"forward": number / 2}), step(lambda part: None)

    def reset_peaks(self) -> None:
        self.resets += 1


@pytest.fixture
def workload() -> Any:
    return SimpleNamespace(step=lambda lap: 7, count=lambda done: Counted(tokens=done * 2))


@pytest.fixture
def events() -> list[Steps]:
    return []


def recorder(events: list[Steps], phase: Any) -> Recorder:
    return Recorder(3, phase, events.append, lambda: 1.5)


def columns(events: list[Steps]) -> list[float]:
    return [time for event in events for time in event.wall_ms]


def test_every_step_is_recorded_once_with_its_phase(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    warm_up(workload, device, 2, recorder(events, "warmup"))
    measured = measure(workload, device, Measure(iterations=3), recorder(events, "measure"))
    assert columns([event for event in events if event.phase == "warmup"]) == [1, 2]
    assert columns([event for event in events if event.phase == "measure"]) == [3, 4, 5]
    assert measured.stop == "3 steps"
    assert measured.begin_s <= measured.end_s


def test_columns_of_an_event_agree_in_length(workload: Any, events: list[Steps]) -> None:
    measure(workload, Device(), Measure(iterations=4), recorder(events, "measure"))  # type: ignore[arg-type]
    for event in events:
        assert event.case == 3
        assert event.t == 1.5
        assert event.device_ms is None
        assert event.tokens == [14] * len(event.wall_ms)
        assert event.parts_ms == {"forward": [time / 2 for time in event.wall_ms]}


def test_quick_steps_share_an_event(workload: Any, events: list[Steps]) -> None:
    measure(workload, Device(), Measure(iterations=500), recorder(events, "measure"))  # type: ignore[arg-type]
    assert len(events) < 50
    assert columns(events) == list(range(1, 501))


def test_peaks_are_reset_after_warming_up(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    warm_up(workload, device, 2, recorder(events, "warmup"))
    assert device.resets == 0
    measure(workload, device, Measure(iterations=1), recorder(events, "measure"))
    assert device.resets == 1


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr("benchtui.engine.measure.monotonic", lambda: self.now_s)


def stopped(rule: StopRule, clock: Clock, times_ms: list[float]) -> tuple[int, str | None]:
    for number, time_ms in enumerate(times_ms, 1):
        clock.now_s += time_ms / 1000
        if reason := rule.reason(time_ms):
            return number, reason
    return len(times_ms), None


def test_a_time_limit_ends_it_before_the_steps_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    rule = StopRule(Measure(iterations=100, max_time_s=2.0))
    assert stopped(rule, clock, [300.0] * 100) == (7, "time limit of 2 s")


def test_a_width_is_reached_by_steady_steps_and_not_before_the_least_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    rule = StopRule(Measure(iterations=30, until_percent=1.0))
    number, reason = stopped(rule, clock, [100.0, 100.5] * 50)
    assert number == 30
    assert reason == "interval of the median within ±1% after 30 steps"


def test_a_width_that_is_never_reached_goes_on_to_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    rule = StopRule(Measure(iterations=10, until_percent=1.0, max_time_s=20.0))
    _, reason = stopped(rule, clock, [50.0, 150.0] * 1000)
    assert reason == "time limit of 20 s"
