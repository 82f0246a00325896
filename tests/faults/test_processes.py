"""Processes that outlive their case, and a fork server that doesn't run."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import light
import msgspec
import psutil
import pytest
from watching import PATIENCE_S, Watched, wait_gone

from benchtui.engine.process_tree import is_running
from benchtui.sessions.sweep import Measure, Sweep

Begin = Callable[..., Watched]


def quick(name: str, cases: int = 2, timeout_s: float = 2.0) -> Sweep:
    measure = Measure(warmup=0, iterations=100, peaks=False, timeout_s=timeout_s)
    return msgspec.structs.replace(light.sweep(cases=cases, name=name), measure=measure)


@pytest.mark.parametrize("way", ["kill", "segfault", "exit", "fork", "server"])
def test_children_of_a_case_end_with_it_even_if_its_worker_died(begin: Begin, way: str) -> None:
    watched = begin(quick(f"orphan {way}"))
    watched.until(lambda: watched.session.cases and watched.session.cases[0].finished)
    orphan = int(watched.engine.path.with_suffix(".json.orphans").read_text())
    try:
        assert not is_running(orphan)
    finally:
        with suppress(ProcessLookupError):
            os.kill(orphan, signal.SIGKILL)
    watched.until_ended()
    assert watched.states == ["failed", "ok"]


def test_children_of_a_case_end_with_a_killed_engine(begin: Begin) -> None:
    watched = begin(quick("orphan engine"))
    watched.until_ended()
    wait_gone(int(watched.engine.path.with_suffix(".json.orphans").read_text()))


def test_stopped_fork_server_costs_the_case_and_is_replaced(begin: Begin) -> None:
    watched = begin(quick("stop server", cases=3))
    watched.until(lambda: psutil.Process(watched.engine.pid).children())
    session = watched.until_ended()
    assert watched.states == ["timeout", "ok", "ok"]
    end = session.cases[0].finished
    assert end is not None
    assert end.reason == "still running after 2 s; the fork server was stopped and has been replaced"


def test_fork_server_stopped_during_a_case_that_ends_costs_nothing(begin: Begin) -> None:
    watched = begin(quick("stop server briefly", timeout_s=600.0))
    session = watched.until_ended()
    assert watched.states == ["ok", "ok"]
    assert "the fork server was stopped and has been replaced" in session.cases[0].marks


@pytest.mark.long
def test_fork_server_stopped_between_cases_costs_nothing(begin: Begin) -> None:
    watched = begin(quick("light", cases=30, timeout_s=60.0))
    watched.until(lambda: watched.session.done > 2)
    watched.engine.pause()
    watched.until(lambda: not watched.session.running)
    below = psutil.Process(watched.engine.pid).children()
    (server,) = (each for each in below if "forkserver" in " ".join(each.cmdline()))
    server.suspend()
    watched.engine.go_on()
    watched.until_ended()
    assert watched.states == ["ok"] * 30


def test_stop_command_reports_success_after_the_engine_has_ended(begin: Begin, command: str) -> None:
    watched = begin(quick("stop server", timeout_s=600.0))
    watched.until(lambda: psutil.Process(watched.engine.pid).children(recursive=True))
    watched.until(lambda: watched.session.running)
    stopped = subprocess.run([command, "stop"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (stopped.returncode, stopped.stderr) == (0, f"stopped; session {watched.engine.path}\n")
    assert not watched.engine.alive()
    watched.until_ended()
    assert watched.session.finished is not None and watched.session.finished.outcome == "interrupted"


def test_stop_command_reports_an_engine_that_is_still_ending(
    begin: Begin, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from benchtui.tui.cli import engine

    monkeypatch.setattr(engine, "ENGINE_EXIT_TIMEOUT_S", 0.5)
    watched = begin(quick("stop server", timeout_s=600.0))
    watched.until(lambda: watched.session.running)
    time.sleep(0.5)
    ran = CliRunner().invoke(engine.stop, [])
    assert ran.exit_code == 1
    assert ran.output == f"the engine is still running after 0.5 s; session {watched.engine.path}\n"
    watched.until_ended()


def test_engine_leaves_no_process_behind(begin: Begin, tmp_path: Path) -> None:
    watched = begin(quick("light"))
    watched.until_steps(0)
    below = psutil.Process(watched.engine.pid).children(recursive=True)
    watched.until_ended()
    for process in below:
        wait_gone(process.pid)
