"""What clients of the control socket do to a running sweep, and how it is found once its socket was removed."""

import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import light
import psutil
import pytest
from storm import BUSY, FILES, IDLE, Storm
from watching import PATIENCE_S, Watched

from benchtui.engine import client
from benchtui.engine.control import runtime_folder, socket_path

Begin = Callable[..., Watched]
SHORT = "can't start the worker: Too many open files"
STORM_S = 10.0
SHARE = 0.35
"""Of a processor, in a storm on a machine that has two and is busy; without any bound it was 0.58."""


@contextmanager
def no_more_files(pid: int) -> Iterator[None]:
    """Let a process open no file."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def connected(watched: Watched) -> socket.socket:
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(PATIENCE_S)
    one.connect(str(socket_path(watched.engine.session_id)))
    return one


@pytest.mark.parametrize(
    "line",
    [
        b'{"command":"status","x":' + b"[" * 100_000 + b"\n",
        b'{"command":"\xff"}\n',
        b"\xff" * 1_000_000 + b"\n",
    ],
    ids=["deep", "no UTF-8", "long"],
)
def test_client_input_cannot_end_a_sweep(begin: Begin, line: bytes) -> None:
    watched = begin(light.sweep(cases=2, steps=300))
    watched.until_steps(0)
    with connected(watched) as one:
        one.sendall(line)
        assert b'"invalid command: ' in one.makefile("rb").readline()
    watched.until_ended()
    assert watched.states == ["ok", "ok"]


def test_silent_clients_exhaust_neither_files_nor_cpu(begin: Begin) -> None:
    watched = begin(light.sweep(cases=4, steps=1000))
    watched.until_steps(0)
    engine = psutil.Process(watched.engine.pid)
    soft = resource.prlimit(engine.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(engine.pid, resource.RLIMIT_NOFILE, (FILES, soft[1]))
    before, began_s = sum(engine.cpu_times()[:2]), time.monotonic()
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(connected(watched))
        watched.until(lambda: watched.states[1] == "ok")
        assert engine.num_fds() < FILES
        used = (sum(engine.cpu_times()[:2]) - before) / (time.monotonic() - began_s)
        watched.until_ended()
    assert watched.states == ["ok"] * 4
    assert used < 0.25


def test_case_out_of_files_fails_and_the_session_is_closed(begin: Begin) -> None:
    watched = begin(light.sweep(cases=3, steps=200))
    watched.until_steps(0)
    with no_more_files(watched.engine.pid):
        session = watched.until_ended()
    assert watched.states == ["ok", "failed", "failed"]
    reasons = {case.finished.reason for case in session.cases[1:] if case.finished}
    assert reasons == {SHORT}
    assert session.finished is not None and session.finished.outcome == "completed"


@pytest.mark.parametrize("what", ["folder", "socket"])
def test_sweep_with_removed_socket_is_found_watched_and_stopped(
    begin: Begin, command: str, home: Path, what: str
) -> None:
    watched = begin(light.sweep(cases=1, steps=1_000_000))
    watched.until_steps(0)
    path = watched.engine.path
    if what == "folder":
        shutil.rmtree(runtime_folder())
    else:
        socket_path(watched.engine.session_id).unlink()
    watched.until(lambda: client.find(path) == watched.engine)
    stopped = subprocess.run([command, "stop"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert stopped.returncode == 0, stopped.stderr
    watched.until_ended()
    assert watched.states == ["interrupted"]
    assert not socket_path(watched.engine.session_id).exists()


def test_engine_with_removed_log_reports_why_it_failed(begin: Begin) -> None:
    watched = begin(light.sweep(cases=1, steps=1_000_000))
    watched.until_steps(0)
    shutil.rmtree(runtime_folder())
    shutil.rmtree(watched.engine.path.parent)  # no room for a copy beside it either
    watched.until_ended()
    said = watched.engine.last_words()
    assert said == f"{watched.engine.path}: can't write the session file: the file was removed"


@pytest.mark.long
def test_client_storm_has_a_bounded_cpu_cost(begin: Begin) -> None:
    watched = begin(light.sweep(cases=1, steps=8_000))
    watched.until_steps(0)
    engine = psutil.Process(watched.engine.pid)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < IDLE + 500:
        pytest.skip(f"{IDLE:,} connections need as many files; at most {hard:,} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    path = str(socket_path(watched.engine.session_id))
    storm = Storm(path)
    before, began_s = sum(engine.cpu_times()[:2]), time.monotonic()
    storm.begin()
    try:
        time.sleep(STORM_S / 2)
        assert client.find(watched.engine.path) == watched.engine, "the user's own commands still get through"
        time.sleep(max(0.0, STORM_S - (time.monotonic() - began_s)))
        share = (sum(engine.cpu_times()[:2]) - before) / (time.monotonic() - began_s)
        files = engine.num_fds()
    finally:
        storm.end()
    watched.until_ended()
    assert watched.states == ["ok"]
    assert storm.answered > BUSY, "else it was none"
    assert files < FILES
    assert share < SHARE, f"{share:.2f} of a processor, {storm.answered} answers"
