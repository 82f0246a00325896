"""The supervisor: runs a sweep case by case, each in a process of its own, and writes the journal.

It never imports torch and never polls: one loop waits for the worker, the control socket and signals at once.
"""

import multiprocessing
import os
import selectors
import signal
import socket
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from time import monotonic

from benchtui.engine import client
from benchtui.engine.case_run import CaseRun
from benchtui.engine.control import Answer, Command, ControlServer
from benchtui.engine.energy import idle_power_w
from benchtui.engine.executors.local import LocalExecution, LocalProbe
from benchtui.engine.job import Job
from benchtui.engine.peaks import PeakMeasuring
from benchtui.engine.readings import Readings
from benchtui.engine.rounds import Again, Rounds
from benchtui.engine.telemetry.machine import describe_host
from benchtui.engine.telemetry.nvml import Absent, open_nvml
from benchtui.engine.telemetry.rapl import Rapl
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Idle,
    Level,
    Message,
    Outcome,
    Runtime,
    SessionFinished,
    SessionOutcome,
    SessionStarted,
    Telemetry,
)
from benchtui.sessions.journal import Journal
from benchtui.sessions.sweep import Case, Sweep, cases, own_code, turns

_IDLE_S = 1.25
"""How long power is watched before the first case, where it can be: five samples."""
_PROBE_S = 300.0
"""How long importing torch and asking it about the machine may take."""


