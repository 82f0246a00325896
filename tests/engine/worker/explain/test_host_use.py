"""The kernel's counters around steps, each with work that it must count."""

import gc
import subprocess
import sys
import threading
from mmap import mmap
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchtui.engine.worker.explain.host_use import IO, HostWatch, _Stretch


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
    assert use.cpu_ms > 0 and use.asleep_ms + use.cpu_ms <= 1.05 * use.step_ms + 1
    if IO.exists():
        assert use.read_mb == pytest.approx(4.0, rel=0.2)


def test_disturbed_stretches_change_no_ratio() -> None:
    """A neighbor makes one of three stretches ten times as long: a busy thread still uses one processor."""
    watch = HostWatch()
    for step_s in (0.01, 0.1, 0.011):
        clocks = tuple(replace(watch._clocks(), at_s=at_s, main_s=at_s) for at_s in (0.0, 4 * step_s))
        watch._stretches.append(_Stretch(4, clocks, (watch._others(), watch._others())))  # type: ignore[arg-type]
    use = watch.use()
    assert use.step_ms == pytest.approx(10.5)
    assert use.cpu_ms == pytest.approx(use.step_ms)


def test_a_blocked_thread_is_asleep() -> None:
    lock = threading.Lock()
    lock.acquire()
    watch = HostWatch()
    with watch.stretch(1):
        lock.acquire(timeout=0.05)
    use = watch.use()
    assert use.asleep_ms >= 0.5 * (use.step_ms - (use.delay_ms or 0.0))


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
