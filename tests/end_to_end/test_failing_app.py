"""The app fails beside a running sweep: its terminal is restored, and the sweep goes on."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine import client

FAILING = """
import asyncio
import sys
from types import SimpleNamespace

def fail(*args, **options):
    raise ZeroDivisionError("planted")

def late(function, calls):
    left = [calls]
    def counted(*args, **options):
        left[0] -= 1
        return function(*args, **options) if left[0] >= 0 else fail()
    return counted

from benchtui.tui.app import BenchtuiApp
from benchtui.tui.live import explainer, feed
from benchtui.tui.monitor import screen
from benchtui.tui.shell.terminal import Terminal
from benchtui.tui.widgets.panel import Panel
from textual.drivers import _writer_thread

where = sys.argv.pop(1)
if where == "render":
    Panel.render_line = late(Panel.render_line, 100)
elif where == "message":
    BenchtuiApp.on_resize = fail
elif where == "timer":
    screen.Monitor.on_resize = lambda self, event: self.set_interval(0.3, fail)
elif where == "feed":
    feed.Feed.poll = late(feed.Feed.poll, 5)
elif where == "computation":
    screen.Monitor.on_resize = lambda self, event: self.run_worker(asyncio.to_thread(fail))
elif where == "worker":
    screen.gc_control.trim_heap = fail
elif where == "thread":
    explainer.Explainer._profile = fail
    screen.Monitor.on_resize = lambda self, event: self.feed.explainer._enqueue(0)
elif where == "keys":
    Terminal.process_message = late(Terminal.process_message, 3)
elif where == "output":
    started = _writer_thread.WriterThread.run
    def run(self):
        self._file = SimpleNamespace(write=late(self._file.write, 6), flush=self._file.flush)
        started(self)
    _writer_thread.WriterThread.run = run

from benchtui.tui.cli import main
main()
"""
PLACES = ("render", "message", "timer", "feed", "computation", "worker", "thread", "keys", "output")
MODES = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
SHOWN_AFTER_EXIT = {b"25": b"h", b"7": b"h"}
"""Private modes that are on in a shell's terminal: cursor and line wrap. Mouse, paste and others are off."""


@pytest.mark.terminal
def test_app_that_fails_anywhere_exits_with_3_and_restores_its_terminal(
    open_app: Any, sweep_file: Path, home: Path, command: str
) -> None:
    session, script = home / "s.json", home / "failing.py"
    script.write_text(FAILING)
    arguments = [command, "run", str(sweep_file), "-o", str(session), "--set", "iterations=10000000"]
    with subprocess.Popen(arguments, cwd=home, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while (engine := client.find(session)) is None or b'"steps"' not in session.read_bytes():
            assert run.poll() is None
            time.sleep(0.1)
        try:
            for where in PLACES:
                attach = shlex.join([sys.executable, str(script), where, "attach", str(session)])
                require_report(
                    open_app("-c", f"stty -a; {attach}; echo status $?; stty -a", command="/bin/sh"), where
                )
                assert client.find(session) is not None
        finally:
            engine.stop()


def require_report(shell: Any, where: str) -> None:
    """Require the exit status, the state of the terminal and the report of the app that a shell runs."""
    deadline = time.monotonic() + 30
    while shell.process.isalive():
        assert time.monotonic() < deadline, (where, shell.text)
        shell.read()
        if where == "keys":
            shell.process.send("j")
    shell.read()
    output = shell.output.translate(None, b"j")  # echoed wherever no app was reading
    before, _, rest = output.partition(b"\x1b")
    shown, _, after = rest.partition(b"status ")
    status, _, after = after.partition(b"\r\n")
    assert status == b"3", (where, output[-3000:])
    assert after == before, where
    modes = {mode: sign for listed, sign in MODES.findall(rest) for mode in listed.split(b";")}
    assert {mode: sign for mode, sign in modes.items() if sign == b"h"} == SHOWN_AFTER_EXIT, (where, modes)
    assert b"Traceback" not in rest
    report = shown.rpartition(b"benchtui: the app failed: ")[2].decode()
    assert (
        "ZeroDivisionError" in report and "; the sweep is still running; attach: benchtui attach " in report
    ), where
