"""The control socket of an engine: one JSON line a command, each answered with one.

It lies in a runtime folder of the user's under the engine's id, for the user's eyes alone. That is a folder in
/tmp and not $XDG_RUNTIME_DIR, which systemd removes when the user's last login ends: just when it is needed.
"""

import os
import selectors
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Config, Record

_CHUNK = 65536
_LONGEST_LINE = 64_000_000
"""A command that adds as many cases as a plan may have is half as long."""

Verb = Literal["status", "stop", "skip", "pause", "continue", "drop", "add", "order", "again"]


class Command(Record, frozen=True, kw_only=True):
    """What a client asks for."""

    command: Verb
    cases: tuple[int, ...] = ()
    """The cases meant, by their numbers; ``skip`` without one means the one that runs."""
    configs: tuple[Config, ...] = ()
    """The cases to add."""


class Resumption(Record, frozen=True, kw_only=True):
    """How a session is to be resumed."""

    retry_failed: bool = False
    """Whether cases that failed or took too long begin again as well."""
    anyway: bool = False
    """Whether to go on where machine or software have changed."""


class Answer(Record, frozen=True, kw_only=True):
    """What the engine says to it."""

    ok: bool
    error: str | None = None
    id: str | None = None
    path: str | None = None
    """The session file."""
    pid: int | None = None
    cases: tuple[int, ...] = ()
    """Numbers of the cases that the command made."""
    resumed_s: float | None = None
    """Session time at which this engine went on with the session; null for one that it began."""
    nothing_left: bool = False
    """Whether a session was to be resumed of which nothing is left to run."""


Handle = Callable[[Command], Answer]


def runtime_folder() -> Path:
    """The folder of sockets and logs, mode 0700; raises BenchtuiError where it isn't the user's own."""
    folder = Path(os.environ.get("BENCHTUI_RUNTIME_DIR") or f"/tmp/benchtui-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise BenchtuiError(f"{folder}: the runtime folder can't be made: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise BenchtuiError(
            f"{folder}: the runtime folder is not a folder of yours; remove it, or name another in"
            " BENCHTUI_RUNTIME_DIR"
        )
    folder.chmod(0o700)
    return folder


def socket_path(session_id: str) -> Path:
    """Where the engine of a session listens."""
    return runtime_folder() / f"{session_id}.sock"


GIVES_UP = "the engine gives up: "
"""Begins the line of its log in which an engine says why it can't go on; libraries may write after it."""


def log_path(session_id: str) -> Path:
    """Where an engine's own errors go; removed when it ends well."""
    return runtime_folder() / f"{session_id}.log"


class ControlServer:
    """The engine's end of the socket, served from the engine's own loop."""

    def __init__(self, session_id: str, selector: selectors.BaseSelector, handle: Handle) -> None:
        """Listen; raises BenchtuiError where the socket can't be made."""
        self._selector = selector
        self._handle = handle
        self._path = socket_path(session_id)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self._path))
            self._path.chmod(0o600)
            self._socket.listen()
        except OSError as error:
            raise BenchtuiError(f"{self._path}: the control socket can't be made: {error.strerror}") from error
        self._socket.setblocking(False)
        selector.register(self._socket, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self._selector.unregister(self._socket)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        with suppress(OSError):
            client, _ = self._socket.accept()
            client.setblocking(False)
            line = bytearray()
            self._selector.register(client, selectors.EVENT_READ, lambda: self._read(client, line))

    def _read(self, client: socket.socket, line: bytearray) -> None:
        try:
            chunk = client.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        line += chunk
        if chunk and b"\n" not in chunk and len(line) < _LONGEST_LINE:
            return
        if chunk:
            with suppress(OSError):
                client.sendall(msgspec.json.encode(self._answer(bytes(line))) + b"\n")
        self._selector.unregister(client)
        client.close()

    def _answer(self, line: bytes) -> Answer:
        try:
            return self._handle(msgspec.json.decode(line, type=Command))
        except msgspec.MsgspecError as error:
            return Answer(ok=False, error=f"not a command: {error}")


def ask(path: Path, command: Command, timeout_s: float = 5.0) -> Answer:
    """Send a command to the engine that listens here.

    Raises:
        BenchtuiError: where nothing answers in time, or the engine refuses.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(timeout_s)
            client.connect(str(path))
            client.sendall(msgspec.json.encode(command) + b"\n")
            line = client.makefile("rb").readline(_LONGEST_LINE)
        answer = msgspec.json.decode(line, type=Answer)
    except (OSError, msgspec.MsgspecError) as error:
        raise BenchtuiError(f"no engine answers at {path}: {error}") from error
    if not answer.ok:
        raise BenchtuiError(f"the engine refuses to {command.command}: {answer.error}")
    return answer
