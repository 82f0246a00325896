"""Engine client: start engines, find running ones and send them commands.

The UI uses no other module of the engine.
"""

import os
import platform
import site
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from benchtui.engine.control import (
    CAN_RUN,
    GAVE_UP_PREFIX,
    NO_RUNS,
    Answer,
    Command,
    ExplainMessage,
    ExplainOptions,
    ResumeOptions,
    StartOptions,
    create_starting_log,
    discard_starting_log,
    log_path,
    read_starting_log,
    remove_abandoned_logs,
    remove_stale,
    send_command,
    socket_path,
    sockets,
)
from benchtui.engine.control import StopCause as StopCause  # for the commands that stop sweeps
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.library import paths
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent, Permission, PermissionNeededError
from benchtui.sessions.sweep import Config, Record, Sweep
from benchtui.sessions.sweep_secrets import to_send

_ANSWER_S = 2.0
"""Seconds to wait for an engine's answer when engines are listed."""
_ABANDONED_AFTER_S = 60.0
"""Seconds without growth after which a session file counts as abandoned. An engine writes twice per second, but
on a shared folder the modification time may be half a minute old."""
_HEAD_BYTES = 2**20

if TYPE_CHECKING:
    from benchtui.engine.doctor import Check
    from benchtui.engine.telemetry.gpu.cuda_presence import CudaPresence
    from benchtui.engine.telemetry.neighbors.watch import Emit
    from benchtui.sessions.advice.find_sweep import DeviceSupport


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine, reached through its control socket.

    Every command raises BenchtuiError with a one-line message if the engine refuses it or has exited.
    """

    session_id: str
    path: Path
    """Session file of the engine."""
    pid: int
    resumed_s: float | None = field(default=None, compare=False)
    """Session time in seconds at which the engine resumed the session; None for a new session or if unknown."""

    def skip(self, case: int | None = None) -> None:
        """Skip a running or pending case; None means the one running case."""
        self._send(Command(command="skip", cases=() if case is None else (case,)))

    def pause(self) -> None:
        """Pause the queue: no further case starts. Running cases finish."""
        self._send(Command(command="pause"))

    def go_on(self) -> None:
        """Resume the paused queue."""
        self._send(Command(command="continue"))

    def drop(self, cases: Sequence[int]) -> None:
        """Remove pending cases from the queue and record them as skipped."""
        self._send(Command(command="drop", cases=tuple(cases)))

    def add(self, configs: Sequence[Config], consent: Consent = NO_CONSENT) -> tuple[int, ...]:
        """Append cases to the plan and return their numbers. Unsupported cases are recorded as skipped.

        Raises:
            PermissionNeededError: if they run or set more than the user has allowed so far and by ``consent``.
        """
        return self._send(Command(command="add", configs=tuple(configs), consent=consent))

    def order(self, cases: Sequence[int]) -> None:
        """Move pending cases to the front of the queue, in this order. The others keep their order."""
        self._send(Command(command="order", cases=tuple(cases)))

    def again(self, case: int) -> int:
        """Rerun an ended case as a new case and return the new number."""
        return self._send(Command(command="again", cases=(case,)))[0]

    def explain(self, cases: Sequence[int]) -> None:
        """Profile measured cases once no case is left to run."""
        self._send(Command(command="explain", cases=tuple(cases)))

    def stop(self, cause: StopCause = "the user") -> None:
        """Stop the sweep and complete the session file, which records the cause."""
        self._send(Command(command="stop", cause=cause))

    def last_words(self) -> str | None:
        """Return the one-line reason why the engine gave up; None if it logged none."""
        try:
            lines = log_path(self.session_id).read_text("utf-8", "replace").splitlines()
        except (OSError, BenchtuiError):
            return None
        return next(
            (line.removeprefix(GAVE_UP_PREFIX) for line in lines if line.startswith(GAVE_UP_PREFIX)), None
        )

    def _send(self, command: Command) -> tuple[int, ...]:
        return send_command(socket_path(self.session_id), command).cases

    def alive(self) -> bool:
        """Return whether the engine's process is still running."""
        with suppress(ChildProcessError):  # our own child remains a zombie until it is reaped
            os.waitpid(self.pid, os.WNOHANG)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not _is_zombie(self.pid)