class Supervisor:
    """One sweep, from its first event to its last."""

    def __init__(self, session_id: str, sweep: Sweep, path: Path) -> None:
        """Create the session file and its control socket; raises BenchtuiError where that can't be done."""
        _require_own_code(sweep.task)
        self._id = session_id
        self._sweep = sweep
        self._path = path
        self._zero_s = monotonic()
        self._cases = cases(sweep)
        self._stopping: str | None = None
        self._running: CaseRun | None = None
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["benchtui.engine.preload"])
        self._selector = selectors.DefaultSelector()
        self._journal = Journal(path)
        nvml = open_nvml()
        self._nvml = None if isinstance(nvml, Absent) else nvml
        self._host = describe_host(nvml)
        self._others = client.running()
        self._control = ControlServer(session_id, self._selector, self._on_command)
        self._readings = Readings()
        rapl = Rapl() if "rapl" not in self._host.absent else None
        self._sampler = Sampler(self._nvml, clock=self._now_s, emit=self._on_telemetry, rapl=rapl)
        self._rounds = Rounds(sweep.measure)
        self._peaks = PeakMeasuring(self._context, sweep.measure.peaks)

    def run(self) -> None:
        """Run every case, and close the session; the journal tells how it went."""
        self._catch_signals()
        self._journal.append(self._session_started())
        self._sampler.start()
        try:
            with tempfile.TemporaryDirectory(prefix="benchtui-") as scratch:
                self._run_cases(Path(scratch))
        finally:
            self._sampler.stop()
            self._control.close()
        outcome: SessionOutcome = "interrupted" if self._stopping else "completed"
        self._journal.append(SessionFinished(t=self._now_s(), outcome=outcome, reason=self._stopping))
        self._journal.close()

    def stop(self, reason: str) -> None:
        """End the current case and the sweep."""
        self._stopping = reason
        if self._running:
            self._running.end("interrupted", reason, self._now_s())

    def _run_cases(self, scratch: Path) -> None:
        for reading, missing in self._host.absent.items():
            self._tell(f"no {reading} readings: {missing}")
        if own := own_code(self._sweep.task):
            self._tell(f"runs the code of {own[0]}: the function {own[1]}")
        for other in self._others:
            self._tell(f"another sweep runs on this machine and disturbs this one: {other.path}", "warning")
        self._watch_idle()
        os.environ.update(self._sweep.env)  # for the fork server: libraries read theirs when they are loaded
        runtime = self._ask_torch()
        for turn, case in turns(self._skip_first(runtime), self._sweep.measure.rounds):
            if self._rounds.over(case.index):
                continue
            if self._stopping:
                self._not_run(case, "interrupted", self._stopping)
                self._rounds.close(case.index)
            else:
                self._run_round(case, turn, scratch)

    def _watch_idle(self) -> None:
        """Record what the devices draw before there is anything to do, where that can be read."""
        if self._nvml is None and "rapl" in self._host.absent:
            return
        begin_s = self._now_s()
        self._pause(_IDLE_S)
        power_w = idle_power_w(self._readings, self._host.gpus, begin_s, self._now_s())
        if power_w:
            self._journal.append(Idle(t=self._now_s(), window_s=_IDLE_S, power_w=power_w))

    def _pause(self, seconds: float) -> None:
        """Let the machine come to rest; commands are served meanwhile."""
        until_s = monotonic() + seconds
        while not self._stopping and (left_s := until_s - monotonic()) > 0:
            self._wait([], left_s)

    def _skip_first(self, runtime: Runtime | None) -> list[Case]:
        """Record what can't be run on this machine before anything runs; gives the cases that are left."""
        left = []
        for case in self._cases:
            if reason := case.skip or _missing_device(case, runtime):
                self._not_run(case, "skipped", reason)
            else:
                left.append(case)
        return left

    def _ask_torch(self) -> Runtime | None:
        """What torch says of the machine; without an answer every case will tell its own reason."""
        probe = LocalProbe(self._context)
        deadline_s = monotonic() + _PROBE_S
        while not probe.ended and monotonic() < deadline_s and not self._stopping:
            self._wait([probe.source], deadline_s - monotonic())
        runtime = probe.result(self._now_s())
        if isinstance(runtime, Runtime):
            self._journal.append(runtime)
            return runtime
        self._tell(f"torch doesn't answer: {runtime}", "error")
        return None

    def _run_round(self, case: Case, turn: int, scratch: Path) -> None:
        """Measure a case in one round, again and again within limits while something disturbs it."""
        self._ensure_peaks(case)
        attempt = 0
        while True:
            ended = self._run_case(case, turn, scratch)
            again = self._rounds.again(ended, attempt)
            if again is None or not self._rest(case, again):
                break
            repeated = CaseRepeated(
                t=self._now_s(), case=case.index, round=turn, reason=again.reason, pause_s=again.pause_s
            )
            self._journal.append(repeated)
            attempt += 1
        self._journal.append(self._rounds.ended(ended, turn))

    def _ensure_peaks(self, case: Case) -> None:
        """Record the peaks that the case will be held against, where they aren't known yet."""
        asked = self._peaks.before(case.config, self._wait, lambda: bool(self._stopping), self._now_s)
        for event in asked:
            self._journal.append(event)

    def _rest(self, case: Case, again: Again) -> bool:
        """Wait before a case is measured again; False where the sweep was stopped meanwhile."""
        self._tell(f"{case.name}: {again.reason}; measured again in {again.pause_s:g} s")
        self._pause(again.pause_s)
        return not self._stopping

    def _run_case(self, case: Case, turn: int, scratch: Path) -> CaseFinished:
        """One case in one process; gives its end, which isn't written yet."""
        job = Job(
            case=case.index,
            config=case.config,
            sweep=self._sweep,
            zero_s=self._zero_s,
            scratch=str(scratch / self._rounds.scratch(case.index)),
            round=turn,
        )
        self._readings.clear()
        started_s = self._now_s()
        execution = LocalExecution(self._context, job)
        run = self._running = CaseRun(execution, self._nvml, self._host, self._readings)
        self._journal.append(
            CaseStarted(t=started_s, case=case.index, round=turn, config=case.config, pid=execution.pid)
        )
        self._sampler.watch(execution.pid)
        while run.finished is None:
            self._wait(execution.sources, execution.left_s)
            for event in run.collect(self._now_s()):
                if event is not run.finished:
                    self._journal.append(event)
        self._sampler.watch(None)
        self._running = None
        return run.finished

    def _not_run(self, case: Case, outcome: Outcome, reason: str) -> None:
        self._journal.append(CaseFinished(t=self._now_s(), case=case.index, outcome=outcome, reason=reason))

    def _wait(self, sources: Iterable[int], timeout_s: float) -> None:
        """Block until a source is readable or the time is up; commands and signals are served on the way."""
        registered = list(sources)
        for source in registered:
            self._selector.register(source, selectors.EVENT_READ)
        try:
            ready = self._selector.select(max(0.0, timeout_s))
        finally:
            for source in registered:
                self._selector.unregister(source)
        for key, _ in ready:
            if key.data:
                key.data()

    def _catch_signals(self) -> None:
        """Stop on SIGTERM and SIGINT, outlive SIGHUP."""
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # the byte in the socket says it
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._wakeup = writer  # kept open as long as signals may come
        self._selector.register(reader, selectors.EVENT_READ, lambda: self._on_signal(reader))

    def _on_signal(self, reader: socket.socket) -> None:
        for number in reader.recv(64):
            if number in (signal.SIGTERM, signal.SIGINT):
                self.stop(f"stopped by {signal.Signals(number).name}")

    def _on_command(self, command: Command) -> Answer:
        if command.command == "stop":
            self.stop("stopped by the user")
        if command.command == "skip":
            if self._running is None:
                return Answer(ok=False, error="no case is running")
            self._running.end("skipped", "skipped by the user", self._now_s())
        return Answer(ok=True, id=self._id, path=str(self._path), pid=os.getpid())

    def _on_telemetry(self, event: Telemetry) -> None:
        self._readings.add(event)
        with suppress(OSError):  # the loop meets the same error at its next event, and reports it
            self._journal.append(event)

    def _tell(self, text: str, level: Level = "info") -> None:
        self._journal.append(Message(t=self._now_s(), level=level, text=text))

    def _session_started(self) -> SessionStarted:
        now = datetime.now(UTC)
        return SessionStarted(
            t=0.0,
            id=self._id,
            created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            sweep=self._sweep,
            plan=tuple(case.config for case in self._cases),
            host=self._host,
            version=metadata.version("benchtui"),
        )

    def _now_s(self) -> float:
        return round(monotonic() - self._zero_s, 6)


def _require_own_code(task: str) -> None:
    """Refuse a task whose file isn't there, before a session is begun."""
    own = own_code(task)
    if own and not Path(own[0]).is_file():
        raise BenchtuiError(f"task {task!r}: no file {own[0]} in the working folder, {Path.cwd()}")


def _missing_device(case: Case, runtime: Runtime | None) -> str | None:
    """Why a case's device can't be had on this machine, or None when it can or torch didn't say."""
    device = case.config.device
    if device == "cpu" or runtime is None:
        return None
    count = len(runtime.cuda_devices)
    if int(device.removeprefix("cuda:")) < count:
        return None
    build = "is a build without CUDA" if runtime.cuda is None else f"sees {count} CUDA devices"
    return f"no {device} on this machine: torch {runtime.torch} {build}"
