"""Control socket of an engine: one JSON line per command, one JSON line per answer.

The socket is named after the engine's id, in a runtime folder that only the user can access. The folder is
in /tmp instead of $XDG_RUNTIME_DIR because systemd removes the latter when the user's last login session ends,
which is exactly when the socket is needed.
"""

import os
import re
import socket
import stat
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.events import Explained
from benchtui.sessions.files.input_file import open_plain
from benchtui.sessions.files.locked_file import lock
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent, Permission, PermissionNeededError
from benchtui.sessions.sanitize import visible
from benchtui.sessions.secrets import masked
from benchtui.sessions.sweep import Config, Record
from benchtui.sessions.sweep_secrets import SecretSweep

CAN_RUN = hasattr(socket, "AF_UNIX")
"""Whether this system can run engines."""
NO_RUNS = "nothing can be measured on this system: benchtui runs sweeps on Linux, and only reads sessions here"
MAX_COMMAND_BYTES = 64_000_000
"""Maximum size of a command in bytes: twice the size of a command that fills a whole plan with cases."""
MAX_SOCKET_PATH_BYTES = 107
"""Maximum length of a socket path on Linux in bytes: 108 with the terminating NUL (unix(7))."""
_ID = "0" * 12
"""Placeholder with the length of an engine id."""
_OURS = re.compile(r"[0-9a-f]{12}\.sock")
_OUR_STARTING_LOG = re.compile(r"[0-9a-f]{12}\.starting")
"""File names of engine sockets and logs. Other files are neither contacted nor removed."""

Verb = Literal["status", "stop", "skip", "pause", "continue", "drop", "add", "order", "again", "explain"]


StopCause = Literal["the user", "SIGTERM", "a time limit (SIGUSR1)"]
"""What stops a sweep through its client."""


class Command(Record, frozen=True, kw_only=True):
    """A client's request."""

    command: Verb
    cases: tuple[int, ...] = ()
    """Indices of the cases that the command applies to; if empty, ``skip`` applies to the one running case."""
    configs: tuple[Config, ...] = ()
    """Cases to add."""
    consent: Consent = NO_CONSENT
    """What the user allows these cases to run or set."""
    cause: StopCause = "the user"


class StartOptions(Record, frozen=True, kw_only=True):
    """Request to run a sweep."""

    sweep: SecretSweep
    consent: Consent = NO_CONSENT
    """What the user allows it to run or set."""
    wait: bool = False
    """Whether to wait until the sweeps that are running on this machine have ended."""


class ResumeOptions(Record, frozen=True, kw_only=True):
    """Options for resuming a session."""

    retry_failed: bool = False
    """Whether to rerun failed and timed-out cases as well."""
    anyway: bool = False
    """Whether to resume even if the machine, the software or files have changed."""
    consent: Consent = NO_CONSENT
    """What the user allows the session to run or set."""
    wait: bool = False
    """Whether to wait until the sweeps that are running on this machine have ended."""


class ExplainOptions(Record, frozen=True, kw_only=True):
    """Request to explain cases of a recorded session."""

    cases: tuple[int, ...]
    anyway: bool = False
    """Whether to explain them even if the machine, the software or files have changed."""
    trace: str = ""
    """Output file for the profiler's trace of the only case; empty for none."""
    consent: Consent = NO_CONSENT
    """What the user allows the session to run or set."""


class ExplainMessage(Record, frozen=True, kw_only=True):
    """Progress message while cases are explained, sent as one JSON line."""

    case: int | None = None
    """Case whose profiling has started or ended."""
    explained: Explained | None = None
    """Its profile as recorded in the session, or the reason why there is none."""
    error: str | None = None
    """Error that ended the request."""
    needed: tuple[Permission, ...] = ()
    """Permissions that are missing, if that is the error."""


class Answer(Record, frozen=True, kw_only=True):
    """The engine's answer to a command, or its report after start-up."""

    ok: bool
    error: str | None = None
    id: str | None = None
    path: bytes | None = None
    """Path of the session file as bytes (base64 in JSON), since it need not be valid text."""
    pid: int | None = None
    cases: tuple[int, ...] = ()
    """Numbers of the cases that the command created."""
    resumed_s: float | None = None
    """Session time in seconds at which this engine resumed the session; null for a new session."""
    nothing_left: bool = False
    """Whether resuming failed because no case is left to run."""
    needed: tuple[Permission, ...] = ()
    """Permissions that are missing, if that is the error."""


def refusal(error: Exception) -> Answer:
    """Return the answer that reports an error to the client."""
    return Answer(
        ok=False,
        error=visible(masked(str(error))),
        nothing_left=isinstance(error, NothingToResumeError),
        needed=error.permissions if isinstance(error, PermissionNeededError) else (),
    )


