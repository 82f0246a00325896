"""What befalls the machine of a running sweep: it stands still, its clock is set back, GPU or hub are lost."""

import ast
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path

import light
import psutil
import pytest
from watching import Watched

from benchtui.sessions.events import CaseFinished, CaseStarted
from benchtui.sessions.report.document import markdown
from benchtui.sessions.sweep import Sweep

ROOT = Path(__file__).parents[2]
STILL_S = 2.5
Begin = Callable[..., Watched]


def test_case_during_a_standstill_is_marked(begin: Begin) -> None:
    watched = begin(light.sweep(cases=2, steps=600))
    watched.until_steps(0)
    engine = psutil.Process(watched.engine.pid)
    everything = [engine, *engine.children(recursive=True)]
    for process in everything:
        process.send_signal(signal.SIGSTOP)
    time.sleep(STILL_S)  # this is the fault itself
    for process in everything:
        process.send_signal(signal.SIGCONT)
    session = watched.until_ended()
    assert watched.states == ["ok", "ok"]
    marks = [[mark for mark in case.marks if "stalled" in mark] for case in session.cases]
    assert [len(each) for each in marks] == [1, 0], marks
    assert marks[0][0].startswith("disturbed: stalled for ")
    told = [message.text for message in session.messages if "stalled" in message.text]
    assert len(told) == 1 and told[0].startswith("engine and cases were stalled for ")
    assert "stalled" in markdown(session, full=True)


def test_case_with_a_stopped_worker_is_marked(begin: Begin) -> None:
    watched = begin(light.sweep(cases=2, steps=600))
    watched.until_steps(0)
    started = next(event for event in watched.events if isinstance(event, CaseStarted))
    worker = psutil.Process(started.pid)
    worker.suspend()
    time.sleep(STILL_S)  # this is the fault itself
    worker.resume()
    session = watched.until_ended()
    marks = [[mark for mark in case.marks if "stalled" in mark] for case in session.cases]
    assert [len(each) for each in marks] == [1, 0], marks
    assert marks[0][0] in ("disturbed: stalled for 2 s", "disturbed: stalled for 3 s")


def test_setting_the_clock_back_changes_no_recorded_time(begin: Begin) -> None:
    watched = begin(light.sweep(cases=3, steps=50), {light.CLOCK: "back"})
    session = watched.until_ended()
    assert watched.states == ["ok"] * 3
    assert session.start.created < "2020"
    moments = [event.t for event in watched.events if isinstance(event, CaseStarted | CaseFinished)]
    assert moments == sorted(moments) and 0 < moments[0] < moments[-1] < 1000
    assert all(time_ms > 0 for case in session.cases for time_ms in case.measured.wall_ms)


def test_wall_time_is_used_only_for_names_and_dates() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for folder in ("engine", "sessions", "tui", "themes")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and (ast.unparse(node) in ("time.time", "time.time_ns") or node.attr in ("utcnow", "now", "today"))
        and ast.unparse(node.value) in ("time", "datetime", "date")
    }
    assert readers == {
        "engine/client.py",  # how long ago a file was written on another machine
        "engine/worker/explain/sampling.py",  # samples are matched with events of torch's profiler
        "sessions/library/artifacts.py",  # how long ago a converted model was used
        "sessions/timestamps.py",
        "tui/api/running.py",
        "tui/cli/setup.py",
        "tui/cli/watch.py",
        "tui/home/screen.py",  # how long ago a model was measured
        "tui/live/explainer.py",
        "tui/shell/context.py",
    }


def test_gpu_lost_during_a_case_ends_its_readings_but_not_the_sweep(begin: Begin, fake_nvml: Path) -> None:
    environment = {"LD_LIBRARY_PATH": str(fake_nvml), "FAKE_NVML_GPUS": "2", "FAKE_NVML_FAIL": "0:*:15:60"}
    watched = begin(light.sweep(cases=2, steps=900, device="cuda:0"), environment)
    session = watched.until_ended()
    assert watched.states == ["ok", "ok"]
    lost, other = session.machine.gpus[0].columns["power_w"], session.machine.gpus[1].columns["power_w"]
    assert not math.isnan(lost[0]) and math.isnan(lost[-1])
    assert not math.isnan(other[-1]), "a GPU without a case is read less often, but to the end"
    assert "gpu" in session.machine.gpu_readings[0].absent
    last = session.cases[-1].finished
    assert last is not None and last.energy is not None
    assert last.energy.energy_j is None
    assert last.energy.absent == session.machine.gpu_readings[0].absent["gpu"]


def test_gpu_processes_are_queried_after_a_worker_has_ended(begin: Begin, fake_nvml: Path) -> None:
    """A worker looks at its step for seconds after its outcome, and the list is a second old by then."""
    environment = {"LD_LIBRARY_PATH": str(fake_nvml), "FAKE_NVML_PROCESSES": "0:1:900000000"}
    watched = begin(light.sweep(cases=2, steps=20, name="linger", device="cuda:0"), environment)
    session = watched.until_ended()
    assert watched.states == ["ok", "ok"]
    seen = [case.finished.environment for case in session.cases if case.finished]
    assert [each.gpu_processes for each in seen if each] == [0, 0], "the one listed is taken to be the worker"


def test_unreachable_hub_fails_the_case_with_a_remedy(
    start: Callable[[Sweep], Watched],
    tiny_sweep: Callable[..., Sweep],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    session = start(tiny_sweep("model=nobody/has-this", "batch_size=1,2")).until_ended()
    assert [case.state for case in session.cases] == ["failed", "failed"]
    end = session.cases[0].finished
    assert end is not None and end.reason is not None
    assert "nobody/has-this" in end.reason and "files; to work offline, use a local folder" in end.reason
    assert "\n" not in end.reason