@dataclass(frozen=True, slots=True)
class RemoteEngine(Engine):
    """An engine on another machine, known by its session file. It can be watched but not commanded."""

    host: str = ""
    """Host name of that machine, as recorded in the session file."""

    def alive(self) -> bool:
        """Return whether the session file was modified within the last minute."""
        return _is_growing(self.path)

    def last_words(self) -> None:
        """Return None: the log is on the other machine."""

    def _send(self, command: Command) -> tuple[int, ...]:
        raise BenchtuiError(f"the engine runs on {self.host}; send the command from that machine")


def start(
    sweep: Sweep, path: Path, consent: Consent = NO_CONSENT, *, numbered: bool = False, wait: bool = False
) -> Engine:
    """Start an engine that runs a sweep; return once its session file exists.

    With ``numbered``, the file gets the next free number if the name is taken. With ``wait``, the engine
    measures nothing until the sweeps that are running on this machine have ended. The engine outlives this
    process.

    Raises:
        PermissionNeededError: if it runs or sets more than the user has allowed so far and by ``consent``.
        BenchtuiError: if the session file can't be created or the engine doesn't start.
    """
    request = StartOptions(sweep=to_send(sweep), consent=consent, wait=wait)
    engine = _start(path, request, *(["--numbered"] if numbered else []))
    paths.remember(engine.path)
    return engine


def resume(
    path: Path,
    *,
    retry_failed: bool = False,
    anyway: bool = False,
    consent: Consent = NO_CONSENT,
    wait: bool = False,
) -> Engine:
    """Start an engine that resumes a recorded session; return once the resume is recorded.

    Failed and timed-out cases are rerun only with ``retry_failed``. If the machine or the software has changed
    since, the session is resumed only with ``anyway``. ``wait`` is that of ``start``.

    Raises:
        NothingToResumeError: if no case is left to run.
        PermissionNeededError: if it runs or sets more than the user has allowed so far and by ``consent``.
        BenchtuiError: if the session can't be resumed as requested or the engine doesn't start. In that
            case the file is unchanged.
    """
    how = ResumeOptions(retry_failed=retry_failed, anyway=anyway, consent=consent, wait=wait)
    return _start(path, how, "--resume")


class ExplainProcess:
    """Process that profiles cases of a recorded session and appends the profiles to its file."""

    def __init__(self, path: Path, options: ExplainOptions) -> None:
        self._process = _spawn(path, "--id", "explain", "--explain", stderr=subprocess.DEVNULL)
        self._lines = _send_request(self._process, options)

    def messages(self) -> Iterator[ExplainMessage]:
        """Yield progress messages until the process ends. Blocks while there are none.

        Raises:
            PermissionNeededError: if it would run or set more than the user has allowed.
            BenchtuiError: if a case can't be explained, or the process fails.
        """
        error: str | None = None
        needed: tuple[Permission, ...] = ()
        with self._lines as lines:
            for line in lines:
                message = msgspec.json.decode(line, type=ExplainMessage)
                error = error or message.error
                needed = needed or message.needed
                if not message.error:
                    yield message
        status = self._process.wait()
        if needed:
            raise PermissionNeededError(needed)
        if error or status:
            raise BenchtuiError(error or f"profiling failed: the process ended with exit status {status}")

    def stop(self) -> None:
        """End the process. Profiles completed so far remain in the session."""
        with suppress(ProcessLookupError):
            self._process.terminate()


def explain(
    path: Path,
    cases: Sequence[int],
    *,
    anyway: bool = False,
    trace: Path | None = None,
    consent: Consent = NO_CONSENT,
) -> ExplainProcess:
    """Start profiling measured cases of a recorded session; the profiles are appended to its file.

    Without ``anyway``, machine and software must be the ones that measured the session. ``trace`` is the output
    file for the profiler's trace of the only case. What the session runs and sets must have been allowed
    before, or by ``consent``.
    """
    file = str(trace.absolute()) if trace else ""
    return ExplainProcess(path, ExplainOptions(cases=tuple(cases), anyway=anyway, trace=file, consent=consent))


