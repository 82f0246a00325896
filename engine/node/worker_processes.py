"""Worker processes: cases and one-shot queries, forked from a server that has imported torch."""

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from math import inf
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Generic, TypeVar

import msgspec

from benchtui.engine.exception_text import blames_child, last_raised
from benchtui.engine.job import (
    ANSWER_S,
    STEP_COST_S,
    TEARDOWN_S,
    Job,
    LeftThreads,
    PeaksReport,
    StepCostReport,
    WorkerEvent,
)
from benchtui.engine.line_protocol import Lines
from benchtui.engine.node import fork_server
from benchtui.engine.process_tree import adopts_orphans, is_running, is_stopped, kill_descendants, kill_orphans
from benchtui.engine.worker.turns import Pipes
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Outcome, Runtime
from benchtui.sessions.sweep import SAMPLE, SYNTHETIC, Record, named_values

Answer = TypeVar("Answer", Runtime, PeaksReport)

_STDERR_TAIL_BYTES = 8192
_MAX_LINE_CHARS = 500
_MAX_CHUNKS = 16
"""Chunks read from a worker at a time, more than a pipe holds. The limit keeps endless output from blocking
the loop."""
_PROBE_END_S = 1.0
_NO_SERVER = "the fork server is gone"
_CHECK_S = 2.0
"""Seconds after a kill before checking that the fork server, which reports the worker's exit, still runs."""
_REPLACED = "the fork server was stopped and has been replaced"


class Failure(Record, tag_field="event", tag="failure", frozen=True, kw_only=True):
    """Reason why a query has no answer."""

    error: str


_decoder = msgspec.json.Decoder(WorkerEvent | StepCostReport | LeftThreads)


