import subprocess
import sys
from functools import partial
from pathlib import Path
from time import monotonic

import pytest

from benchtui.engine.telemetry.cgroup import QuotaUse
from benchtui.engine.telemetry.processor_clock import ThrottleCounts
from benchtui.engine.telemetry.processors import busy_s
from benchtui.engine.worker.environment import EnvironmentProbe

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
        seen, span_s = surroundings.since(), monotonic() - begin_s
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
    elsewhere = surroundings.since()
    assert (elsewhere.others_cpu_percent, elsewhere.processors, elsewhere.affinity) == (0.0, 2, "1-2")
    file.write_text(stat(100, 100, 90_000_000, 100))
    here = surroundings.since()
    assert here.others_cpu_percent is not None and here.others_cpu_percent > 100.0


def test_affinity_is_unknown_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.engine.worker.environment.usable_processors", lambda: None)
    assert EnvironmentProbe().since().affinity is None


def test_stops_by_the_cpu_quota_are_counted_over_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    own, parent = Path("job"), Path("slurm")
    totals = [
        {own: QuotaUse(900, 90, 90.0), parent: QuotaUse(100, 10, 1.0)},
        {own: QuotaUse(950, 91, 90.1), parent: QuotaUse(150, 50, 5.5)},
    ]
    monkeypatch.setattr("benchtui.engine.worker.environment.quota_uses", lambda groups: totals.pop(0))
    seen = EnvironmentProbe().since()
    assert (seen.quota_periods, seen.quota_stopped_periods, seen.quota_stopped_s) == (50, 40, 4.5)


@pytest.mark.parametrize(("totals", "times"), [([7, 12], 5), ([7, 7], 0), ([None, None], None)])
def test_thermal_throttling_is_counted_over_the_span(
    totals: list[int | None], times: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThrottleCounts, "total", lambda self: totals.pop(0))
    assert EnvironmentProbe().since().processor_throttled == times


def test_without_a_quota_no_stops_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.engine.worker.environment.quota_uses", lambda groups: {})
    seen = EnvironmentProbe().since()
    assert (seen.quota_periods, seen.quota_stopped_periods, seen.quota_stopped_s) == (None, None, None)