def _environment() -> dict[str, str]:
    """Return the environment of an engine, which finds benchtui where this process found it.

    A checkout's folder may be on ``sys.path`` alone, such as in a notebook, or be the working directory.
    """
    folder = str(Path(__file__).absolute().parents[2])
    if folder not in sys.path or folder in (*site.getsitepackages(), site.getusersitepackages()):
        return dict(os.environ)
    paths = [path for path in (os.environ.get("PYTHONPATH"), folder) if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _spawn(path: Path, *options: str, stderr: int | IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process of the engine, which outlives this one and its terminal."""
    return subprocess.Popen(
        # -P: files in the working directory must not shadow libraries
        [sys.executable, "-P", "-m", "benchtui.engine", *options, str(path.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=_environment(),
        start_new_session=True,
    )


def _send_request(process: subprocess.Popen[bytes], request: Record) -> IO[bytes]:
    """Send the only request of a process, and return the pipe of its answers."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the process is started with pipes")
    with suppress(BrokenPipeError), process.stdin:
        process.stdin.write(msgspec.json.encode(request))
    return process.stdout


def _start(path: Path, request: Record, *options: str) -> Engine:
    session_id = uuid.uuid4().hex[:12]
    with create_starting_log(session_id) as stderr:
        process = _spawn(path, "--id", session_id, *options, stderr=stderr)
    with _send_request(process, request) as answers:
        line = answers.readline()
    if not line:
        process.wait()
        lines = read_starting_log(session_id).strip().splitlines()
        raise BenchtuiError(
            f"the engine failed to start: {lines[-1] if lines else f'exit status {process.returncode}'}"
        )
    answer = msgspec.json.decode(line, type=Answer)
    if not answer.ok:
        process.wait()
        discard_starting_log(session_id)
        if answer.needed:
            raise PermissionNeededError(answer.needed)
        refused = NothingToResumeError if answer.nothing_left else BenchtuiError
        raise refused(answer.error or "the engine failed to start")
    process.returncode = 0  # it outlives us on purpose; this silences Popen's warning about a running child
    written = Path(os.fsdecode(answer.path)) if answer.path else path.absolute()
    return Engine(session_id, written, process.pid, answer.resumed_s)


def running() -> list[Engine]:
    """Return this user's responding engines, newest first. Sockets and logs of dead engines are removed."""
    if not CAN_RUN:
        return []
    remove_abandoned_logs()
    return [engine for path in sockets() if (engine := _responding_engine(path)) is not None]


def check_machine() -> "list[Check]":
    """Check what this machine can measure. Takes as long as importing torch, in another process."""
    if not CAN_RUN:
        raise BenchtuiError(NO_RUNS)
    from benchtui.engine import doctor  # imports the readers of all devices; only needed here

    return doctor.run_checks()


def find_cuda() -> "CudaPresence":
    """Count this machine's CUDA devices without importing torch. Takes a few milliseconds."""
    from benchtui.engine.telemetry.gpu import cuda_presence  # imports the drivers' libraries; only needed here

    return cuda_presence.find_cuda()


def device_support(device: str | None) -> "DeviceSupport":
    """Return what this machine supports for a device, by default its first GPU, or else the CPU."""
    from benchtui.engine import device_support as support  # imports psutil; only needed here

    return support.device_support(device or ("cuda:0" if find_cuda().count else "cpu"))


def watch_machine(emit: "Emit") -> Callable[[], None]:
    """Read this machine and its users once a second in a thread. Return the function that ends it."""
    from benchtui.engine.telemetry.neighbors.watch import MachineWatch  # imports the readers of all devices

    return MachineWatch(emit).stop


def find(path: Path) -> Engine | None:
    """Return the engine that writes this session file, here or on another machine; None if it has ended."""
    wanted = path.absolute()
    return next((engine for engine in running() if engine.path == wanted), None) or _find_remote(wanted)


def _find_remote(path: Path) -> RemoteEngine | None:
    """Return the engine on another machine that writes a file; None unless the file is growing."""
    if not _is_growing(path):
        return None
    with suppress(BenchtuiError), closing(Tail(path)) as tail:
        while not (events := tail.read(_HEAD_BYTES)) and not tail.at_end:
            pass
        first = events[0] if events else None
        host = first.host.hostname if isinstance(first, SessionStarted) else None
        if isinstance(first, SessionStarted) and host and host != platform.node():
            return RemoteEngine(first.id, path, 0, host=host)
    return None


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended but hasn't been reaped by its parent (Linux: proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


def _is_growing(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < _ABANDONED_AFTER_S
    except OSError:
        return False


def _responding_engine(path: Path) -> Engine | None:
    try:
        answer = send_command(path, Command(command="status"), timeout_s=_ANSWER_S)
    except BenchtuiError as error:
        if isinstance(error.__cause__, ConnectionRefusedError):
            remove_stale(path)
        return None
    if answer.id is None or answer.path is None or answer.pid is None:
        return None
    return Engine(answer.id, Path(os.fsdecode(answer.path)), answer.pid)
