"""The app in a real pseudo-terminal: what it writes, and that it exits with the terminal."""

import os
import pty
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RUNNING: set[int] = set()
"""Process IDs of apps that haven't ended."""
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


@pytest.fixture(autouse=True)
def running() -> Iterator[None]:
    """End the apps that a failed test left running."""
    yield
    for pid in RUNNING:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    RUNNING.clear()


def launch(path: Path, *words: str, lines: str = "40", columns: str = "120") -> tuple[int, int]:
    pid, terminal = pty.fork()  # of no size
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "LINES": lines, "COLUMNS": columns}
        os.execv(sys.executable, [sys.executable, "-c", SCRIPT, str(path), *words])
    RUNNING.add(pid)
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
            RUNNING.discard(pid)
            return True
        time.sleep(0.02)
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
@pytest.mark.parametrize("size", [("40", "120"), ("", "")], ids=["sized", "without a size"])
def test_unchanged_screen_writes_almost_nothing(story: Any, size: tuple[str, str]) -> None:
    story.begin().start(0).prepare(0).steps(0, [10.0] * 20)
    pid, terminal = launch(story.path, "hears", lines=size[0], columns=size[1])
    read_until(terminal, b"cases")
    settle, written = time.monotonic() + 1.5, 0
    while time.monotonic() < settle + 2:
        if select.select([terminal], [], [], 0.05)[0]:
            written += len(os.read(terminal, 65536)) * (time.monotonic() > settle)
    assert written < 2000
    os.write(terminal, b"d")
    assert gone(pid, within_s=10)
    os.close(terminal)


FAILING = """
import sys
import termios
from pathlib import Path
from benchtui.engine import client
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.cli import watch
from benchtui.tui.shell.terminal import Terminal

class Engine:
    session_id, pid, path = "story", 1, Path(sys.argv[1])
    def alive(self):
        return True

def fail(*args):
    raise ZeroDivisionError("division by \\x1b[31mzero")

where = sys.argv[2]
if where == "message":
    BenchtuiApp._report_setting_problems = fail
elif where == "keys":
    Terminal.process_message = fail
else:
    Terminal._disable_line_wrap = fail  # after the terminal has been taken over
client.find = lambda path: Engine() if sys.argv[3] == "running" else None
watch.show(Engine(), Engine.path, theme=None, ascii_only=False)
"""


@pytest.mark.terminal
@pytest.mark.parametrize(("where", "sweep"), [("message", "running"), ("keys", "ended"), ("start", "running")])
def test_failing_app_restores_the_terminal_and_says_what_becomes_of_the_sweep(
    story: Any, tmp_path: Path, where: str, sweep: str
) -> None:
    story.begin().start(0)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "LINES": "24", "COLUMNS": "80", "XDG_DATA_HOME": str(tmp_path)}
        os.execv(sys.executable, [sys.executable, "-c", FAILING, str(story.path), where, sweep])
    before = termios.tcgetattr(terminal)
    if where == "keys":
        assert read_until(terminal, b"cases")
        os.write(terminal, b"x")
    sent = read_until(terminal, b"app-failures.log")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert termios.tcgetattr(terminal) == before
    os.close(terminal)
    shown, report, last = sent.partition(b"benchtui: the app failed: ")
    assert b"\x1b[?1049l" in shown and b"Traceback" not in sent
    assert report and last.startswith("ZeroDivisionError: division by \ufffd[31mzero; ".encode()), sent[-2000:]
    wanted = f"the sweep is still running; attach: benchtui attach {story.path};"
    assert (wanted if sweep == "running" else "no sweep is running;").encode() in last
    assert "ZeroDivisionError" in (tmp_path / "benchtui" / "app-failures.log").read_text()


@pytest.mark.terminal
def test_old_mouse_report_leaves_app_and_sweep_alone(story: Any) -> None:
    story.begin().start(0)
    pid, terminal = launch(story.path, "hears")
    read_until(terminal, b"cases")
    for data in (b"\x1b[M\x20\xe0\x30", b"\xff\xfe\x80", b"\x1b[99999999999u", b"d"):
        os.write(terminal, data)
    assert b"\x1b[?1049l" in read_until(terminal, b"\x1b[?1049l")
    assert gone(pid, within_s=10)
    assert Path(f"{story.path}.ending").read_text() == "detached"
    os.close(terminal)
