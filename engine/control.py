"""The control socket of an engine: one JSON line a command, each answered with one.

It lies in a runtime folder of the user's under the engine's id, for the user's eyes alone. That is a folder in
/tmp and not $XDG_RUNTIME_DIR, which systemd removes when the user's last login ends: just when it is needed.
"""

import os
import re
import socket
import stat
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Config, Record

LONGEST_LINE = 64_000_000
"""Bytes of a command; one that adds as many cases as a plan may have is half as long."""
LONGEST_PATH = 107
"""Bytes of a socket's path on Linux: 108 with the NUL at its end (unix(7))."""
_ID = "0" * 12
"""An engine's id is as long."""
_OURS = re.compile(r"[0-9a-f]{12}\.sock")
"""Names of engines' sockets; what is called otherwise is neither asked nor removed."""

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
    path: bytes | None = None
    """The session file by its bytes, which need not be text (base64 in JSON)."""
    pid: int | None = None
    cases: tuple[int, ...] = ()
    """Numbers of the cases that the command made."""
    resumed_s: float | None = None
    """Session time at which this engine went on with the session; null for one that it began."""
    nothing_left: bool = False
    """Whether a session was to be resumed of which nothing is left to run."""


def runtime_folder() -> Path:
    """The folder of sockets and logs, made where it is missing.

    One that is there is never changed: others may have a use for it.

    Raises:
        BenchtuiError: where its path is too long for a socket, it can't be made, or isn't the user's alone.
    """
    folder = Path(os.environ.get("BENCHTUI_RUNTIME_DIR") or f"/tmp/benchtui-{os.getuid()}")
    _require_short(folder)
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
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o777 != 0o700:
        raise BenchtuiError(
            f"{folder}: the runtime folder has mode {mode:04o}, and must be open to nobody but you (0700); name"
            " another in BENCHTUI_RUNTIME_DIR, or `chmod 700` this one if nothing else uses it"
        )
    return folder


def _require_short(folder: Path) -> None:
    path = folder / f"{_ID}.sock"
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise BenchtuiError(
            f"{folder}: the runtime folder has too long a path for a socket: {length} bytes with its name,"
            f" at most {LONGEST_PATH} are allowed; name a shorter one in BENCHTUI_RUNTIME_DIR"
        )


def socket_path(session_id: str) -> Path:
    """Where the engine of a session listens."""
    return runtime_folder() / f"{session_id}.sock"


def sockets() -> list[Path]:
    """The sockets of this user's engines, those that dead ones left behind included; the newest first."""
    found = []
    for path in runtime_folder().glob("*.sock"):
        with suppress(OSError):  # its engine has just ended
            status = path.lstat()
            if _OURS.fullmatch(path.name) and stat.S_ISSOCK(status.st_mode):
                found.append((status.st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def remove_stale(path: Path) -> None:
    """Remove a socket that ``sockets`` gave, and its engine's log."""
    log = path.with_suffix(".log")
    path.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        if stat.S_ISREG(log.lstat().st_mode):
            log.unlink()


GIVES_UP = "the engine gives up: "
"""Begins the line of its log in which an engine says why it can't go on; libraries may write after it."""


def log_path(session_id: str) -> Path:
    """Where an engine's own errors go; removed when it ends well."""
    return runtime_folder() / f"{session_id}.log"


def say_last(session_id: str, why: str) -> None:
    """Tell the client why the engine gives up: in its log, or a new one where that was taken away."""
    line = f"{GIVES_UP}{why}\n"
    sys.stderr.write(line)
    with suppress(OSError, BenchtuiError):
        log = log_path(session_id)
        if not log.exists():
            log.touch(mode=0o600)
            log.write_text(line, "utf-8")


def ask(path: Path, command: Command, timeout_s: float = 5.0) -> Answer:
    """Send a command to the engine that listens here.

    Raises:
        BenchtuiError: where nothing answers in time, or the engine refuses.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            _connect(client, path, timeout_s)
            client.sendall(msgspec.json.encode(command) + b"\n")
            line = client.makefile("rb").readline(LONGEST_LINE)
        answer = msgspec.json.decode(line, type=Answer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BenchtuiError(f"no engine answers at {path}: {error}") from error
    if not answer.ok:
        raise BenchtuiError(f"the engine refuses to {command.command}: {answer.error}")
    return answer


def _connect(client: socket.socket, path: Path, timeout_s: float) -> None:
    """Connect in time, also where others crowd at the socket.

    With Python's own timeout the connection is refused where the queue is full; the kernel's waits in line.
    """
    whole_s = int(timeout_s)
    limit = struct.pack("ll", whole_s, round((timeout_s - whole_s) * 1e6))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    client.connect(str(path))
    client.settimeout(timeout_s)
