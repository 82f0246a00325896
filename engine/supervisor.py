"""The supervisor: runs a sweep, each case in a process of its own, and writes the journal.

It never imports torch and never polls: one loop waits for the workers, the control socket and signals at once.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from benchtui.engine import client, peaks
from benchtui.engine.case_run import CaseRun
from benchtui.engine.commands import obey
from benchtui.engine.control import Answer, Command, ControlServer
from benchtui.engine.course import Course
from benchtui.engine.energy import idle_power_w
from benchtui.engine.executors.base import Executor
from benchtui.engine.job import Job
from benchtui.engine.loop import Loop
from benchtui.engine.queue import Turn
from benchtui.engine.readings import Readings
from benchtui.engine.rounds import Rounds
from benchtui.engine.session_log import SessionLog
from benchtui.engine.telemetry.machine import describe_host
from benchtui.engine.telemetry.nvml import Absent, open_nvml
from benchtui.engine.telemetry.rapl import Rapl
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.engine.telemetry.visible import VARIABLE, visible_gpus
from benchtui.engine.versions import untested
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    Idle,
    Runtime,
    SessionFinished,
    SessionOutcome,
    SessionStarted,
    Telemetry,
)
from benchtui.sessions.journal import Journal
from benchtui.sessions.sweep import Sweep, on_gpus, own_code

if TYPE_CHECKING:
    from benchtui.engine.resuming import Left

_IDLE_S = 1.25
"""How long power is watched before the first case, where it can be: five samples."""
_PROBE_S = 300.0
"""How long importing torch and asking it about the machine may take."""


class Supervisor:
    """One sweep, from its first event to its last."""

    def __init__(
        self, session_id: str, sweep: Sweep, path: Path, executor: Executor, left: "Left | None" = None
    ) -> None:
        """Begin the session's file, or go on with what is left of one, and listen for commands.

        Raises:
            BenchtuiError: where that can't be done; a file that was there is as it was.
        """
        _require_own_code(sweep.task)
        nvml = open_nvml()
        self._nvml = None if isinstance(nvml, Absent) else nvml
        self._host = describe_host(nvml)
        self._left = left
        resumed = left.resumed(self._host) if left else None
        setting = sweep.env.get(VARIABLE, os.environ.get(VARIABLE))
        self._sweep = on_gpus(sweep, visible_gpus(self._host.gpus, setting))
        self._id = session_id
        self._path = path
        self._executor = executor
        self._scratch = ""
        self._loop = Loop()
        self._log = SessionLog(left.journal, left.session.now_s) if left else SessionLog(Journal(path))
        self._others = client.running()
        self._control = ControlServer(session_id, self._loop.selector, self._on_command)
        self._readings = Readings()
        rapl = Rapl() if "rapl" not in self._host.absent else None
        self._sampler = Sampler(self._nvml, clock=self._log.now_s, emit=self._on_telemetry, rapl=rapl)
        self._rounds = Rounds(self._sweep.measure)
        self._course = Course(self._sweep, self._host, self._log, self._launch, self._rounds)
        if left:
            self._course.take_up(left.session, left.record())
        self.resumed_s = resumed.t if resumed else None
        """Session time at which this engine goes on; None where it begins the session."""
        try:
            self._log.write(resumed or self._session_started())
        except OSError as error:
            self._control.close()
            raise self._cut_off(error) from error

    def run(self) -> None:
        """Run every case, and close the session; the journal tells how it went.

        Raises:
            BenchtuiError: where the session can't be written any further; the record ends there, readable.
        """
        self._loop.catch_signals(self._course.stop)
        try:
            self._measure()
            stopped = self._course.stopping
            outcome: SessionOutcome = "interrupted" if stopped else "completed"
            self._log.write(SessionFinished(t=self._log.now_s(), outcome=outcome, reason=stopped))
        except OSError as error:
            raise self._cut_off(error) from error
        finally:
            self._control.close()
            self._log.close()

    def _measure(self) -> None:
        self._sampler.start()
        try:
            with tempfile.TemporaryDirectory(prefix="benchtui-", ignore_cleanup_errors=True) as self._scratch:
                self._prepare()
                self._run_cases()
        finally:
            self._course.abandon()
            self._sampler.stop()

    def _cut_off(self, error: OSError) -> BenchtuiError:
        """Say in the record why it ends here, where there is room for that; gives the same as an error."""
        reason = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
        with suppress(OSError):
            self._log.tell(f"the record ends here, unfinished: {reason}", "error")
        return BenchtuiError(f"{self._path}: the session can't be written any further: {reason}")

    def _prepare(self) -> None:
        """Tell what is known before the first case, and ask the machine what isn't."""
        for reading, missing in self._host.absent.items():
            self._log.tell(f"no {reading} readings: {missing}")
        if changed := self._left.session.resumed[-1].changed if self._left else ():
            self._log.tell(f"resumed although machine or software had changed: {'; '.join(changed)}", "warning")
        if own := own_code(self._sweep.task):
            self._log.tell(f"runs the code of {own[0]}: the function {own[1]}")
        for other in self._others:
            text = f"another sweep runs on this machine and disturbs this one: {other.path}"
            self._log.tell(text, "warning")
        self._watch_idle()
        os.environ.update(self._sweep.env)  # for the fork server: libraries read theirs when they are loaded
        self._course.begin(self._ask_torch())
        self._measure_peaks()

    def _run_cases(self) -> None:
        course = self._course
        while course.advance():
            self._sampler.watch(course.pids)
            self._readings.at_work(course.computing, self._log.now_s())
            self._loop.wait(course.sources, course.left_s)

    def _watch_idle(self) -> None:
        """Record what the devices draw before there is anything to do, where that can be read."""
        if self._nvml is None and "rapl" in self._host.absent:
            return
        begin_s = self._log.now_s()
        self._wait_until(lambda: False, [], _IDLE_S)
        power_w = idle_power_w(self._readings, self._host.gpus, begin_s, self._log.now_s())
        if power_w:
            self._log.write(Idle(t=self._log.now_s(), window_s=_IDLE_S, power_w=power_w))

    def _ask_torch(self) -> Runtime | None:
        """What torch says of the machine; without an answer every case will tell its own reason."""
        probe = self._executor.probe()
        self._wait_until(lambda: probe.ended, [probe.source], _PROBE_S)
        runtime = probe.result(self._log.now_s())
        if isinstance(runtime, Runtime):
            self._log.write(runtime)
            for word in (*untested(runtime), *(self._left.torch_changes(runtime) if self._left else ())):
                self._log.tell(word, "warning")
            return runtime
        self._log.tell(f"torch doesn't answer: {runtime}", "error")
        return None

    def _measure_peaks(self) -> None:
        """Record what devices do at most, for all that cases will be held against, while nothing else runs."""
        if not self._sweep.measure.peaks:
            return
        for key in peaks.peak_keys(case.config for case in self._course.queue.pending):
            asked = self._executor.peaks(key)
            self._wait_until(lambda asked=asked: asked.ended, [asked.source], peaks.LONGEST_S)  # type: ignore[misc]
            answer = asked.result()
            if self._course.stopping:
                return
            for event in peaks.told(answer, key, self._log.now_s()):
                self._log.write(event)

    def _wait_until(self, reached: Callable[[], bool], sources: list[int], most_s: float) -> None:
        """Wait for something that comes before the first case; commands are served meanwhile."""
        deadline_s = monotonic() + most_s
        while not reached() and not self._course.stopping and (left_s := deadline_s - monotonic()) > 0:
            self._loop.wait(sources, left_s)

    def _launch(self, turn: Turn) -> CaseRun:
        """Start one case in one process."""
        case = turn.case
        self._readings.forget(self._course.begun_s)
        job = Job(
            case=case.index,
            config=case.config,
            sweep=self._sweep,
            zero_s=self._log.zero_s,
            scratch=str(Path(self._scratch, self._rounds.scratch(case.index))),
            round=turn.round,
        )
        return CaseRun(self._executor.start(job), self._nvml, self._host, self._readings)

    def _on_command(self, command: Command) -> Answer:
        try:
            made = obey(command, self._course)
        except BenchtuiError as error:
            return Answer(ok=False, error=str(error))
        return Answer(ok=True, id=self._id, path=str(self._path), pid=os.getpid(), cases=made)

    def _on_telemetry(self, event: Telemetry) -> None:
        self._readings.add(event)
        with suppress(OSError):  # the loop meets the same error at its next event, and reports it
            self._log.write(event)
            if event.stood_still_s is not None:
                text = f"engine and cases stood still for {event.stood_still_s:.1f} s: suspended, or stopped"
                self._log.tell(text, "warning")

    def _session_started(self) -> SessionStarted:
        now = datetime.now(UTC)
        return SessionStarted(
            t=0.0,
            id=self._id,
            created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            sweep=self._sweep,
            plan=tuple(case.config for case in self._course.queue.cases),
            host=self._host,
            version=metadata.version("benchtui"),
        )


def _require_own_code(task: str) -> None:
    """Refuse a task whose file isn't there, before a session is begun."""
    own = own_code(task)
    if own and not Path(own[0]).is_file():
        raise BenchtuiError(f"task {task!r}: no file {own[0]} in the working folder, {Path.cwd()}")
