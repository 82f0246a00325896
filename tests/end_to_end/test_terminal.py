"""The app in a real terminal: a lost connection, a stopped sweep, the demo."""

import signal
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest

from benchtui.engine import client
from benchtui.sessions.state.session import Session


@pytest.mark.terminal
@pytest.mark.parametrize("lost", ["hang-up", "closed"])
def test_lost_terminal_ends_the_screen_but_not_the_sweep(
    lost: str, open_app: Any, sweep_file: Path, home: Path
) -> None:
    app = open_app(str(sweep_file), "-o", str(home / "s.json"), "--set", "iterations=1000000")
    app.wait_for(r"measuring")
    if lost == "hang-up":
        app.process.kill(signal.SIGHUP)
        app.process.expect(pexpect.EOF)
    else:
        app.process.ptyproc.fileobj.close()
        app.process.closed = True
    deadline = time.monotonic() + 10
    while app.process.isalive():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    engine = client.find(home / "s.json")
    assert engine is not None
    assert engine.alive()
    engine.stop()


@pytest.mark.terminal
def test_case_is_skipped_and_the_sweep_stopped_on_quit(open_app: Any, sweep_file: Path, home: Path) -> None:
    app = open_app(str(sweep_file), "-o", str(home / "s.json"), "--set", "iterations=1000000")
    app.wait_for(r"measuring")
    app.press("x", r"1/2 cases")
    app.press("q", r"s: stop it")
    app.press("s")
    assert app.wait_for_exit() == 130
    assert [case.state for case in Session.load(home / "s.json").cases] == ["skipped", "interrupted"]


@pytest.mark.terminal
def test_demo_plays_and_seeks(open_app: Any) -> None:
    app = open_app("demo", "--speed", "0.25", columns=80, rows=24)  # eight minutes long
    app.wait_for(r"playing +0\.25x")
    app.wait_for(r"demo[a-z, ]* 20\d\d-\d\d-\d\d")
    app.press(" ", r"paused")
    app.press("9", r"[67]/8 cases")
    app.press("0", r"0/8 cases")
    app.press("\x1b", r"8/8 cases")
    app.wait_for(r"R +replay|R replay")
    app.press("q")
    assert app.wait_for_exit() == 0
