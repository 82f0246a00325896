"""Counters of processors: the kernel's own, and played ones where this machine has none."""

import errno
import os
import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest

from benchtui.engine.telemetry import perf_event
from benchtui.engine.telemetry.perf_event import SOFTWARE, TASK_CLOCK, Counter, CounterUnavailable, Event
from benchtui.engine.telemetry.processor_counters import (
    INSTRUCTIONS_KEY,
    TRAFFIC_KEY,
    WORKER_EVENTS,
    MemoryTraffic,
    WorkerInstructions,
    counter_absences,
)


class Played:
    """Counter whose values are set by a test; None once it can't be read."""

    def __init__(self) -> None:
        self.count: float | None = 0.0
        self.closed = False

    def value(self) -> float | None:
        return self.count

    def close(self) -> None:
        self.closed = True


class Counters:
    """Opens played counters and keeps them by event and thread or processor."""

    def __init__(self, refused: str | None = None, events: tuple[Event, ...] = ()) -> None:
        """``events`` are those that are refused; none stands for all."""
        self.opened: dict[tuple[Event, int], Played] = {}
        self._refused = refused
        self._events = events

    def open(self, event: Event, of: int) -> Counter:
        if self._refused and (event in self._events or not self._events):
            raise CounterUnavailable(self._refused)
        self.opened[event, of] = Played()
        return cast(Counter, self.opened[event, of])


def processes(folder: Path, **threads: tuple[int, ...]) -> Path:
    for pid, numbers in threads.items():
        for number in numbers:
            (folder / pid.removeprefix("pid") / "task" / str(number)).mkdir(parents=True)
    return folder


def source(folder: Path, name: str, **files: str) -> None:
    for path, text in files.items():
        file = folder / name / path.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


def spin(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def test_kernel_counts_a_thread_and_those_that_it_starts() -> None:
    """The CPU time of a thread, an event that every kernel counts."""
    try:
        counter = Counter.of_thread(Event(SOFTWARE, TASK_CLOCK), 0)
    except CounterUnavailable as error:
        pytest.skip(str(error))
    spin(0.02)
    before_ns = counter.value()
    thread = threading.Thread(target=spin, args=(0.05,))
    thread.start()
    thread.join()
    after_ns = counter.value()
    counter.close()
    assert before_ns is not None and before_ns >= 0.018e9  # the two clocks differ a little
    assert after_ns is not None and after_ns - before_ns >= 0.045e9


def test_unknown_event_has_a_reason() -> None:
    with pytest.raises(CounterUnavailable, match=r"no such counters|permission denied|refused|not supported"):
        Counter.of_thread(Event(SOFTWARE, 10_000), 0)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.ENOENT, "no such counters on this processor or virtual machine"),
        (
            errno.EACCES,
            "kernel.perf_event_paranoid is 3); allow it with: sudo sysctl kernel.perf_event_paranoid=2",
        ),
        (errno.EMFILE, "refused by the kernel: Too many open files"),
    ],
)
def test_refusal_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, reason: str) -> None:
    (tmp_path / "paranoid").write_text("3\n")
    monkeypatch.setattr(perf_event, "PARANOID", tmp_path / "paranoid")
    assert reason in perf_event._reason(code, 2)


def test_shared_counter_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {(100, 10, 10): 100.0, (100, 40, 10): 400.0, (0, 40, 0): None}
    for count, value in answers.items():
        data = perf_event._COUNT.pack(*count)
        monkeypatch.setattr(os, "read", lambda _descriptor, _size, data=data: data)
        assert Counter(-1).value() == value


def test_workers_together_have_instructions_per_cycle(tmp_path: Path) -> None:
    played = Counters()
    cycles, instructions = WORKER_EVENTS
    worker = WorkerInstructions(played.open, processes(tmp_path, pid7=(7, 8), pid9=(9,)))
    assert worker.per_cycle((7,)) is None, "nothing has been counted before"
    for thread, (spent, done) in {7: (100.0, 150.0), 8: (300.0, 650.0)}.items():
        played.opened[cycles, thread].count, played.opened[instructions, thread].count = spent, done
    assert worker.per_cycle((7, 9)) == 2.0
    assert worker.per_cycle((7, 9)) is None, "idle"
    first = played.opened[cycles, 7]
    played.opened[instructions, 8].count = None
    assert worker.per_cycle((7, 9)) is None, "part of the counts is no count"
    assert worker.per_cycle((9,)) is None and first.closed
    assert worker.per_cycle((11,)) is None, "a process that has ended"


def test_cycles_alone_are_closed_again(tmp_path: Path) -> None:
    cycles, instructions = WORKER_EVENTS
    played = Counters("no such counters", (instructions,))
    worker = WorkerInstructions(played.open, processes(tmp_path, pid7=(7, 8)))
    assert worker.per_cycle((7,)) is None
    assert set(played.opened) == {(cycles, 7), (cycles, 8)}
    assert all(counter.closed for counter in played.opened.values())


def test_traffic_is_that_of_all_controllers(tmp_path: Path) -> None:
    intel = {
        "type": "14",
        "cpumask": "0,28",
        "format__event": "config:0-7",
        "format__umask": "config:8-15",
        "events__cas_count_read": "event=0x04,umask=0x03",
        "events__cas_count_read_dot_scale": "6.103515625e-5",
        "events__cas_count_read_dot_unit": "MiB",
        "events__cas_count_write": "event=0x04,umask=0x0c",
        "events__cas_count_write_dot_scale": "6.103515625e-5",
        "events__cas_count_write_dot_unit": "MiB",
    }
    source(tmp_path, "uncore_imc_0", **intel)
    source(tmp_path, "uncore_imc_free_running_0", **intel)
    source(tmp_path, "amd_umc_0", type="30", cpumask="0-1", format__event="config:0-7")
    played = Counters()
    traffic = MemoryTraffic(played.open, tmp_path)
    assert set(played.opened) == {
        *((Event(14, config), processor) for config in (0x0304, 0x0C04) for processor in (0, 28)),
        *((Event(30, 0x0A), processor) for processor in (0, 1)),
    }
    assert traffic.mb_per_s(1.0) is None
    for counter in played.opened.values():
        counter.count = 1e6  # lines of 64 bytes
    assert traffic.mb_per_s(3.0) == 192.0
    next(iter(played.opened.values())).count = None
    assert traffic.mb_per_s(4.0) is None and traffic.mb_per_s(5.0) is None


@pytest.mark.parametrize("broken", ["event=0x04,odd=1", "", "event=zz"])
def test_event_that_cannot_be_understood_is_left_out(tmp_path: Path, broken: str) -> None:
    facts: dict[str, Any] = {"type": "14", "cpumask": "0", "format__event": "config:0-7"}
    facts |= {"events__data_reads": broken}
    source(tmp_path, "uncore_imc", **facts, events__data_reads_dot_scale="1", events__data_reads_dot_unit="MiB")
    with pytest.raises(CounterUnavailable, match="no counters of memory controllers"):
        MemoryTraffic(Counters().open, tmp_path)


def test_absences_name_each_counter(tmp_path: Path) -> None:
    source(tmp_path, "amd_umc_0", type="30", cpumask="0")
    allowed, refused = Counters(), Counters("permission denied")
    assert counter_absences(allowed.open, allowed.open, tmp_path) == {}
    assert all(counter.closed for counter in allowed.opened.values())
    assert counter_absences(refused.open, refused.open, tmp_path) == {
        INSTRUCTIONS_KEY: "permission denied",
        TRAFFIC_KEY: "permission denied",
    }