class WorkerProcesses:
    """Processes forked from a server that has imported torch once."""

    preloaded = ("benchtui.engine.worker.preload",)
    """Modules that the fork server imports for every sweep."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._cases: list[CaseProcess] = []
        """Running cases."""
        self._queries: list[Query[Runtime] | Query[PeaksReport]] = []
        self.preload_for(SYNTHETIC)

    def preload_for(self, dataset: str) -> None:
        """Preload the library for this dataset in the fork server. Call it before the first process starts."""
        library = () if dataset in (SAMPLE, SYNTHETIC) else ("datasets",)
        self._context.set_forkserver_preload(["benchtui.engine.node.subreaper", *self.preloaded, *library])

    def start_server(self) -> None:
        """Start the fork server, which imports torch, without waiting for it."""
        with suppress(OSError):  # the first process reports why it can't be started
            fork_server.begin()

    def begin_server(self, variables: Mapping[str, str]) -> int | None:
        """Start the fork server with these variables, in a thread, since that takes the import of torch.

        Return a descriptor that becomes readable once cases start from it at once; None if they do already.
        """
        pid = fork_server.server_pid(variables)
        if not variables or (pid and is_running(pid)):
            return None
        ready, starting = os.pipe()
        process = self._context.Process(target=_do_nothing)

        def start() -> None:
            try:
                fork_server.start(process, variables)
                process.join()
            except (OSError, EOFError):
                pass  # the case reports why it can't be started
            finally:
                os.close(starting)

        threading.Thread(target=start, daemon=True).start()
        return ready

    def query_torch(self) -> "Query[Runtime]":
        """Start the fork server and query torch."""
        query = query_torch(self._context)
        self._queries.append(query)
        return query

    def pipes_around(self, workers: int) -> list[Pipes]:
        """Return the ends of the pipes from each of several workers that take turns to the next one.

        Raises BenchtuiError if they can't be created.
        """
        pipes = [_pipe(self._context, "the worker") for _ in range(workers)]
        return [Pipes(pipes[place - 1][0], pipes[place][1]) for place in range(workers)]

    def start(self, job: Job, pipes: Pipes | None = None) -> "CaseProcess":
        """Start the worker of a case, with its ends of the pipes to those that it takes turns with."""
        fork_server.kill_least_used({running.server for running in self._cases})
        case = CaseProcess(self._context, job, self._ended, pipes)
        self._cases.append(case)
        return case

    def measure_peaks(self, key: PeakKey, *, idle_first: bool = False) -> "Query[PeaksReport]":
        """Start measuring the peaks of a device. With ``idle_first``, first pause with a context on a GPU."""
        query = Query(self._context, _run_peaks, PeaksReport, *key, idle_first)
        self._queries.append(query)
        return query

    def close(self) -> None:
        """Kill the fork servers and all descendants of them and their workers."""
        for server in fork_server.server_pids():
            kill_descendants(server)
            fork_server.kill_server(server)
            self._kill_orphans(server, frozenset())

    def _ended(self, case: "CaseProcess") -> None:
        """Kill the orphans of a dead worker."""
        self._cases.remove(case)
        living = {process.pid for process in [*self._cases, *self._queries]}
        if None not in living:  # None: a child of the fork server whose pid isn't known yet
            self._kill_orphans(case.server, frozenset(pid for pid in living if pid is not None))

    def _kill_orphans(self, server: int | None, living: frozenset[int]) -> None:
        """Kill orphans adopted by the fork server. This process has adopted the orphans of a dead server."""
        adopters = [server] if server is not None else []
        kill_orphans([*adopters, os.getpid()] if adopts_orphans() else adopters, living)


class CaseProcess:
    """Worker process of a running case: its events and its exit."""

    def __init__(
        self,
        context: ForkServerContext,
        job: Job,
        on_end: Callable[["CaseProcess"], None],
        pipes: Pipes | None = None,
    ) -> None:
        """Start the worker. It gets its ends of the pipes to others, which are closed here.

        Raises BenchtuiError if the worker can't be started.
        """
        self._on_end = on_end
        self._case = job.case
        self._answers = job.sweep.measure.answers
        workers = len(job.turns.rounds) if job.turns and pipes else 1  # they share the time
        self._timeout_s = job.sweep.measure.timeout_s * workers
        self._deadline_s = monotonic() + self._timeout_s
        self._ending: CaseFinished | None = None
        self._killed_s: float | None = None
        """Monotonic clock at the kill; None before."""
        self._given_up: str | None = None
        """Reason for no longer waiting for the worker's exit."""
        self._left_threads = 0
        """Threads that were still running when the worker exited."""
        self._server_check_s = inf
        """Monotonic time of the next check whether the fork server can report the worker's exit."""
        self._stderr_tail = b""
        self._oom_kills = _oom_kills()
        self._events, events_out = _pipe(context, "the worker")
        try:
            self._stderr, stderr_out = _pipe(context, "the worker")
        except BenchtuiError:
            self._events.close()
            events_out.close()
            raise
        self._process: BaseProcess = context.Process(
            target=_run_worker, args=(msgspec.json.encode(job), events_out, stderr_out, pipes)
        )
        variables = named_values.texts(job.config.env)
        try:
            fork_server.start(self._process, variables)
        except (OSError, EOFError) as error:
            self._events.close()
            self._stderr.close()
            names = f" with {', '.join(variables)}" if variables else ""
            raise _not_started(f"the worker{names}", error) from error
        finally:
            events_out.close()
            stderr_out.close()
            if pipes:
                pipes.close()
        self.pid = self._process.pid or 0
        """Process id of the worker, also valid after its exit."""
        self.server = fork_server.server_pid(variables)
        """Process id of the fork server that the worker was forked from."""
        self._lines = Lines(self._events)

    @property
    def sources(self) -> list[int]:
        """File descriptors that become readable when there is something to collect."""
        open_pipes = [pipe.fileno() for pipe in (self._events, self._stderr) if not pipe.closed]
        return [*open_pipes, self._process.sentinel]

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if nothing becomes readable."""
        return max(0.0, min(self._deadline_s, self._server_check_s) - monotonic())

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Yield pending events. The last one is ``CaseFinished``, once the process has exited."""
        if self._server_check_s <= monotonic():
            self._server_check_s = monotonic() + _CHECK_S
            if self.server is not None and is_stopped(self.server) and not is_running(self.pid):
                self._give_up(_REPLACED)
        if self._deadline_s <= monotonic():
            self._on_deadline(now_s)
        alive = self._process.is_alive()  # before reading, so that the last output of a dying worker is read
        self._read_stderr()
        for event in self._read_events(now_s):
            if isinstance(event, CaseFinished):
                self._ending = self._ending or event
                self._server_check_s = monotonic() + _CHECK_S
                if self._killed_s is None:
                    answer_s = ANSWER_S if event.outcome == "ok" and self._answers else 0.0
                    self._deadline_s = monotonic() + (answer_s + (STEP_COST_S if event.work else TEARDOWN_S))
            elif isinstance(event, StepCostReport):
                self._ending = self._ending and msgspec.structs.replace(self._ending, work=event.work)
                self._deadline_s = min(self._deadline_s, monotonic() + TEARDOWN_S)
            elif isinstance(event, LeftThreads):
                self._left_threads = event.count
            else:
                yield event
        if not alive or self._given_up:
            yield self._finish(now_s)

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the worker and its descendants. An outcome reported before is kept."""
        self._ending = self._ending or CaseFinished(
            t=now_s, case=self._case, outcome=outcome, reason=reason, signal="SIGKILL"
        )
        if self._killed_s is None:
            self._killed_s = monotonic()
            self._deadline_s = self._killed_s + _CHECK_S
        _kill(self.pid)

    def _on_deadline(self, now_s: float) -> None:
        if self._killed_s is None:
            self.end("timeout", f"still running after {self._timeout_s:g} s", now_s)
        elif self.server is not None and is_stopped(self.server):
            self._give_up(_REPLACED)
        elif monotonic() < self._killed_s + TEARDOWN_S:
            self._deadline_s = monotonic() + _CHECK_S
        elif is_running(self.pid):
            self._given_up = f"process {self.pid} can't be killed and is still running"
        else:
            self._give_up(_REPLACED)

    def _give_up(self, why: str) -> None:
        """Kill the fork server instead of waiting for it to report the worker's exit."""
        self._given_up = why
        if self.server is not None:
            fork_server.kill_server(self.server)

    def _read_events(self, now_s: float) -> Iterator[WorkerEvent | StepCostReport | LeftThreads]:
        try:
            for message in self._lines.read(_MAX_CHUNKS):
                yield _decoder.decode(message)
        except (BenchtuiError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.end("failed", f"the worker sent an invalid event: {error}", now_s)

    def _read_stderr(self) -> None:
        for _ in range(_MAX_CHUNKS):
            if self._stderr.closed or not self._stderr.poll():
                return
            chunk = os.read(self._stderr.fileno(), 65536)
            self._stderr_tail = (self._stderr_tail + chunk)[-_STDERR_TAIL_BYTES:]
            if not chunk:
                self._stderr.close()

    def _finish(self, now_s: float) -> CaseFinished:
        code = self._release()
        self._read_stderr()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # processes that the case left behind
        self._on_end(self)
        for pipe in (self._events, self._stderr):
            pipe.close()
        ending = self._ending or _outcome_of_exit(self._case, code, _oom_kills() > self._oom_kills, now_s)
        stderr_line = None if ending.outcome == "ok" else _last_line(self._stderr_tail)
        if ending.exit_code is not None and stderr_line:
            ending = msgspec.structs.replace(ending, reason=f"{ending.reason}: {stderr_line}")
        elif ending.reason and blames_child(ending.reason) and (raised := _raised_in_child(self._stderr_tail)):
            ending = msgspec.structs.replace(ending, reason=f"{ending.reason}: {raised}")
        ending = msgspec.structs.replace(ending, t=now_s, stderr_line=stderr_line)
        if self._left_threads:
            ending = _with_note(ending, f"the step left {self._left_threads} threads running; they were ended")
        return _with_note(ending, self._given_up) if self._given_up else ending

    def _release(self) -> int:
        """Release the process and return its exit status. 0 if it is still alive."""
        if self._process.is_alive():  # it can't be killed: keep the engine from waiting for it at exit
            multiprocessing.process._children.discard(self._process)  # type: ignore[attr-defined]
            return 0
        self._process.join()
        code = self._process.exitcode or 0
        self._process.close()
        return code


class Query(Generic[Answer]):
    """Process that answers one query about the machine."""

    def __init__(
        self, context: ForkServerContext, target: Callable[..., None], kind: type[Answer], *arguments: object
    ) -> None:
        """Start the process. Raises BenchtuiError if no pipe can be created for it."""
        self._answers = msgspec.json.Decoder(kind | Failure)
        self._answer, self._answer_out = _pipe(context, "the process")
        self._process: BaseProcess = context.Process(target=target, args=(self._answer_out, *arguments))
        # in a thread, so that commands are served while it blocks until the fork server has imported torch
        self._starting = threading.Thread(target=self._start, daemon=True)
        self._starting.start()

    @property
    def pid(self) -> int | None:
        """Process id; None while the process is being started, 0 if that failed."""
        return self._process.pid if self._process.pid or self._starting.is_alive() else 0

    @property
    def source(self) -> int:
        """File descriptor that becomes readable once an answer has arrived or can no longer arrive."""
        return self._answer.fileno()

    @property
    def ended(self) -> bool:
        """Whether an answer has arrived or can no longer arrive."""
        return self._answer.poll()

    def kill(self) -> None:
        """Kill the process and its descendants."""
        if self._process.pid is not None:
            _kill(self._process.pid)

    def _start(self) -> None:
        with suppress(OSError, EOFError):  # the fork server has exited; the closed pipe signals it
            fork_server.start(self._process)
        self._answer_out.close()

    def result(self) -> Answer | str:
        """Return the answer, or the reason why there is none. Ends the process."""
        if not self.ended:
            self.kill()
            return "timed out"
        try:
            message = self._answer.recv_bytes()
        except (EOFError, OSError):
            self._starting.join()
            if self._process.pid is None:
                return _NO_SERVER
            self._process.join(_PROBE_END_S)
            return f"the process exited with status {self._process.exitcode}"
        self._starting.join()  # the answer may arrive before the starting thread has finished
        self.kill()  # its work is done, and a driver may take long to release it
        self._process.join(TEARDOWN_S)
        answer = self._answers.decode(message)
        return answer.error if isinstance(answer, Failure) else answer


def query_torch(context: ForkServerContext) -> Query[Runtime]:
    """Query torch about the machine. This also starts the fork server, which imports torch."""
    return Query(context, _run_torch_query, Runtime)


def _pipe(context: ForkServerContext, process: str) -> tuple[Connection, Connection]:
    """Return the read and write ends of a new pipe. Raises BenchtuiError if it can't be created."""
    try:
        return context.Pipe(duplex=False)
    except OSError as error:
        raise _not_started(process, error) from error


def _not_started(process: str, error: OSError | EOFError) -> BenchtuiError:
    if isinstance(error, EOFError | ConnectionError):
        return BenchtuiError(f"can't start {process}: {_NO_SERVER}{_processor_limit_text()}")
    return BenchtuiError(f"can't start {process}: {error.strerror or error}")


def _processor_limit_text() -> str:
    """Name the limit that may have ended the server; empty if there is none."""
    limit_s, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if limit_s == resource.RLIM_INFINITY:
        return ""
    return f"; a process may use {limit_s} s of processor time (ulimit -t), and importing torch takes seconds"


def _run_torch_query(answer: Connection) -> None:
    try:
        from benchtui.engine.worker.torch_info import (
            main,  # torch is imported in this process, never in the supervisor
        )
    except ImportError as error:
        _send_answer(answer, Failure(error=f"the import failed: {error}"))
    else:
        _send_answer(answer, main())


def _run_peaks(answer: Connection, device: str, precision: str, threads: int, idle_first: bool) -> None:
    from benchtui.engine.worker.peak_rates import (
        main,  # torch is imported in this process, never in the supervisor
    )

    _send_answer(answer, main(device, precision, threads, idle_first))


def _send_answer(pipe: Connection, answer: Runtime | PeaksReport | Failure) -> None:
    with suppress(BrokenPipeError):  # the engine has exited
        pipe.send_bytes(msgspec.json.encode(answer))


def _do_nothing() -> None:
    """Show that the fork server is ready."""


def _run_worker(job: bytes, events: Connection, stderr: Connection, pipes: Pipes | None) -> None:
    os.dup2(stderr.fileno(), 2)  # before the imports, which may fail
    from benchtui.engine.worker.main import main  # torch is imported in the worker, never in the supervisor

    main(job, events, stderr, pipes)


def _kill(pid: int) -> None:
    kill_descendants(pid)  # descendants first: once the process has ended, they can't be traced to it
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):  # it may not lead a process group yet
        os.kill(pid, signal.SIGKILL)


