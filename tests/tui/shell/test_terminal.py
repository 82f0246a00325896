"""The app in a real pseudo-terminal: what it writes, and that it exits with the terminal."""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import signal, sys
from pathlib import Path
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext

class Engine:
    session_id, pid, path = "story", 1, Path(sys.argv[1])
    def alive(self):
        return True

context = AppContext(None, list, None, list, str, Path("."))
ending = BenchtuiApp(context, Engine.path, Engine()).run(mouse=False)
Path(sys.argv[1] + ".ending").write_text(ending.how)
"""


def launch(path: Path, *words: str) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "LINES": "40", "COLUMNS": "120"}
        os.execv(sys.executable, [sys.executable, "-c", SCRIPT, str(path), *words])
    return pid, terminal


def read_until(terminal: int, wanted: bytes) -> bytes:
    got, end = b"", time.monotonic() + 20
    while wanted not in got and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            got += os.read(terminal, 65536)
    return got


def gone(pid: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


@pytest.mark.terminal
@pytest.mark.parametrize("hearing", ["hears", "deaf"])
def test_app_exits_when_its_terminal_disappears(story: Any, hearing: str) -> None:
    story.begin().start(0)
    pid, terminal = launch(story.path, hearing)
    assert b"cases" in read_until(terminal, b"cases")
    os.close(terminal)
    assert gone(pid, within_s=10)
    assert Path(f"{story.path}.ending").read_text() == "lost"


@pytest.mark.terminal
def test_sigterm_restores_the_terminal(story: Any) -> None:
    story.begin().start(0)
    pid, terminal = launch(story.path, "hears")
    read_until(terminal, b"cases")
    os.kill(pid, signal.SIGTERM)
    assert b"\x1b[?1049l" in read_until(terminal, b"\x1b[?1049l")
    assert gone(pid, within_s=10)
    os.close(terminal)


@pytest.mark.terminal
def test_detaching_restores_the_terminal(story: Any) -> None:
    story.begin().start(0)
    pid, terminal = launch(story.path, "hears")
    read_until(terminal, b"cases")
    os.write(terminal, b"d")
    assert b"\x1b[?1049l" in read_until(terminal, b"\x1b[?1049l")
    assert gone(pid, within_s=10)
    assert Path(f"{story.path}.ending").read_text() == "detached"
    os.close(terminal)


@pytest.mark.terminal
def test_unchanged_screen_writes_almost_nothing(story: Any) -> None:
    story.begin().start(0).prepare(0).steps(0, [10.0] * 20)
    pid, terminal = launch(story.path, "hears")
    read_until(terminal, b"theme")
    settle, written = time.monotonic() + 1.5, 0
    while time.monotonic() < settle + 2:
        if select.select([terminal], [], [], 0.05)[0]:
            written += len(os.read(terminal, 65536)) * (time.monotonic() > settle)
    assert written < 2000
    os.write(terminal, b"d")
    assert gone(pid, within_s=10)
    os.close(terminal)
