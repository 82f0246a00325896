"""Starts engines, finds those that run, and passes them commands: all that the screen knows of them."""

import os
import platform
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchtui.engine.control import (
    GIVES_UP,
    Answer,
    Command,
    Resumption,
    ask,
    log_path,
    remove_stale,
    socket_path,
    sockets,
)
from benchtui.sessions.errors import BenchtuiError, NothingLeftError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.sweep import Config, Sweep

_QUIET_S = 60.0
"""A record that hasn't grown for so long was cut off: an engine writes twice a second, and what a shared folder
tells may be half a minute old."""
_HEAD_BYTES = 2**20

if TYPE_CHECKING:
    from benchtui.engine.doctor import Finding


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine, reached through its control socket.

    Each command raises BenchtuiError, in one line, where the engine refuses it or is gone.
    """

    session_id: str
    path: Path
    """Its session file."""
    pid: int
    resumed_s: float | None = field(default=None, compare=False)
    """Session time at which it was started to go on with the session, where that is known."""

    def skip(self, case: int | None = None) -> None:
        """End a running or pending case as skipped and go on; without its number the one that runs."""
        self._ask(Command(command="skip", cases=() if case is None else (case,)))

    def pause(self) -> None:
        """Let no further case start; what runs is finished first."""
        self._ask(Command(command="pause"))

    def go_on(self) -> None:
        """Let cases start again."""
        self._ask(Command(command="continue"))

    def drop(self, cases: Sequence[int]) -> None:
        """End pending cases as skipped."""
        self._ask(Command(command="drop", cases=tuple(cases)))

    def add(self, configs: Sequence[Config]) -> tuple[int, ...]:
        """Append cases to the plan, senseless ones as skipped; gives their numbers."""
        return self._ask(Command(command="add", configs=tuple(configs)))

    def order(self, cases: Sequence[int]) -> None:
        """Let these pending cases start first, in this order; the others follow as they stood."""
        self._ask(Command(command="order", cases=tuple(cases)))

    def again(self, case: int) -> int:
        """Run a case that has ended once more, as a new one; gives its number."""
        return self._ask(Command(command="again", cases=(case,)))[0]

    def stop(self) -> None:
        """End the sweep, closing the session properly."""
        self._ask(Command(command="stop"))

    def last_words(self) -> str | None:
        """Why the engine gave up, in one line, once it is gone; None where it didn't say."""
        try:
            said = log_path(self.session_id).read_text("utf-8", "replace").splitlines()
        except (OSError, BenchtuiError):
            return None
        return next((line.removeprefix(GIVES_UP) for line in said if line.startswith(GIVES_UP)), None)

    def _ask(self, command: Command) -> tuple[int, ...]:
        return ask(socket_path(self.session_id), command).cases

    def alive(self) -> bool:
        """Whether the engine's process still runs."""
        with suppress(ChildProcessError):  # one that we started ourselves stays a zombie until it is waited for
            os.waitpid(self.pid, os.WNOHANG)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not _is_zombie(self.pid)


@dataclass(frozen=True, slots=True)
class FarEngine(Engine):
    """An engine of another machine, known by the file that it writes: watched, not steered."""

    host: str = ""
    """What the record calls that machine."""

    def alive(self) -> bool:
        """Whether the file has grown within the last minute, by its own date."""
        return _grows(self.path)

    def last_words(self) -> None:
        """Nothing: its log is on its own machine."""

    def _ask(self, command: Command) -> tuple[int, ...]:
        raise BenchtuiError(f"the sweep runs on {self.host}, and takes commands there alone")


def start(sweep: Sweep, path: Path) -> Engine:
    """Start an engine of its own on a sweep, outliving this process; returns once its session file is there.

    Raises:
        BenchtuiError: where the session file can't be made or the engine doesn't come up.
    """
    return _start(path, msgspec.json.encode(sweep))


def resume(path: Path, *, retry_failed: bool = False, anyway: bool = False) -> Engine:
    """Start an engine that goes on with a recorded session; returns once the record says so.

    Cases that failed or took too long begin again only where they are to be retried; where machine or software
    have changed since, it goes on only ``anyway``.

    Raises:
        NothingLeftError: where nothing is left to run.
        BenchtuiError: where the session can't be resumed as asked, or the engine doesn't come up. The file
            is as it was then.
    """
    how = Resumption(retry_failed=retry_failed, anyway=anyway)
    return _start(path, msgspec.json.encode(how), "--resume")


def _start(path: Path, asked: bytes, *options: str) -> Engine:
    session_id = uuid.uuid4().hex[:12]
    path = path.absolute()
    log = log_path(session_id)
    with open(log, "wb", opener=_for_the_user_alone) as stderr:
        process = subprocess.Popen(
            # -P: a file of the working folder that is named like a library must not take its place
            [sys.executable, "-P", "-m", "benchtui.engine", "--id", session_id, *options, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    answer = _come_up(process, asked)
    if answer is None:
        process.wait()
        said = log.read_text("utf-8", "replace").strip().splitlines()
        raise BenchtuiError(
            f"the engine didn't come up: {said[-1] if said else f'exit status {process.returncode}'}"
        )
    if not answer.ok:
        process.wait()
        log.unlink(missing_ok=True)
        refused = NothingLeftError if answer.nothing_left else BenchtuiError
        raise refused(answer.error or "the engine didn't come up")
    process.returncode = 0  # it lives on by intention; silences the warning about a child left behind
    return Engine(session_id, path, process.pid, answer.resumed_s)


def running() -> list[Engine]:
    """Every engine of this user that answers, the newest first; what dead ones left behind is removed."""
    return [engine for path in sockets() if (engine := _answering(path)) is not None]


def examine() -> "list[Finding]":
    """What this machine can measure and what not; takes as long as importing torch does in another process."""
    from benchtui.engine import doctor  # reads every device; nothing else of the client needs that

    return doctor.examine()


def find(path: Path) -> Engine | None:
    """The engine that writes this session file, here or on another machine, or None when it has ended."""
    wanted = path.absolute()
    return next((engine for engine in running() if engine.path == wanted), None) or _far(wanted)


def _far(path: Path) -> FarEngine | None:
    """The engine of another machine that writes a file, where the record names one and goes on."""
    if not _grows(path):
        return None
    with suppress(BenchtuiError), closing(Tail(path)) as tail:
        while not (events := tail.read(_HEAD_BYTES)) and not tail.at_end:
            pass
        first = events[0] if events else None
        host = first.host.hostname if isinstance(first, SessionStarted) else None
        if isinstance(first, SessionStarted) and host and host != platform.node():
            return FarEngine(first.id, path, 0, host=host)
    return None


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and only waits for its parent's look (Linux: proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


def _grows(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < _QUIET_S
    except OSError:
        return False


def _come_up(process: subprocess.Popen[bytes], asked: bytes) -> Answer | None:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the engine is started with pipes")
    with suppress(BrokenPipeError), process.stdin:
        process.stdin.write(asked)
    with process.stdout:
        line = process.stdout.readline()
    return msgspec.json.decode(line, type=Answer) if line else None


def _for_the_user_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _answering(path: Path) -> Engine | None:
    try:
        answer = ask(path, Command(command="status"), timeout_s=2.0)
    except BenchtuiError as error:
        if isinstance(error.__cause__, ConnectionRefusedError):
            remove_stale(path)
        return None
    if answer.id is None or answer.path is None or answer.pid is None:
        return None
    return Engine(answer.id, Path(os.fsdecode(answer.path)), answer.pid)
