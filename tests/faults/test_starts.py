"""Engines that start at the same moment, and engines whose client is gone before they have answered."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import light
import msgspec
import psutil
import pytest
from watching import PATIENCE_S

from benchtui.engine import client, control
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.tui.cli import watch
from benchtui.tui.shell.context import AppContext

MOMENTS = 8
CLIENT = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(light.__file__).parent)!r})
import light
from benchtui.engine import client, control

start_process, lines, last = client.subprocess.Popen, 0, int(sys.argv[2])

def start_light(words, **options):
    words[2:4] = [light.__file__]  # in place of -m benchtui.engine
    return start_process(words, **options)

def count(frame, event, _argument):
    global lines
    lines += event == "line"
    if event == "line" and lines == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return count

def trace(frame, event, argument):
    ours = frame.f_code.co_filename in (client.__file__, control.__file__)
    return count(frame, event, argument) if ours else None

client.subprocess.Popen = start_light
sweep = light.sweep(cases=2, steps=5)
sys.settrace(trace)
client.start(sweep, __import__("pathlib").Path(sys.argv[1]))
sys.settrace(None)
print(lines)
"""


def engines_of(path: Path) -> list[psutil.Process]:
    """Every process that has this session's path on its command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(path) in process.cmdline() and light.__file__ in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_ended(path: Path) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while engines_of(path):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.fixture
def launch_client(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path, int], str]]:
    """Start an engine from a client that is killed before it runs this line of its code."""
    monkeypatch.setenv(light.NOTES, str(home / "notes"))
    paths: list[Path] = []

    def run(path: Path, last: int) -> str:
        paths.append(path)
        words = [sys.executable, "-c", CLIENT, path, str(last)]
        ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
        assert ran.returncode == (-signal.SIGKILL if last else 0)
        return ran.stdout

    yield run
    for engine in (engine for path in paths for engine in engines_of(path)):
        engine.kill()


def test_client_killed_at_any_moment_leaves_a_whole_sweep_or_none(
    home: Path, launch_client: Callable[[Path, int], str]
) -> None:
    lines = int(launch_client(home / "whole.json", 0))
    wait_ended(home / "whole.json")
    outcomes = []
    for moment in range(MOMENTS):
        path = home / f"{moment}.json"
        launch_client(path, 1 + moment * (lines - 1) // (MOMENTS - 1))
        wait_ended(path)
        outcomes.append(path.exists())
        if path.exists():
            session = Session.load(path)
            assert session.finished is not None and session.finished.outcome == "completed"
            assert [case.state for case in session.cases] == ["ok", "ok"]
    assert set(outcomes) == {True, False}, "some were killed before the request was sent, some after"
    assert client.running() == []
    assert list(control.runtime_folder().iterdir()) == []


@pytest.mark.parametrize("sent", [0, 1, 0.5, -1])
def test_request_cut_short_starts_nothing(home: Path, sent: float) -> None:
    request = msgspec.json.encode(light.sweep())
    part = request[: int(sent * len(request)) if 0 < sent < 1 else int(sent)]
    with control.create_starting_log("0123456789ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", light.__file__, "--id", "0123456789ab", str(home / "s.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    answer, _ = process.communicate(part, timeout=PATIENCE_S)
    assert process.returncode == 2
    assert json.loads(answer)["ok"] is False
    assert not (home / "s.json").exists()
    assert list(control.runtime_folder().iterdir()) == []


def test_answer_to_a_client_that_is_gone_does_not_end_the_sweep(home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = light.launch(home / "s.json", light.sweep(cases=2, steps=5), stdout=writer)
    os.close(writer)
    assert process.wait(PATIENCE_S) == 0
    assert [case.state for case in Session.load(home / "s.json").cases] == ["ok", "ok"]


def test_engines_that_want_one_name_at_the_same_time_all_run(home: Path) -> None:
    sweep = light.sweep(cases=1, steps=5)
    started = [light.launch(home / "s.json", sweep, numbered=True) for _ in range(6)]
    assert [process.wait(PATIENCE_S) for process in started] == [0] * 6
    names = {path.name for path in home.glob("*.json")}
    assert names == {"s.json", *(f"s-{number}.json" for number in range(2, 7))}
    loaded = [Session.load(home / name) for name in names]
    assert len({session.start.id for session in loaded}) == 6
    assert all(session.finished for session in loaded)


def test_client_learns_the_name_that_its_session_got(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    popen = subprocess.Popen

    def start_light(words: list[str], **options: object) -> object:
        return popen([*words[:2], light.__file__, *words[4:]], **options)  # type: ignore[call-overload]

    monkeypatch.setenv(light.NOTES, str(home / "notes"))
    monkeypatch.setattr(client.subprocess, "Popen", start_light)
    (home / "s.json").touch()
    engine = client.start(light.sweep(cases=1, steps=5), home / "s.json", numbered=True)
    assert engine.path == home / "s-2.json"
    wait_ended(home / "s.json")
    assert Session.load(engine.path).finished


def test_only_default_names_are_numbered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Path, bool]] = []

    def start(
        _sweep: Sweep, path: Path, _consent: Consent, *, numbered: bool, wait: bool = False
    ) -> client.Engine:
        assert not wait
        calls.append((path, numbered))
        return client.Engine("x", path, 1)

    monkeypatch.setattr(client, "start", start)
    monkeypatch.setattr("benchtui.sessions.estimates.sweep_models.hub_answers", lambda: True)
    watch.start_engine(light.sweep(), None)
    watch.start_engine(light.sweep(), home / "mine.json")
    AppContext.here().start(light.sweep(), NO_CONSENT, wait=False)
    assert [numbered for _, numbered in calls] == [True, False, True]
    assert calls[1][0] == home / "mine.json"


def test_log_of_an_engine_that_never_started_is_removed_once_it_is_gone(home: Path) -> None:
    with control.create_starting_log("0123456789ab") as log:
        log.write(b"of an engine that is starting")
        kept = control.runtime_folder() / "0123456789ab.starting"
        assert client.running() == [] and kept.exists()
    others = [control.runtime_folder() / name for name in ("x.starting", "0123456789ac.log", "notes")]
    for other in others:
        other.touch()
    assert client.running() == []
    assert sorted(control.runtime_folder().iterdir()) == sorted(others)


def test_log_removed_before_it_was_locked_is_created_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, calls = control.lock, []

    def lock_removed(fd: int, *, wait: bool = False) -> None:
        if not calls:
            calls.append(fd)
            control.remove_abandoned_logs()
        lock(fd, wait=wait)

    monkeypatch.setattr(control, "lock", lock_removed)
    with control.create_starting_log("0123456789ab") as log:
        status = os.fstat(log.fileno())
    assert os.path.samestat(status, (control.runtime_folder() / "0123456789ab.starting").stat())
