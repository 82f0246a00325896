import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchtui.engine.telemetry import host
from benchtui.engine.telemetry.host import HostReader, ProcessorUse


def test_processor_use_covers_the_time_between_two_calls() -> None:
    use = ProcessorUse()
    assert use.percent(10.0, 3.0) is None
    assert use.percent(12.0, 4.0) == 50.0
    assert use.percent(13.0, 7.5) == 350.0
    assert use.percent(13.0, 8.0) is None


def test_processor_use_tolerates_decreasing_or_missing_totals() -> None:
    use = ProcessorUse()
    use.percent(1.0, 5.0)
    assert use.percent(2.0, 4.99) == 0.0
    assert use.percent(3.0, None) is None
    assert use.percent(4.0, 6.0) is None
    assert use.percent(5.0, 6.1) == 10.0


def test_one_busy_processor_is_100_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = [
        SimpleNamespace(user=10.0, nice=0.0, system=5.0, idle=900.0, iowait=3.0, steal=1.0, guest=4.0),
        SimpleNamespace(user=10.5, nice=0.1, system=5.2, idle=906.0, iowait=4.0, steal=1.2, guest=4.4),
    ]
    monkeypatch.setattr(psutil, "cpu_times", lambda: totals.pop(0))
    reader = HostReader()
    reader.read(1.0, ())
    assert reader.read(2.0, ()).cpu_percent == 100.0


def test_others_use_the_usable_processors_and_are_none_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = {None: [100.0, 109.0], frozenset((2, 3)): [50.0, 51.9]}
    monkeypatch.setattr(host, "busy_s", lambda processors: totals[processors].pop(0))
    monkeypatch.setattr(host, "usable_processors", lambda: frozenset((2, 3)))
    own, engine = iter((4.0, 5.02)), iter((1.0, 1.02))
    monkeypatch.setattr(host.processes, "used_s", lambda pids: next(own))
    monkeypatch.setattr(host.time, "process_time", lambda: next(engine))
    reader = HostReader()
    assert reader.read(1.0, ()).others_cpu_percent is None
    seen = reader.read(2.0, ())
    assert (seen.cpu_percent, seen.engine_cpu_percent, seen.others_cpu_percent) == (900.0, 2.0, 88.0)


def test_use_by_others_is_unknown_when_a_process_of_the_engine_ends_unseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it used after the last reading isn't that of other processes."""
    own, busy = iter((3.0, 3.5, 1.0, 1.5)), iter((10.0, 11.0, 12.0, 13.0))
    monkeypatch.setattr(host, "busy_s", lambda processors: 0.0 if processors is None else next(busy))
    monkeypatch.setattr(host, "usable_processors", lambda: frozenset((2, 3)))
    monkeypatch.setattr(host.processes, "used_s", lambda pids: next(own))
    reader = HostReader()
    found = [reader.read(at_s, ()).others_cpu_percent for at_s in (1.0, 2.0, 3.0, 4.0)]
    assert found == [None, 50.0, None, 50.0]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no /proc here")
def test_what_a_worker_starts_is_its_own() -> None:
    """Such as compilers, which go on while its steps are measured."""
    spin = "import time; begin = time.process_time()\nwhile time.process_time() < begin + 0.3: pass\n"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin + 'print(); input()'!r}])"
    reader, pipe = HostReader(), subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as worker:
        assert worker.stdout is not None
        reader.read(1.0, [worker.pid])
        worker.stdout.readline()
        used = reader.read(2.0, [worker.pid]).worker_cpu_percent
        worker.communicate(b"\n")
        assert used is not None and used >= 25.0


def test_first_processor_use_is_none() -> None:
    reader = HostReader()
    first, second = reader.read(1.0, [os.getpid()]), reader.read(1.5, [os.getpid()])
    assert (first.cpu_percent, first.worker_cpu_percent, first.engine_cpu_percent) == (None, None, None)
    for use in (second.cpu_percent, second.worker_cpu_percent, second.engine_cpu_percent):
        assert use is not None and 0 <= use < 100 * (os.cpu_count() or 1)
    assert first.worker_rss_mb == pytest.approx(psutil.Process().memory_info().rss / 1e6, rel=0.2)
    assert first.memory_used_mb is not None and first.worker_rss_mb is not None
    assert first.worker_rss_mb < first.memory_used_mb < psutil.virtual_memory().total / 1e6


def test_new_worker_starts_without_cpu_use() -> None:
    reader = HostReader()
    for at_s in (1.0, 2.0):
        reader.read(at_s, [os.getpid()])
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        other = reader.read(3.0, [worker.pid])
        worker.communicate(b"\n")
    assert other.worker_rss_mb is not None and other.worker_cpu_percent is None
    nobody = reader.read(4.0, ())
    assert (nobody.worker_rss_mb, nobody.worker_cpu_percent) == (None, None)


def test_exited_worker_has_no_readings() -> None:
    worker = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    reader = HostReader()
    unburied = reader.read(1.0, [worker.pid])
    worker.wait()
    gone = reader.read(2.0, [worker.pid])
    for sample in (unburied, gone):
        assert (sample.worker_rss_mb, sample.worker_cpu_percent) == (None, None)
        assert sample.memory_used_mb is not None


@pytest.mark.parametrize("refusal", [psutil.AccessDenied(), FileNotFoundError()])
def test_failed_reading_keeps_the_others(monkeypatch: pytest.MonkeyPatch, refusal: Exception) -> None:
    def refuse() -> None:
        raise refusal

    monkeypatch.setattr(psutil, "virtual_memory", refuse)
    reader = HostReader()
    reader.read(1.0, ())
    sample = reader.read(2.0, ())
    assert sample.memory_used_mb is None and sample.cpu_percent is not None


def test_worker_readings_are_summed_with_separate_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    busy_s = {1: 10.0, 2: 50.0, 3: 0.0}
    monkeypatch.setattr(host, "_process", lambda pid, children: (busy_s[pid], 100.0) if pid in busy_s else None)
    reader = HostReader()
    reader.read(1.0, [1, 2])
    busy_s |= {1: 11.0, 2: 50.5, 3: 1.0}
    sample = reader.read(2.0, [1, 2, 3, 4])
    assert (sample.worker_cpu_percent, sample.worker_rss_mb) == (150.0, 300.0), "3 has nothing to compare with"
    busy_s |= {2: 51.0, 3: 3.0}
    assert reader.read(3.0, [2, 3]).worker_cpu_percent == 250.0
