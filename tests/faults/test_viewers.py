"""Screens and viewers that are killed, cut off or slow: the sweep takes no notice of them."""

import fcntl
import os
import pty
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

import light
import pytest
from watching import PATIENCE_S, Watched

from benchtui.engine import client
from benchtui.engine.control import socket_path

Begin = Callable[..., Watched]


class Viewer:
    """``benchtui attach`` in a terminal of its own."""

    def __init__(self, command: str) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "LINES": "40", "COLUMNS": "120"}
            os.execv(command, [command, "attach"])

    def read_until(self, wanted: bytes) -> bytes:
        got, end_s = b"", time.monotonic() + PATIENCE_S
        while wanted not in got:
            assert time.monotonic() < end_s, got
            if select.select([self.terminal], [], [], 0.1)[0]:
                got += os.read(self.terminal, 65536)
        return got

    def ended(self) -> tuple[int, bytes]:
        """The status as the shell says it, and the last that was written."""
        got = b""
        while True:
            try:
                chunk = os.read(self.terminal, 65536)
            except OSError:
                break
            got += chunk
            if not chunk:
                break
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), got


@pytest.fixture
def view(command: str) -> Iterator[Callable[[], Viewer]]:
    opened: list[Viewer] = []

    def open_one() -> Viewer:
        opened.append(Viewer(command))
        return opened[-1]

    yield open_one
    for viewer in opened:
        os.close(viewer.terminal)


SIGNALS = (
    (signal.SIGKILL, -9, b""),
    (signal.SIGTERM, 0, b"the sweep is still running; attach: benchtui attach "),
    (signal.SIGINT, 0, b"the sweep is still running; attach: benchtui attach "),
    (signal.SIGHUP, 0, b""),
)


@pytest.mark.terminal
def test_killed_or_interrupted_screen_does_not_affect_the_sweep(
    begin: Begin, view: Callable[[], Viewer]
) -> None:
    watched = begin(light.sweep(cases=1, steps=1_000_000))
    watched.until_steps(0)
    for number, status, word in SIGNALS:
        viewer = view()
        viewer.read_until(b"measuring")
        os.kill(viewer.pid, number)
        ended, said = viewer.ended()
        assert ended == status and word in said and b"Traceback" not in said
        before = len(watched.session.cases[0].measured)
        watched.until(lambda before=before: len(watched.session.cases[0].measured) > before)  # type: ignore[misc]
    watched.engine.stop()
    watched.until_ended()
    assert watched.states == ["interrupted"]


def test_viewer_that_does_not_read_delays_nobody(begin: Begin, command: str) -> None:
    watched = begin(light.sweep(cases=120, name="brief"))
    slow, fast = (
        subprocess.Popen(
            [command, "attach", "--plain", str(watched.engine.path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    assert slow.stdout is not None
    fcntl.fcntl(slow.stdout, fcntl.F_SETPIPE_SZ, 4096)
    seen, _ = fast.communicate(timeout=PATIENCE_S)
    session = watched.until_ended()
    assert session.finished is not None and session.done == 120
    assert slow.poll() is None, "it is still kept waiting by its reader"
    late, _ = slow.communicate(timeout=PATIENCE_S)
    assert late == seen and len(seen) > 3 * 4096
    assert slow.returncode == fast.returncode


def test_stale_sockets_are_removed(begin: Begin) -> None:
    stale = []
    for number in range(20):
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.bind(str(socket_path(f"{number:012x}")))
        stale.append(socket_path(f"{number:012x}"))
    socket_path(f"{99:012x}").write_text("")
    watched = begin(light.sweep(name="hang"))
    watched.until(lambda: client.find(watched.engine.path))
    assert [path for path in stale if path.exists()] == []
