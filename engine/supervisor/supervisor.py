"""Supervisor: runs a sweep, each case in its own process, and writes the session file.

It never imports torch and never polls: one event loop waits for cases, the control socket and signals. Only the
executor knows where a case runs.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from benchtui.engine import client
from benchtui.engine.control import Answer, Command, log_path, refusal
from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import Execution, Executor, ExecutorContext, Node, PreflightTask, RunnerEvent
from benchtui.engine.job import Job, TurnOrder
from benchtui.engine.node.preflight import peak_keys
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.supervisor.answer_baselines import is_largest
from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.command_handler import execute
from benchtui.engine.supervisor.control_server import ControlServer
from benchtui.engine.supervisor.explain.queue import Explanations
from benchtui.engine.supervisor.rounds.policy import Rounds
from benchtui.engine.supervisor.scheduler import Scheduler
from benchtui.engine.supervisor.session_writer import RecordError, SessionLog
from benchtui.engine.supervisor.waits import MachineLoads
from benchtui.engine.telemetry.gpu.cuda_presence import VARIABLE, visible_gpus
from benchtui.engine.versions import commit, untested
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.own_step import step_problem
from benchtui.sessions.estimates.stop_limits import enough_percent
from benchtui.sessions.events import (
    NodeJoined,
    NodeLost,
    Peaks,
    Resumed,
    Runtime,
    SessionFinished,
    SessionOutcome,
    SessionStarted,
)
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library import paths
from benchtui.sessions.library.summaries import earlier_process_spread
from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.permissions import approved
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config, Sweep, custom_task, expand_gpus, expand_node_kinds
from benchtui.sessions.sweep_secrets import Secrets
from benchtui.sessions.text.formatting import listed
from benchtui.sessions.timestamps import utc_now
from benchtui.sessions.version import VERSION

if TYPE_CHECKING:
    from benchtui.engine.supervisor.resume import ResumableSession

E = TypeVar("E", Runtime, Peaks)

OTHERS_CHECK_S = 0.5
"""Seconds between two checks whether the sweeps that this one waits for have ended."""
IDLE_S = 2.0
"""Seconds in which each machine is observed before the first case, so that its own load isn't taken for a
neighbor's."""