def runtime_folder() -> Path:
    """Return the folder of sockets and logs; create it if it is missing.

    An existing folder is never modified, because other programs may use it. Raises BenchtuiError if its path is
    too long for a socket, it can't be created or it isn't private, or this system can't run engines.
    """
    if not CAN_RUN:
        raise BenchtuiError(NO_RUNS)
    folder = Path(os.environ.get("BENCHTUI_RUNTIME_DIR") or f"/tmp/benchtui-{os.getuid()}")
    _require_short(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise BenchtuiError(f"{folder}: can't create the runtime folder: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise BenchtuiError(
            f"{folder}: the runtime folder must be a folder that you own; remove it, or set"
            " BENCHTUI_RUNTIME_DIR to another one"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o777 != 0o700:
        raise BenchtuiError(
            f"{folder}: the runtime folder has mode {mode:04o}; it must be private (0700). Set"
            " BENCHTUI_RUNTIME_DIR to another folder, or run `chmod 700` on this one if nothing else uses it"
        )
    return folder


def _require_short(folder: Path) -> None:
    path = folder / f"{_ID}.sock"
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH_BYTES:
        raise BenchtuiError(
            f"{folder}: the path of the runtime folder is too long for a socket: {length} bytes with its name,"
            f" at most {MAX_SOCKET_PATH_BYTES} are allowed; set BENCHTUI_RUNTIME_DIR to a shorter path"
        )


def socket_path(session_id: str) -> Path:
    """Return the path of the control socket of a session's engine."""
    return runtime_folder() / f"{session_id}.sock"


def sockets() -> list[Path]:
    """Return the sockets of this user's engines, including dead ones, newest first."""
    dated = []
    for path in runtime_folder().glob("*.sock"):
        with suppress(OSError):  # the engine has just ended
            status = path.lstat()
            if _OURS.fullmatch(path.name) and stat.S_ISSOCK(status.st_mode):
                dated.append((status.st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)]


def remove_stale(path: Path) -> None:
    """Remove a socket returned by ``sockets``, and the log of its engine."""
    log = path.with_suffix(".log")
    path.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        if stat.S_ISREG(log.lstat().st_mode):
            log.unlink()


def create_starting_log(session_id: str) -> IO[bytes]:
    """Create the log of an engine that is about to start, locked as long as a process has it open.

    The engine inherits the lock with its standard error, so that an abandoned log can be told from one in use.
    """
    path = _starting_log_path(session_id)
    while True:
        file = open(path, "wb", opener=_open_private)  # noqa: SIM115  (returned open)
        with suppress(OSError):  # file system without locks: the log is never taken for an abandoned one
            lock(file.fileno(), wait=True)
        with suppress(FileNotFoundError):  # removed as abandoned just before it was locked
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()


def mark_started(session_id: str) -> None:
    """Give the log of an engine its final name, once its session has begun."""
    with suppress(FileNotFoundError):  # started by hand
        _starting_log_path(session_id).rename(log_path(session_id))


def read_starting_log(session_id: str) -> str:
    """Return what an engine that couldn't start has logged, and remove the log; empty if there is none."""
    path = _starting_log_path(session_id)
    with suppress(FileNotFoundError):
        text = path.read_text("utf-8", "replace")
        path.unlink()
        return text
    return ""


def discard_starting_log(session_id: str) -> None:
    """Remove the log of an engine that refused to start; the reason is in its answer."""
    _starting_log_path(session_id).unlink(missing_ok=True)


def remove_abandoned_logs() -> None:
    """Remove what engines left that were killed, or whose client was, before their session began."""
    for path in runtime_folder().glob("*.starting"):
        if not _OUR_STARTING_LOG.fullmatch(path.name):
            continue
        with suppress(OSError), open_plain(path, follow=False) as file:  # locked: it is starting
            lock(file.fileno())
            path.unlink(missing_ok=True)
            path.with_suffix(".new").unlink(missing_ok=True)


def _starting_log_path(session_id: str) -> Path:
    return runtime_folder() / f"{session_id}.starting"


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


GAVE_UP_PREFIX = "engine failed: "
"""Prefix of the log line with the reason why an engine gave up. Libraries may write after it."""


def log_path(session_id: str) -> Path:
    """Return the path of an engine's error log. It is removed when the engine ends successfully."""
    return runtime_folder() / f"{session_id}.log"


def log_final_error(session_id: str, why: str) -> None:
    """Log why the engine gives up, for the client to read; create a new log if it was deleted."""
    line = f"{GAVE_UP_PREFIX}{why}\n"
    sys.stderr.write(line)
    with suppress(OSError, BenchtuiError):
        log = log_path(session_id)
        if not log.exists():
            log.touch(mode=0o600)
            log.write_text(line, "utf-8")


def send_command(path: Path, command: Command, timeout_s: float = 5.0) -> Answer:
    """Send a command to the engine that listens on a socket.

    Raises BenchtuiError if nothing answers in time or the engine refuses.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            _connect(client, path, timeout_s)
            client.sendall(msgspec.json.encode(command) + b"\n")
            line = client.makefile("rb").readline(MAX_COMMAND_BYTES)
        answer = msgspec.json.decode(line, type=Answer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BenchtuiError(f"no response from an engine at {path}: {error}") from error
    if answer.needed:
        raise PermissionNeededError(answer.needed)
    if not answer.ok:
        raise BenchtuiError(f"the engine rejected the command {command.command!r}: {answer.error}")
    return answer


def _connect(client: socket.socket, path: Path, timeout_s: float) -> None:
    """Connect within the time limit, even while the socket's queue is full.

    With Python's own timeout a full queue refuses the connection; with the kernel's (SO_SNDTIMEO) it waits.
    """
    whole_s = int(timeout_s)
    limit = struct.pack("ll", whole_s, round((timeout_s - whole_s) * 1e6))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    client.connect(str(path))
    client.settimeout(timeout_s)
