"""The kernel's counters around steps, each with work that it must count."""

import gc
import os
import subprocess
import sys
import threading
import time
from mmap import mmap
from pathlib import Path

import pytest

from benchtui.engine.worker.explain import host_use
from benchtui.engine.worker.explain.host_use import IO, HostWatch, between
from benchtui.sessions.profiles import HostUse


def test_collections_faults_and_reads_are_counted_per_step(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(8_000_000))
    watch = HostWatch()
    with watch.stretch(2):
        gc.collect()
        assert len(file.read_bytes()) == 8_000_000
        with mmap(-1, 8_000_000) as fresh:  # the allocator may hand out pages that it has kept
            fresh[:] = bytes(8_000_000)
    use = watch.use()
    assert use.collecting_ms > 0 and use.page_faults > 0
    assert 0 < use.cpu_ms <= 1.05 * use.step_ms + 1
    if IO.exists():
        assert use.read_mb == pytest.approx(4.0, rel=0.2)


def used(steps_s: tuple[float, ...], reading_s: float = 0.0) -> HostUse:
    """Return the use of stretches of four steps, while children and others use a processor each."""
    watch = HostWatch()
    clock, reading = watch._clocks(), watch._others()
    for step_s in steps_s:
        clocks = [clock._replace(at_s=at_s, main_s=at_s) for at_s in (0.0, 4 * step_s)]
        readings = [
            reading._replace(at_s=at_s, children_s=at_s, processors_s=2 * at_s)
            for at_s in (0.0, 4 * (step_s + reading_s))
        ]
        stretch = between(4, (clocks[0], clocks[1]), (readings[0], readings[1]), (None, None))
        watch._stretches.append(stretch)
    return watch.use()


def test_disturbed_stretches_change_no_ratio() -> None:
    """A neighbor makes one of three stretches ten times as long: a busy thread still uses one processor."""
    use = used((0.01, 0.1, 0.011))
    assert use.step_ms == pytest.approx(10.5)
    assert use.cpu_ms == pytest.approx(use.step_ms)


def test_slow_readings_count_the_time_of_the_steps_alone() -> None:
    """A thread that has Python's lock made readings of a step of 143 ms take 681 ms: it used 475%, not 100%."""
    use = used((0.143,), reading_s=0.538)
    assert use.children_ms == pytest.approx(143)
    assert use.others_ms == pytest.approx(143)


@pytest.mark.parametrize(("processors", "neighbor"), [(0.0, False), (3.0, True)])
def test_neighbor_is_what_uses_a_processor_beside_the_steps(
    monkeypatch: pytest.MonkeyPatch, processors: float, neighbor: bool
) -> None:
    monkeypatch.setattr(host_use, "busy_s", lambda usable: processors * time.perf_counter())
    assert host_use.has_neighbor(lambda: None) is neighbor


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="needs processors that threads can be bound to"
)
@pytest.mark.parametrize("wanted", [False, True])
def test_spread_threads_are_bound_and_released(wanted: bool) -> None:
    before = os.sched_getaffinity(0)
    with host_use.spread_threads(wanted=wanted):
        assert os.sched_getaffinity(0) == ({min(before)} if wanted else before)
    assert os.sched_getaffinity(0) == before


def test_other_threads_and_children_are_told_apart() -> None:
    ended, ready = threading.Event(), threading.Event()

    def spin() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            ready.set()

    thread = threading.Thread(target=spin, name="spinner")
    thread.start()
    ready.wait()
    watch = HostWatch()
    with watch.stretch(1):
        subprocess.run([sys.executable, "-S", "-c", "sum(range(10**6))"], check=True)
    use = watch.use()
    ended.set()
    thread.join()
    assert use.children_ms > 0
    assert [other.name for other in use.threads] == ["spinner"] and use.threads[0].cpu_ms > 0
