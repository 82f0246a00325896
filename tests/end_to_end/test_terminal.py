"""The app in a real terminal: what a user sees, keys, detaching, attaching, a lost connection."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

from benchtui.engine import client
from benchtui.sessions.session import Session

PATIENCE_S = 90.0


class Terminal:
    """A command in a pseudo-terminal, and the screen it has drawn."""

    def __init__(self, command: str, arguments: list[str], columns: int, rows: int) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self.process = pexpect.spawn(
            command, arguments, dimensions=(rows, columns), env=environment, timeout=PATIENCE_S
        )

    def read(self, seconds: float = 0.2) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._stream.feed(self.process.read_nonblocking(65536, timeout=left))
            except pexpect.TIMEOUT:
                return
            except pexpect.EOF:
                time.sleep(0.05)
                return

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def until(self, pattern: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, f"{pattern!r} didn't come; the screen:\n{self.text}"
            assert self.process.isalive() or self.read(0.5) is None
            self.read()
        return found.group(0)

    def press(self, key: str) -> None:
        self.process.send(key)
        self.read(0.3)

    def ended(self) -> int:
        self.process.expect(pexpect.EOF)
        self._stream.feed(self.process.before or b"")
        self.process.close()
        assert self.process.exitstatus is not None
        return int(self.process.exitstatus)


@pytest.fixture
def open_app(home: Path, command: str) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def run(*arguments: str, columns: int = 120, rows: int = 40) -> Terminal:
        opened.append(Terminal(command, list(arguments), columns, rows))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.process.close(force=True)
    for engine in client.running():
        os.kill(engine.pid, signal.SIGKILL)


@pytest.mark.terminal
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (200, 50)])
def test_watch_detach_attach_and_stop(
    columns: int, rows: int, open_app: Callable[..., Terminal], sweep_file: Path, home: Path
) -> None:
    session = home / "s.json"
    settings = ("--set", "iterations=1000000", "--set", "max_time=60s")
    app = open_app(str(sweep_file), "-o", str(session), *settings, columns=columns, rows=rows)
    app.until(r"0/2 cases")
    app.until(r"measuring")
    app.until(r"p50 +\d+\.\d\d ms")
    counts = {app.until(r"n [\d,]+")}
    deadline = time.monotonic() + PATIENCE_S
    while len(counts) < 3:
        assert time.monotonic() < deadline, "the numbers don't move"
        app.read(0.5)
        counts.add(app.until(r"n [\d,]+"))
    app.press("q")
    assert "detach" in app.text
    app.press("d")
    assert app.ended() == 0
    assert f"the sweep goes on: benchtui attach {session}" in app.text.replace("\n", "")

    again = open_app("attach", columns=columns, rows=rows)
    again.until(r"measuring")
    again.press("q")
    again.press("s")
    assert again.ended() == 130
    recorded = Session.load(session)
    assert recorded.finished is not None
    assert recorded.finished.outcome == "interrupted"
    assert len(json.loads(session.read_text())) > 3


@pytest.mark.terminal
def test_a_finished_sweep_stays_on_screen_and_says_how_to_export(
    open_app: Callable[..., Terminal], sweep_file: Path, home: Path
) -> None:
    app = open_app(str(sweep_file), "-o", str(home / "s.json"))
    app.until(r"2/2 cases")
    app.until(r"benchtui export")
    app.press("q")
    assert app.ended() == 0


@pytest.mark.terminal
@pytest.mark.parametrize("lost", ["hang-up", "closed"])
def test_a_lost_terminal_ends_the_screen_and_not_the_sweep(
    lost: str, open_app: Callable[..., Terminal], sweep_file: Path, home: Path
) -> None:
    app = open_app(str(sweep_file), "-o", str(home / "s.json"), "--set", "iterations=1000000")
    app.until(r"measuring")
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
def test_skip_ends_the_case_in_hand(open_app: Callable[..., Terminal], sweep_file: Path, home: Path) -> None:
    app = open_app(str(sweep_file), "-o", str(home / "s.json"), "--set", "iterations=1000000")
    app.until(r"measuring")
    app.press("x")
    app.until(r"1/2 cases")
    app.press("X")
    app.press("s")
    app.until(r"benchtui export")
    app.press("q")
    assert app.ended() == 130
    assert [case.state for case in Session.load(home / "s.json").cases] == ["skipped", "interrupted"]


@pytest.mark.terminal
def test_without_a_sweep_one_is_edited_and_started_by_keyboard(
    open_app: Callable[..., Terminal], sweep_file: Path, home: Path
) -> None:
    app = open_app()
    app.until(r"quick +preset quick")
    app.press("o")
    app.until(r"distilbert-sst2")
    app.press(str(sweep_file))
    app.press("\r")
    app.until(r"2 of 2 cases")
    app.press("\t")
    app.press(" ")
    app.until(r"1 of 2 cases")
    app.press("s")
    app.until(r"0/1 cases|1/1 cases")
    app.until(r"benchtui export")
    app.press("q")
    assert app.ended() == 0


@pytest.mark.terminal
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_the_demo_plays_and_goes_where_it_is_sent(
    columns: int, rows: int, open_app: Callable[..., Terminal], home: Path
) -> None:
    app = open_app("demo", "--speed", "4", columns=columns, rows=rows)
    app.until(r"playing +4x")
    app.until(r"demo[a-z, ]* 20\d\d-\d\d-\d\d")
    app.press(" ")
    app.until(r"paused")
    app.press("9")
    app.until(r"[67]/8 cases")
    app.press("0")
    app.until(r"0/8 cases")
    app.press("\x1b")
    app.until(r"8/8 cases")
    app.until(r"R +replay|R replay")
    app.press("q")
    assert app.ended() == 0
