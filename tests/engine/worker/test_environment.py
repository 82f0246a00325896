import mmap
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.telemetry.cgroup import QuotaUse
from benchtui.engine.telemetry.processor_clock import ThrottleCounts
from benchtui.engine.telemetry.processors import busy_s
from benchtui.engine.worker.environment import EnvironmentProbe, huge_page_mode, huge_pages_mb, missing_preloads

BUSY_S = 0.3
WORK = f"""
import sys, time
while time.process_time() < {BUSY_S}:
    pass
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ends", [False, True])
def test_children_of_the_worker_count_as_its_own(ends: bool) -> None:
    surroundings, begin_s = EnvironmentProbe(), monotonic()
    command = [sys.executable, "-c", WORK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as loader:
        assert loader.stdout is not None and loader.stdout.readline() == b"done\n"
        if ends:
            loader.communicate()
        seen, span_s = surroundings.since(1), monotonic() - begin_s
    # of processes that still run the kernel tells in ticks
    assert seen.worker_cpu is not None and seen.worker_cpu * span_s >= 0.9 * BUSY_S


def stat(*busy_ticks: int) -> str:
    lines = [f"cpu{number} {ticks} 0 0 900 0 0 0 0 0 0" for number, ticks in enumerate(busy_ticks)]
    return "\n".join(["cpu  0 0 0 0 0 0 0 0 0 0", *lines, "intr 17 0 9", ""])


def test_work_on_processors_that_the_worker_may_not_use_is_no_disturbance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, module = tmp_path / "stat", "benchtui.engine.worker.environment"
    monkeypatch.setattr(f"{module}.usable_processors", lambda: frozenset({1, 2}))
    monkeypatch.setattr(f"{module}.busy_s", partial(busy_s, stat=file))
    monkeypatch.setattr(f"{module}.MIN_SPAN_S", 0.0)
    file.write_text(stat(100, 100, 100, 100))
    surroundings = EnvironmentProbe()
    file.write_text(stat(90_000_000, 100, 100, 90_000_000))
    elsewhere = surroundings.since(1)
    assert (elsewhere.others_cpu_percent, elsewhere.processors, elsewhere.affinity) == (0.0, 2, "1-2")
    file.write_text(stat(100, 100, 90_000_000, 100))
    here = surroundings.since(1)
    assert here.others_cpu_percent is not None and here.others_cpu_percent > 100.0


def test_affinity_is_unknown_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.engine.worker.environment.usable_processors", lambda: None)
    assert EnvironmentProbe().since(1).affinity is None


def test_stops_by_the_cpu_quota_are_counted_over_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    own, parent = Path("job"), Path("slurm")
    totals = [
        {own: QuotaUse(900, 90, 90.0), parent: QuotaUse(100, 10, 1.0)},
        {own: QuotaUse(950, 91, 90.1), parent: QuotaUse(150, 50, 5.5)},
    ]
    monkeypatch.setattr("benchtui.engine.worker.environment.quota_uses", lambda groups: totals.pop(0))
    seen = EnvironmentProbe().since(1)
    assert (seen.quota_periods, seen.quota_stopped_periods, seen.quota_stopped_s) == (50, 40, 4.5)


@pytest.mark.parametrize(("totals", "times"), [([7, 12], 5), ([7, 7], 0), ([None, None], None)])
def test_thermal_throttling_is_counted_over_the_span(
    totals: list[int | None], times: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThrottleCounts, "total", lambda self: totals.pop(0))
    assert EnvironmentProbe().since(1).processor_throttled == times


def test_without_a_quota_no_stops_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.engine.worker.environment.quota_uses", lambda groups: {})
    seen = EnvironmentProbe().since(1)
    assert (seen.quota_periods, seen.quota_stopped_periods, seen.quota_stopped_s) == (None, None, None)


def test_page_faults_are_a_mean_per_step() -> None:
    pages, steps = 4_000, 2
    probe = EnvironmentProbe()
    for _ in range(steps):
        with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for at in range(0, len(memory), mmap.PAGESIZE):
                memory[at] = 1
    seen = probe.since(steps)
    assert seen.minor_faults_per_step is not None and seen.system_ms is not None and seen.user_ms is not None
    assert pages <= seen.minor_faults_per_step < 1.5 * pages
    assert seen.major_faults is not None and seen.user_ms + seen.system_ms > 0


def test_reading_the_kernels_files_adds_no_page_faults_to_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def usage(who: int) -> Any:
        nonlocal calls
        calls += 1  # as if each read of the probe caused as many page faults
        return SimpleNamespace(
            ru_utime=2.0, ru_stime=1.0, ru_nivcsw=0, ru_majflt=0, ru_minflt=100 * calls * (who == 0)
        )

    monkeypatch.setattr(resource, "getrusage", usage)
    assert EnvironmentProbe().since(4).minor_faults_per_step == 100 / 4


def test_huge_pages_come_from_the_kernels_files(tmp_path: Path) -> None:
    mode, memory = tmp_path / "enabled", tmp_path / "smaps_rollup"
    mode.write_text("always [madvise] never\n")
    memory.write_text("5000-7000 ---p 00000000 00:00 0 [rollup]\nRss: 9000 kB\nAnonHugePages:    4096 kB\n")
    assert (huge_page_mode(mode), huge_pages_mb(memory)) == ("madvise", 4.2)
    assert (huge_page_mode(tmp_path / "none"), huge_pages_mb(tmp_path / "none")) == (None, None)


def test_unreadable_readings_have_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "benchtui.engine.worker.environment"
    for name in ("huge_page_mode", "huge_pages_mb"):
        monkeypatch.setattr(f"{module}.{name}", lambda: None)
    monkeypatch.setattr(f"{module}.monotonic", iter((0.0, 0.1)).__next__)
    seen = EnvironmentProbe().since(1)
    assert seen.absent["huge_page_mode"] == "the kernel has no /sys/kernel/mm/transparent_hugepage/enabled"
    assert seen.absent["huge_pages_mb"] == "/proc/self/smaps_rollup can't be read"
    assert "too short" in seen.absent["steal_percent"] and seen.steal_percent is None


def test_stolen_time_is_a_share_of_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    module, stolen = "benchtui.engine.worker.environment", [1.0, 1.5]
    monkeypatch.setattr(f"{module}.stolen_s", lambda processors: stolen.pop(0))
    monkeypatch.setattr(f"{module}.monotonic", iter((0.0, 10.0)).__next__)
    seen = EnvironmentProbe().since(1)
    assert seen.steal_percent == 5.0 and "steal_percent" not in seen.absent


def test_preloaded_library_that_the_loader_did_not_find_is_missing() -> None:
    variables = {"LD_PRELOAD": "libc.so.6 libabsent.so.9:/nowhere/libnone.so"}
    assert missing_preloads(variables) == ["libabsent.so.9", "/nowhere/libnone.so"]
    assert missing_preloads({"LD_PRELOAD": ""}) == missing_preloads({}) == []