def _outcome_of_exit(case: int, code: int, out_of_memory: bool, now_s: float) -> CaseFinished:
    """Return the outcome of a worker that died without reporting one."""
    if code >= 0:
        reason = f"the worker exited with status {code} before the end of the case"
        return CaseFinished(t=now_s, case=case, outcome="failed", reason=reason, exit_code=code)
    name = _signal_name(-code)
    if name == "SIGKILL" and out_of_memory:
        reason = "killed by the kernel's out-of-memory killer (SIGKILL)"
        return CaseFinished(t=now_s, case=case, outcome="oom", reason=reason, signal=name)
    return CaseFinished(
        t=now_s, case=case, outcome="failed", reason=f"the worker was killed by {name}", signal=name
    )


def _with_note(end: CaseFinished, note: str) -> CaseFinished:
    """Add a note to the reason, or to the marks if there is no reason."""
    if end.reason is None:
        return msgspec.structs.replace(end, marks=(*end.marks, note))
    return msgspec.structs.replace(end, reason=f"{end.reason}; {note}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _raised_in_child(tail: bytes) -> str | None:
    raised = last_raised(tail.decode("utf-8", "replace"))
    return raised and raised[:_MAX_LINE_CHARS]


def _last_line(tail: bytes) -> str | None:
    lines = [line.strip() for line in tail.decode("utf-8", "replace").splitlines()]
    return next((line[:_MAX_LINE_CHARS] for line in reversed(lines) if line), None)


def _oom_kills() -> int:
    """Number of kernel OOM kills since boot (Linux: proc(5), vmstat); 0 if unknown."""
    try:
        fields = Path("/proc/vmstat").read_text("ascii").split()
        return int(fields[fields.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0
