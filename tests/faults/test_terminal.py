"""The app and commands on a real terminal among hostile names: each escape sequence sent is one of our own."""

import base64
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import corpus
import hostile_names
import pytest
import terminal_grammar
from terminal_grammar import Sent

from benchtui.tui.shell.terminal import TerminalHandle

PATIENCE_S = 120.0
QUIET_S = 0.3
"""Seconds without output after which the next key is pressed; output that comes later is checked as well."""


def on_terminal(
    world: hostile_names.World, words: Sequence[str], command: str, keys: Sequence[str] = (), rows: int = 24
) -> tuple[int, Sent]:
    """Run a command on a terminal of 80 columns, press keys, and return its status and what it sent."""
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    environment = os.environ | world.environment
    process = subprocess.Popen(
        [command, *words],
        cwd=world.folder,
        env=environment | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"},
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
    )
    os.close(other)
    try:
        sent = b"" if not keys else _until(own, b"\x1b[?2004h")  # the app reads keys from then on
        for key in keys:
            sent += _until_quiet(own)
            os.write(own, key.encode())
        sent += _until_end(own, process)
        return process.wait(PATIENCE_S), terminal_grammar.parse(sent)
    finally:
        os.close(own)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the program has closed its end
        return b""


def _until(terminal: int, sign: bytes) -> bytes:
    sent, end_s = b"", time.monotonic() + PATIENCE_S
    while sign not in sent:
        piece = _read(terminal)
        assert piece and time.monotonic() < end_s, sent
        sent += piece
    return sent


def _until_quiet(terminal: int) -> bytes:
    sent = b""
    while select.select([terminal], [], [], QUIET_S)[0] and (piece := _read(terminal)):
        sent += piece
    return sent


def _until_end(terminal: int, process: subprocess.Popen[bytes]) -> bytes:
    sent, end_s = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        if not select.select([terminal], [], [], QUIET_S)[0]:
            if process.poll() is not None:
                break
        elif not (piece := _read(terminal)):
            break
        else:
            sent += piece
    return sent


@pytest.fixture(params=["controls", pytest.param("bytes", marks=pytest.mark.long)])
def world(request: pytest.FixtureRequest, home: Path) -> hostile_names.World:
    return hostile_names.build(home, hostile_names.NAMES[request.param], corpus.SESSIONS[0])


@pytest.mark.terminal
def test_app_sends_only_its_own_sequences(world: hostile_names.World, command: str) -> None:
    keys = (
        "\r",
        "y",
        "q",
        "Y",
        "E",
        "\x1b",
        ":",
        "\x1b",
        "?",
        "q",
        "1",
        "o",
        "\x1b",
        "3",
        "4",
        "m",
        "\x1b",
        "q",
    )
    status, sent = on_terminal(world, [world.file(".json")], command, keys)
    assert status == 0
    assert r"\x1b" in sent.text.rpartition("session $'")[2], "the last line names the file, with escapes"
    assert [text[:2] for text in sent.copied] == ["**", "# "], "a case, then the report"


@pytest.mark.terminal
def test_replay_shows_the_name_in_the_title(world: hostile_names.World, command: str) -> None:
    status, sent = on_terminal(world, ["replay", world.file(".json")], command, (" ", "q"), rows=40)
    assert status == 0 and sent.titles and all(" - benchtui" in title for title in sent.titles)
    assert sent.notifications == []


@pytest.mark.terminal
@pytest.mark.parametrize(
    "words",
    [
        ("run", "SWEEP", "-o", "NEW", "--set", "model=none/none", "--trust"),
        ("export", "SESSION", "--format", "trace"),
        ("export", "SESSION", "--format", "csv"),
        ("sessions",),
        ("themes",),
    ],
    ids=" ".join,
)
def test_commands_send_only_their_own_sequences(
    world: hostile_names.World, command: str, words: tuple[str, ...]
) -> None:
    files = {"SESSION": world.file(".json"), "SWEEP": world.file(".toml"), "NEW": world.file(".new.json")}
    status, sent = on_terminal(world, [files.get(word, word) for word in words], command)
    assert status in (0, 1, 2) and sent.text


class FakeTerminal:
    """Terminal that records what is written to it."""

    def __init__(self) -> None:
        self.sent = ""

    def write(self, data: str) -> None:
        self.sent += data


@pytest.mark.parametrize("name", list(hostile_names.NAMES.values()))
def test_titles_and_notifications_hold_no_controls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr(TerminalHandle, "terminal", terminal)
    handle = TerminalHandle(None)  # type: ignore[arg-type]
    handle.set_title(name)
    handle.notify(name)
    sent = terminal_grammar.parse(terminal.sent.encode())
    assert len(sent.titles) == len(sent.notifications) == 1 and "31m" in sent.titles[0]


@pytest.mark.parametrize(
    "odd",
    [
        "\x1b]0;t\x07",
        "\x1b[2Jx\x1b[5n",
        "\x9b31m",
        "a\u202eb",
        "\x1bP1$r\x1b\\",
        "\x1b]2;a\x1bb\x07",
        "\x1b]8;;u\x07",
        "\b",
        "\x7f",
    ],
)
def test_the_grammar_refuses_what_is_not_ours(odd: str) -> None:
    with pytest.raises(AssertionError):
        terminal_grammar.parse(odd.encode())
    copied = base64.b64encode(f"a{odd}".encode()).decode()
    with pytest.raises(AssertionError):
        terminal_grammar.parse(f"\x1b]52;c;{copied}\x07".encode())
