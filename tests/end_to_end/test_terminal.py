"""The app in a real terminal: a lost connection, a stopped sweep, the demo."""

import signal
import time
from pathlib import Path
from typing import Any

import pexpect
import psutil
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
    app.press("x", r"0/1 cases · 1 skipped")
    app.press("q", r"X: stop it")
    app.press("X")
    assert app.wait_for_exit() == 130
    assert [case.state for case in Session.load(home / "s.json").cases] == ["skipped", "interrupted"]


@pytest.mark.terminal
def test_demo_plays_and_seeks(open_app: Any) -> None:
    app = open_app("demo", "--speed", "0.25", columns=80, rows=24)  # forty minutes long
    app.wait_for(r"SIMULATED llama-1b-sweep")
    app.wait_for(r"playing +0\.25x")
    app.wait_for(r"simulated 20\d\d-\d\d-\d\d")
    app.press(" ", r"paused")
    app.press("\x1b9", r"round 2/2 · 2\d/32")
    app.press("\x1b0", r"round 1/2 · 0/32")
    app.press("\x1b", r"32/32 cases")
    app.wait_for(r"R +replay|R replay")
    app.press("q")
    assert app.wait_for_exit() == 0


@pytest.mark.terminal
def test_resumed_app_repaints_its_whole_screen(open_app: Any) -> None:
    app = open_app("demo", "--speed", "0.25")
    app.wait_for(r"playing +0\.25x")
    app.press(" ", r"paused")
    app.process.send("\x1a")
    while psutil.Process(app.process.pid).status() != psutil.STATUS_STOPPED:
        app.read()
    app.erase()
    app.process.kill(signal.SIGCONT)
    app.wait_for(r"paused")
    app.wait_for(r"fp32 +sdpa +bs +1 +seq +512")
    app.wait_for(r"round 1/2 · \d+/32")


@pytest.mark.terminal
@pytest.mark.parametrize("mouse", [True, False])
def test_mouse_reports_buttons_only_unless_it_is_turned_off(open_app: Any, home: Path, mouse: bool) -> None:
    configuration = home / "config/benchtui"
    configuration.mkdir(parents=True)
    (configuration / "config.toml").write_text(f"mouse = {str(mouse).lower()}\n")
    app = open_app("demo")
    app.wait_for(r"playing")
    app.wait_for(r"4 Library")
    at = app.text.splitlines()[1].index("Library") + 1
    assert (b"\x1b[?1000h" in app.output, b"\x1b[?1003h" in app.output) == (mouse, False)
    if mouse:
        app.press(f"\x1b[<0;{at};2M\x1b[<0;{at};2m", r"▸4 Library")
    app.press("q")
    assert app.wait_for_exit() == 0