class Supervisor:
    """One sweep, from its first event to its last."""

    def __init__(
        self,
        session_id: str,
        sweep: Sweep,
        path: Path,
        executor: Executor,
        resumable: "ResumableSession | None" = None,
        *,
        numbered: bool = False,
        wait: bool = False,
    ) -> None:
        """Create or resume the session file and listen for commands.

        With ``numbered``, a new file gets the next free number if its name is taken. With ``wait``, nothing is
        measured until the sweeps that are running on this machine have ended. Raises BenchtuiError if that
        fails. The executor is closed and an existing file is left unchanged.
        """
        self._executor = executor
        self._resumable = resumable
        with ExitStack() as on_error:
            on_error.callback(executor.close)
            require_custom_code(sweep.task)
            resumed = resumable.resumed(executor.host, executor.nodes) if resumable else None
            self._secrets = Secrets(sweep, os.environ)
            self._sweep = _expand_wildcards(executor.nodes, self._secrets.recorded(sweep))
            self._id = session_id
            self._process_spread = (
                resumable.session.start.process_spread if resumable else self._earlier_spread()
            )
            self._loop = EventLoop()
            self._other_engines = client.running()
            self._wait = wait
            # create the socket before the file, so that no session is left that nobody can reach
            self._control = ControlServer(session_id, self._loop, self._on_command)
            on_error.callback(self._control.close)
            journal = resumable.journal if resumable else Journal(path, backup=True, numbered=numbered)
            at_s = resumable.session.now_s if resumable else 0.0
            self._log = SessionLog(journal, at_s, log_path(session_id), self._secrets)
            on_error.callback(self._log.close)
            self._loads = MachineLoads()
            quiet = bool(self._sweep.run.wait_for_quiet_s)
            self._rounds = Rounds(self._sweep.measure, wait_for_quiet=quiet)
            self._scheduler = Scheduler(
                self._sweep, executor.nodes, self._log, self._launch, self._rounds, self._loads
            )
            self._explanations = Explanations(self._launch_explanation)
            self._to_explain: list[int] = []
            """Cases that the user has asked to explain. They are queued once all cases are measured."""
            self._all_measured = False
            if resumable:
                self._scheduler.restore(resumable.session, resumable.record())
            pending = (case.config for case in self._scheduler.queue.unended)
            self._secrets.restore(self._sweep, pending, "resume" if resumable else "run")
            self._revealed_sweep = self._secrets.revealed(self._sweep)
            """The sweep as workers need it, with its secrets. It is never recorded."""
            self.resumed_s = resumed.t if resumed else None
            """Session time in seconds at which this engine resumes the session; None for a new session."""
            self._begin_log(resumed or self._session_started())
            on_error.pop_all()

    def run(self) -> None:
        """Run every case and complete the session; the session file records the outcome.

        Raises BenchtuiError if the session file can no longer be written, or the system denies a resource that
        the sweep needs. The file ends there and remains readable.
        """
        self._loop.catch_signals(self._scheduler.stop)
        try:
            self._measure()
            stopped = self._scheduler.stopping
            outcome: SessionOutcome = "interrupted" if stopped else "completed"
            self._log.write(SessionFinished(t=self._log.now_s(), outcome=outcome, reason=stopped))
        except OSError as error:
            self._log_failure(error)
            raise self._failure(error) from error
        finally:
            self._control.close()
            self._log.close()

    @property
    def path(self) -> Path:
        """The session file."""
        return self._log.path

    @property
    def log_needed(self) -> bool:
        """Whether the session file refers to text in the engine's log."""
        return self._log.engine_log_needed

    def _measure(self) -> None:
        try:
            self._log_nodes()
            self._log_custom_code()
            self._wait_for_others()
            settings = OpenNode(
                zero_s=self._log.zero_s,
                env=self._revealed_sweep.env,
                dataset=self._revealed_sweep.dataset,
                idle_s=IDLE_S if self._sweep.run.wait_for_quiet_s else 0.0,
            )
            self._executor.open(ExecutorContext(settings, self._loop, self._on_event))
            self._prepare()
            while self._advance():
                self._loop.wait((*self._scheduler.sources, *self._explanations.sources), self._left_s)
        finally:
            self._scheduler.abandon()
            self._executor.close()

    def _advance(self) -> bool:
        """Run the cases, then explain some. A case starts only while no case is being explained."""
        now_s = self._log.now_s()
        if self._explanations.running:
            if self._scheduler.stopping:
                self._explanations.stop(self._scheduler.stopping, now_s)
            for event in self._explanations.collect(now_s):
                self._log.write(event)
        if self._explanations.running or self._scheduler.advance():
            return True
        if not self._scheduler.stopping:
            self._queue_explanations()
            for event in self._explanations.start_next(now_s):
                self._log.write(event)
        return self._explanations.running is not None

    @property
    def _left_s(self) -> float | None:
        deadlines = (
            left_s for left_s in (self._scheduler.left_s, self._explanations.left_s) if left_s is not None
        )
        return min(deadlines, default=None)

    def _queue_explanations(self) -> None:
        """Queue the cases listed in the sweep, once all are measured, and those requested by the user."""
        named = () if self._all_measured else self._sweep.measure.explain
        self._all_measured = True
        if not named and not self._to_explain:
            return
        from benchtui.sessions.explain.selection import selected  # imports statistics, unneeded elsewhere

        session = Session.load(self._log.path, metrics)
        indices = dict.fromkeys((*selected(session, named), *self._to_explain))
        self._to_explain.clear()
        self._explanations.add(session.cases[index] for index in indices)

    def _launch_explanation(self, case: CaseState) -> Execution:
        self._log.write_message(f"profiling the step of {case.name} in a separate process")
        return self._executor.start(self._job(case.index, case.config, explain=True), case.node)

    def _job(
        self,
        index: int,
        config: Config,
        *,
        round_index: int = 0,
        turns: TurnOrder | None = None,
        explain: bool = False,
    ) -> Job:
        baseline = None if explain else self._scheduler.answer_baselines.of(config)
        return Job(
            case=index,
            config=self._secrets.revealed(config),
            sweep=self._revealed_sweep,
            zero_s=self._log.zero_s,
            scratch=self._rounds.scratch(index),
            round=round_index,
            turns=turns,
            enough_percent=enough_percent(self._process_spread, config.device),
            baseline=self._secrets.revealed(baseline),
            spot_check=is_largest(config, self._scheduler.queue.cases),
            explain=explain,
        )

    def _begin_log(self, event: SessionStarted | Resumed) -> None:
        try:
            self._log.write(event)
        except RecordError as error:
            if self._resumable:
                self._log_failure(error)
            raise self._failure(error) from error

    def _log_failure(self, error: OSError) -> None:
        """Log to the session file why it ends here, if there is space left."""
        with suppress(OSError):
            self._log.write_message(f"the session file ends here, incomplete: {_reason(error)}", "error")

    def _failure(self, error: OSError) -> BenchtuiError:
        written = isinstance(error, RecordError)
        what = "can't write the session file" if written else "can't continue the sweep"
        return BenchtuiError(f"{self._log.path}: {what}: {_reason(error)}")

    def _log_nodes(self) -> None:
        for node in self._executor.nodes:
            if node.name is not None:
                joined = NodeJoined(
                    t=self._log.now_s(),
                    node=node.name,
                    host=node.host,
                    kind=node.kind,
                    labels=dict(node.labels),
                    resources=dict(node.resources),
                    clock_offset_s=node.clock_offset_s,
                )
                self._log.write(joined)
        for warning in self._executor.warnings:
            self._log.write_message(warning, "warning")

    def _log_custom_code(self) -> None:
        """Log the sweep's custom code and variables before they apply: the sweep may be someone else's."""
        if own := custom_task(self._sweep.task):
            self._log.write_message(f"running custom code: function {own[1]} in {own[0]}")
        if names := ", ".join(self._sweep.env):
            self._log.write_message(f"environment variables set by the sweep: {names}")

    def _wait_for_others(self) -> None:
        """Wait until the sweeps that were running at the start have ended, if requested."""
        others = self._other_engines if self._wait else []
        if others:
            names = listed([other.path.stem for other in others])
            self._log.write_message(f"waiting until another sweep on this machine has ended: {names}")
        while not self._scheduler.stopping and any(other.alive() for other in others):
            self._loop.wait((), OTHERS_CHECK_S)
        self._other_engines = [other for other in self._other_engines if other.alive()]

    def _prepare(self) -> None:
        """Log warnings before the first case, query torch on the nodes, and measure peaks."""
        if absent := list(self._executor.host.absent):
            self._log.write_message(f"`benchtui doctor` says why these can't be read: {listed(absent)}")
        if changed := self._resumable.session.resumed[-1].changed if self._resumable else ():
            self._log.write_message(
                f"resumed although hardware or software has changed: {'; '.join(changed)}", "warning"
            )
        if files := self._resumable.session.resumed[-1].files if self._resumable else ():
            text = f"resumed although files have changed: {'; '.join(files)}; what they affect is marked"
            self._log.write_message(text, "warning")
        for other in self._other_engines:
            text = f"another sweep is running on this machine and may disturb this one: {other.path}"
            self._log.write_message(text, "warning")
        runtimes = {event.node: event for event in self._run_preflight(self._executor.prepare(), Runtime)}
        self._log_version_warnings(runtimes)
        self._scheduler.begin(runtimes)
        if self._sweep.measure.peaks:
            self._run_preflight(self._executor.measure_peaks(self._needed_peaks()), Peaks)

    def _needed_peaks(self) -> dict[str | None, list[PeakKey]]:
        """Return the device peaks that pending cases will be compared with, by node name."""
        queue = self._scheduler.queue
        return {
            node.name: peak_keys(case.config for case in queue.unended if queue.fits(case, node))
            for node in queue.nodes
        }

    def _log_version_warnings(self, runtimes: Mapping[str | None, Runtime]) -> None:
        warnings = [warning for runtime in runtimes.values() for warning in untested(runtime)]
        if self._resumable and None in runtimes:
            warnings += self._resumable.torch_changes(runtimes[None])
        for warning in dict.fromkeys(warnings):
            self._log.write_message(warning, "warning")

    def _run_preflight(self, task: PreflightTask, kind: type[E]) -> list[E]:
        """Run a preflight task while serving commands. Record its events and return those of one type."""
        events = []
        while not self._scheduler.stopping:
            for event in task.collect(self._log.now_s()):
                self._log.write(event)
                if isinstance(event, kind):
                    events.append(event)
            if task.ended:
                return events
            self._loop.wait(task.sources, task.left_s)
        task.end()
        return events

    def _launch(self, scheduled: ScheduledRound) -> Execution:
        case = scheduled.case
        job = self._job(case.index, case.config, round_index=scheduled.round, turns=scheduled.turns)
        return self._executor.start(job, scheduled.node)

    def _on_command(self, command: Command) -> Answer:
        try:
            if command.command == "explain":
                self._explain(command.cases)
                made: tuple[int, ...] = ()
            else:
                self._require_permission(command)
                made = execute(self._with_known_secrets(command), self._scheduler)
        except BenchtuiError as error:
            return refusal(error)
        return Answer(ok=True, id=self._id, path=os.fsencode(self._log.path), pid=os.getpid(), cases=made)

    def _require_permission(self, command: Command) -> None:
        """Check that the user has allowed what new cases may run or set beyond those of this sweep."""
        if not command.configs:
            return
        own = keys(needed_permissions(self._sweep, (case.config for case in self._scheduler.queue.cases)))
        new = needed_permissions(self._sweep, command.configs)
        approved.require((permission for permission in new if permission.key not in own), command.consent)

    def _with_known_secrets(self, command: Command) -> Command:
        """Mask the secrets of new cases. Raises BenchtuiError if the value behind a mask is unknown."""
        configs = tuple(map(self._secrets.masked_record, command.configs))
        planned = self._scheduler.queue.cases
        again = (planned[index].config for index in command.cases if index < len(planned))
        self._secrets.require((*configs, *(again if command.command == "again" else ())))
        return replace(command, configs=configs)

    def _explain(self, cases: Sequence[int]) -> None:
        """Explain cases once all are measured. Raises BenchtuiError if one can't be explained."""
        self._scheduler.require_not_stopping()
        from benchtui.sessions.explain.selection import require_explainable  # as above

        session = Session.load(self._log.path, metrics)
        self._to_explain += [require_explainable(session, index).index for index in cases]

    def _on_event(self, event: RunnerEvent) -> None:
        with suppress(OSError):  # the loop hits the same error at its next event and reports it
            if isinstance(event, NodeLost):
                self._scheduler.on_node_lost(event)
                return
            self._loads.add(event)
            self._log.write(event)
            if event.stood_still_s is not None:
                where = f"{event.node}: " if event.node else ""
                for_s = f"{event.stood_still_s:.1f} s"
                text = f"{where}engine and cases were stalled for {for_s}: suspended or stopped"
                self._log.write_message(text, "warning")

    def _session_started(self) -> SessionStarted:
        return SessionStarted(
            t=0.0,
            id=self._id,
            created=utc_now(),
            sweep=self._sweep,
            plan=tuple(case.config for case in self._scheduler.queue.cases),
            host=self._executor.host,
            version=VERSION,
            commit=commit(),
            folder=_working_folder(),
            process_spread=self._process_spread,
        )

    def _earlier_spread(self) -> dict[str, ProcessSpread]:
        """Return the process-to-process variation of earlier sessions on this machine; empty if unreadable."""
        try:
            return earlier_process_spread(paths.known(), self._executor.host.hostname)
        except (BenchtuiError, OSError):
            return {}


def _working_folder() -> str | None:
    """Return the working folder; None if it was removed, or its name can't be recorded."""
    with suppress(OSError, UnicodeEncodeError):
        folder = os.getcwd()
        folder.encode()
        return folder
    return None


def _reason(error: OSError) -> str:
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


def _expand_wildcards(nodes: Sequence[Node], sweep: Sweep) -> Sweep:
    """Return the sweep with the wildcards for GPUs and kinds of nodes expanded.

    Raises BenchtuiError if that yields too many cases.
    """
    gpus = [visible_gpus(node.host.gpus, sweep.env.get(VARIABLE, node.visible)) for node in nodes]
    kinds = tuple(dict.fromkeys(node.kind for node in nodes))
    return expand_gpus(expand_node_kinds(sweep, kinds), max(gpus))


def require_custom_code(task: str) -> None:
    """Reject a step of the user's that can't be loaded, before a session is created."""
    own = custom_task(task)
    if own and (problem := step_problem(*own)):
        raise BenchtuiError(f"task {task!r}: {problem}")
