import mmap
from collections.abc import Callable, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.devices.base import Lap, StepTime
from benchtui.engine.job import THROUGHPUT_BLOCK
from benchtui.engine.worker.timed_loop import Recorder, measure, warm_up
from benchtui.engine.workloads.base import StepCounts
from benchtui.sessions.events import Steps
from benchtui.sessions.sweep import Measure


class Device:
    """A device whose n-th step takes n milliseconds."""

    def __init__(self) -> None:
        self.steps = count(1)
        self.resets = 0
        self.blocks: list[int] = []

    def time(self, step: Callable[[Lap], Any]) -> tuple[StepTime, Any]:
        number = next(self.steps)
        return StepTime(float(number), None, {"forward": number / 2}), step(lambda part: None)

    def time_block(self, step: Callable[[Lap], Any], steps: int) -> list[tuple[StepTime, Any]]:
        self.blocks.append(steps)
        return [self.time(step) for _ in range(steps)]

    def reset_memory_peaks(self) -> None:
        self.resets += 1


@pytest.fixture
def workload() -> Any:
    return SimpleNamespace(
        step=lambda lap: 7,
        count=lambda done: StepCounts(tokens=done * 2),
        begin_warmup=lambda: None,
        begin_measuring=lambda: None,
    )


@pytest.fixture
def events() -> list[Steps]:
    return []


def recorder(events: list[Steps], phase: Any) -> Recorder:
    return Recorder(3, phase, events.append, lambda: 1.5)


def columns(events: list[Steps]) -> list[float]:
    return [time for event in events for time in event.wall_ms]


def test_every_step_is_recorded_once_with_its_phase(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    warm_up(workload, device, Measure(warmup=2), recorder(events, "warmup"))
    measured = measure(workload, device, Measure(iterations=3), recorder(events, "measure"))
    assert columns([event for event in events if event.phase == "warmup"]) == [1, 2]
    assert columns([event for event in events if event.phase == "measure"]) == [3, 4, 5]
    assert measured.stop == "3 steps"
    assert measured.begin_s <= measured.end_s


def test_host_time_of_each_step_is_recorded_beside_its_device_time(events: list[Steps]) -> None:
    record = recorder(events, "measure")
    for host_ms in (2.0, 2.5):
        record.add(StepTime(4.0, 3.0, {}, host_ms), StepCounts())
    record.flush()
    (event,) = events
    assert (event.wall_ms, event.device_ms, event.host_ms) == ([4.0, 4.0], [3.0, 3.0], [2.0, 2.5])


def test_fast_steps_share_an_event(workload: Any, events: list[Steps]) -> None:
    measure(workload, Device(), Measure(iterations=500), recorder(events, "measure"))  # type: ignore[arg-type]
    assert len(events) < 50
    assert columns(events) == list(range(1, 501))


def test_memory_peaks_are_reset_after_warmup(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    warm_up(workload, device, Measure(warmup=2), recorder(events, "warmup"))
    assert device.resets == 0
    measure(workload, device, Measure(iterations=1), recorder(events, "measure"))
    assert device.resets == 1


def test_measuring_begins_at_the_first_batch(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    batches = count()
    drawn: list[int] = []

    def rewind() -> None:
        nonlocal batches
        batches = count()

    workload.step = lambda lap: drawn.append(next(batches)) or 7
    workload.begin_measuring = rewind
    warm_up(workload, device, Measure(warmup=2), recorder(events, "warmup"))
    measure(workload, device, Measure(iterations=3), recorder(events, "measure"))
    assert drawn == [0, 1, 0, 1, 2]


def test_warmup_returns_its_stop_reason(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    assert warm_up(workload, device, Measure(warmup=2), recorder(events, "warmup")) == "2 steps"
    automatic = warm_up(workload, device, Measure(warmup_auto=True), recorder(events, "warmup"))
    assert automatic == "the last 2 of 21 steps are within 5%"
    assert len(columns(events)) == 23


def test_throughput_mode_synchronizes_around_blocks(workload: Any, events: list[Steps]) -> None:
    device: Any = Device()
    rules = Measure(iterations=THROUGHPUT_BLOCK + 5, mode="throughput")
    measure(workload, device, rules, recorder(events, "measure"))
    assert device.blocks == [THROUGHPUT_BLOCK, 5]
    assert len(columns(events)) == THROUGHPUT_BLOCK + 5


def test_page_faults_are_those_of_a_measured_step(workload: Any, events: list[Steps]) -> None:
    pages, steps = 2_000, 4

    def touch(lap: object) -> int:
        with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            memory[:: mmap.PAGESIZE] = bytes(pages)
        return 7

    workload.step = touch
    device: Any = Device()
    found = measure(workload, device, Measure(iterations=steps), recorder(events, "measure")).environment
    assert found.minor_faults_per_step is not None
    assert pages <= found.minor_faults_per_step < 1.5 * pages


def test_environment_of_the_measured_span_is_recorded(workload: Any, events: list[Steps]) -> None:
    measured = measure(workload, Device(), Measure(iterations=3), recorder(events, "measure"))  # type: ignore[arg-type]
    assert measured.environment.worker_cpu is not None
    assert measured.environment.involuntary_switches is not None
    assert measured.environment.others_cpu_percent is None, "too short a span to say"
    assert measured.compiling is None


@pytest.mark.parametrize(
    ("cold", "steps"),
    [
        ((), 4),  # the first step is always cold: 2 + 3 + 4 are 9 ms
        ((1, 2), 4),  # 3 + 4 are 7 ms
        ((1, 2, 4), 5),  # 3 + 5
        (range(1, 1000), 17),  # the steps after the 16th cold one count
    ],
)
def test_steps_that_compile_are_no_part_of_the_minimum_warmup(
    workload: Any, events: list[Steps], cold: Sequence[int], steps: int
) -> None:
    watch: Any = SimpleNamespace(check=lambda done: done in cold)
    rules = Measure(warmup=2, min_warmup_s=0.007)
    warm_up(workload, Device(), rules, recorder(events, "warmup"), watch)  # type: ignore[arg-type]
    assert len(columns(events)) == steps


def test_memory_is_pinned_before_the_warmup(workload: Any, events: list[Steps]) -> None:
    calls: list[str] = []
    workload.begin_warmup = lambda: calls.append("begin")
    workload.step = lambda lap: calls.append("step") or 7
    warm_up(workload, Device(), Measure(warmup=2), recorder(events, "warmup"))  # type: ignore[arg-type]
    assert calls == ["begin", "step", "step"]


def test_warmup_goes_on_for_its_minimum_time_after_the_first_step(workload: Any, events: list[Steps]) -> None:
    """The n-th step takes n ms: 2 + ... + 14 are 104 ms."""
    for rules in (Measure(warmup=5, min_warmup_s=0.1), Measure(warmup_auto=True, min_warmup_s=0.1)):
        device: Any = Device()
        stop = warm_up(workload, device, rules, recorder(events, "warmup"))
        assert next(device.steps) == 15 or rules.warmup_auto
        assert rules.warmup_auto or stop == "14 steps, for at least 0.1 s"
    device = Device()
    assert warm_up(workload, device, Measure(warmup=5), recorder(events, "warmup")) == "5 steps"
