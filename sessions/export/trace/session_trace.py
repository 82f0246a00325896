"""Session trace: converts the events of a session to trace events, one by one."""

from collections import Counter
from collections.abc import Mapping

import msgspec
import numpy as np

from benchtui.sessions.events import (
    Answered,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Continued,
    Explained,
    Message,
    NodeJoined,
    NodeLost,
    OrderChanged,
    Paused,
    Peaks,
    Resumed,
    RoundFinished,
    SessionFinished,
    Steps,
    Telemetry,
)
from benchtui.sessions.export.step_export import StepIndex
from benchtui.sessions.export.trace.counters import GPU_COUNTERS, write_counters
from benchtui.sessions.export.trace.profiles import write_profile
from benchtui.sessions.export.trace.steps import DrawnSteps
from benchtui.sessions.export.trace.tracks import LOG, QUEUE, SESSION, WorkerTrack, lay_out
from benchtui.sessions.export.trace.writer import TraceWriter, Track, microseconds
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.state.session import Session

PHASES = {"warmup": "warm-up", "measure": "measure"}
NO_STEPS: frozenset[int] = frozenset()


class _Worker(msgspec.Struct):
    """Running worker of a case."""

    at: WorkerTrack
    round: int
    node: str | None
    phase: str | None = None
    """Phase whose slice is open."""
    steps: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of steps so far by phase."""
    marks: set[str] = msgspec.field(default_factory=set)
    """Marks written so far, because the last event repeats those of the preparation."""

    def advance(self, at_s: float) -> int:
        """Return a time on the track: that of an event, or the end of the last slice if that is later."""
        self.at.end_us = max(self.at.end_us, microseconds(at_s))
        return self.at.end_us


class SessionTrace:
    """Writer of the trace events of one session, to which events are passed in order."""

    def __init__(
        self,
        session: Session,
        index: StepIndex,
        writer: TraceWriter,
        merge: int,
        outliers: Mapping[int, np.ndarray],
    ) -> None:
        """Lay out the tracks.

        ``session`` is in its final state; ``outliers`` are indices of measured steps by case.
        """
        self._session = session
        self._index = index
        self._writer = writer
        self._merge = merge
        self._outliers = outliers
        self._machines = lay_out(session, writer)
        machines = self._machines.values()
        self._processes = SESSION + len(machines) + sum(len(machine.gpus) for machine in machines)
        """Number of named processes."""
        self._workers: dict[int, _Worker] = {}
        self._first_us: dict[int, int] = {}
        """Start of the first measured step by case."""
        self._measured: Counter[int] = Counter()
        """Number of measured steps that count, by case."""
        self._paused = False
        self._queue_us = 0
        self._still_us: Counter[str | None] = Counter()
        self._now_s = 0.0

    def write(self, position: int, event: AnyRecord) -> None:
        """Write the trace events of the event at this position of the file."""
        self._now_s = max(self._now_s, event.t)
        match event:
            case Steps():
                self._steps(event, counts=self._index.counts(position, event))
            case Telemetry():
                self._telemetry(event)
            case CaseStarted() | CasePrepared() | Answered():
                self._case_event(event)
            case RoundFinished() | CaseRepeated() | CaseFinished():
                self._ended(event, self._workers.get(event.case))
            case Paused() | Continued():
                self._pause(event)
            case Explained():
                self._profile(event)
            case _:
                self._session_event(event)

    def close(self) -> None:
        """End the slices that are still open, as in a running or incomplete session."""
        for case in list(self._workers):
            self._end_worker(case, self._now_s)
        self._pause(Continued(t=self._now_s))

    def _session_event(self, event: AnyRecord) -> None:
        match event:
            case Message():
                self._log(event.t, event.text, event.level)
            case CaseAdded():
                self._log(event.t, f"added: {event.config.name} ({event.why})", "queue")
            case OrderChanged():
                self._log(event.t, "order changed", "queue")
            case Peaks():
                self._log(
                    event.t,
                    f"peaks of {event.device}, {event.precision}",
                    "peaks",
                    flops_per_s=event.flops_per_s,
                    bytes_per_s=event.bytes_per_s,
                )
            case NodeJoined():
                self._log(event.t, f"node {event.node} joined", "node", clock_offset_s=event.clock_offset_s)
            case NodeLost():
                self._log(event.t, f"node {event.node} lost: {event.reason}", "node")
                self._end_workers_of(event)
            case Resumed():
                self._log(event.t, "resumed", "session", changed=event.changed)
                self.close()
            case SessionFinished():
                self._log(event.t, event.outcome, "session", reason=event.reason)

    def _log(self, at_s: float, text: str, category: str, **arguments: object) -> None:
        self._writer.instant(LOG, microseconds(at_s), text, category, **arguments)

    def _case_event(self, event: CaseStarted | CasePrepared | Answered) -> None:
        worker = self._workers.get(event.case)
        match event:
            case CaseStarted():
                self._start_worker(event)
            case CasePrepared() if worker:
                self._prepared(event, worker)
            case Answered() if worker:
                self._writer.instant(worker.at.track, worker.advance(event.t), "answered the probe", "case")

    def _start_worker(self, event: CaseStarted) -> None:
        self._end_worker(event.case, event.t)
        at = self._machines[event.node].worker(event.config.device)
        worker = self._workers[event.case] = _Worker(at, event.round, event.node)
        arguments = {"case": event.case, "round": event.round, "pid": event.pid}
        self._writer.begin(at.track, worker.advance(event.t), event.config.name, "case", **arguments)

    def _prepared(self, event: CasePrepared, worker: _Worker) -> None:
        """Write the start of the process, and the loading of model and data."""
        begin_us = worker.at.end_us
        end_us = worker.advance(event.t)
        load_us = max(begin_us, end_us - microseconds(event.load_s or 0.0))
        self._writer.slice(worker.at.track, (begin_us, load_us), "start the worker", "load")
        if event.load_s is not None:
            model = event.model.name
            self._writer.slice(worker.at.track, (load_us, end_us), "load", "load", model=model)
        self._mark(worker, event.t, event.marks)

    def _ended(self, event: RoundFinished | CaseRepeated | CaseFinished, worker: _Worker | None) -> None:
        """End a worker's slices and write why it ended."""
        marks: tuple[str, ...]
        match event:
            case CaseRepeated():
                marks = (f"remeasured: {event.reason}",)
            case RoundFinished():
                marks = event.marks
            case CaseFinished(not_measured_further=str(why)):  # its rounds have their marks
                marks = (f"not measured further: {why}",)
            case CaseFinished():
                reason = f": {event.reason}" if event.reason else ""
                marks = (*event.marks, *((f"{event.outcome}{reason}",) if event.outcome != "ok" else ()))
        if worker is None:
            name = self._session.cases[event.case].config.name
            for mark in marks:
                self._log(event.t, f"{name}: {mark}", "case")
            return
        self._end_phase(worker)
        self._mark(worker, event.t, marks)
        self._end_worker(event.case, event.t)

    def _mark(self, worker: _Worker, at_s: float, marks: tuple[str, ...]) -> None:
        for mark in marks:
            if mark not in worker.marks:
                self._writer.instant(worker.at.track, worker.advance(at_s), mark, "mark")
        worker.marks.update(marks)

    def _end_workers_of(self, event: NodeLost) -> None:
        for case in [case for case, worker in self._workers.items() if worker.node == event.node]:
            self._end_worker(case, event.t)

    def _end_worker(self, case: int, at_s: float) -> None:
        worker = self._workers.pop(case, None)
        if worker:
            self._end_phase(worker)
            self._writer.end(worker.at.track, worker.advance(at_s))
            worker.at.free = True

    def _end_phase(self, worker: _Worker) -> None:
        if worker.phase is not None:
            self._writer.end(worker.at.track, worker.at.end_us)
        worker.phase = None

    def _steps(self, event: Steps, *, counts: bool) -> None:
        worker = self._workers.get(event.case)
        if worker is None or not event.wall_ms:
            return
        compiling = self._compiling(event) if counts else NO_STEPS
        batch = DrawnSteps(event, worker.steps[event.phase], self._merge, compiling)
        edges_us = batch.edges_us(worker.at.end_us)
        self._enter_phase(worker, event, edges_us[0])
        self._writer.write(batch.encoded(worker.at.track, edges_us))
        worker.at.end_us = edges_us[-1]
        worker.steps[event.phase] += len(event.wall_ms)
        if event.phase == "measure":
            self._first_us.setdefault(event.case, edges_us[0])
        if counts and event.phase == "measure":
            self._mark_outliers(event, edges_us, worker.at.track)

    def _enter_phase(self, worker: _Worker, event: Steps, at_us: int) -> None:
        if worker.phase != event.phase:
            self._end_phase(worker)
            worker.phase = event.phase
            self._writer.begin(worker.at.track, at_us, PHASES[event.phase], event.phase, round=event.round)

    def _compiling(self, event: Steps) -> frozenset[int]:
        """Return the steps of the event's round and phase in which torch compiled."""
        ends = self._session.cases[event.case].ends
        compiling = ends[event.round].compiling if event.round < len(ends) else None
        if compiling is None:
            return NO_STEPS
        return frozenset(compiling.cold if event.phase == "warmup" else compiling.unsteady)

    def _mark_outliers(self, event: Steps, edges_us: list[int], track: Track) -> None:
        """Write an instant at the start of the slice of each outlier."""
        first = self._measured[event.case]
        self._measured[event.case] += len(event.wall_ms)
        odd = self._outliers[event.case]
        from_, to = np.searchsorted(odd, (first, first + len(event.wall_ms)))
        for number in odd[from_:to].tolist():
            place = number - first
            wall_ms = event.wall_ms[place]
            self._writer.instant(track, edges_us[place // self._merge], "outlier", "outlier", wall_ms=wall_ms)

    def _profile(self, event: Explained) -> None:
        """Write a profile, starting at the first measured step of its case."""
        if event.case >= len(self._session.cases):
            return
        name = self._session.cases[event.case].config.name
        at_us = self._first_us.get(event.case, microseconds(event.t))
        if write_profile(self._writer, self._processes + 1, f"profile of {name}", at_us, event):
            self._processes += 1
        else:
            missing = "a profile without a timeline" if event.profile else "no profile"
            self._log(event.t, f"{name}: {missing}", "case", reason=event.absent)

    def _pause(self, event: Paused | Continued) -> None:
        at_us = self._queue_us = max(self._queue_us, microseconds(event.t))
        if isinstance(event, Paused) and not self._paused:
            self._writer.begin(QUEUE, at_us, "paused", "queue")
        elif isinstance(event, Continued) and self._paused:
            self._writer.end(QUEUE, at_us)
        self._paused = isinstance(event, Paused)

    def _telemetry(self, event: Telemetry) -> None:
        tracks = self._machines[event.node]
        tracks.counters.write(event)
        for readings in event.gpus:
            write_counters(self._writer, tracks.gpus[readings.index], event.at_s, readings, GPU_COUNTERS)
        if event.stood_still_s:
            end_us = microseconds(event.t)
            begin_us = max(self._still_us[event.node], end_us - microseconds(event.stood_still_s))
            self._still_us[event.node] = max(begin_us, end_us)
            span_us = begin_us, self._still_us[event.node]
            self._writer.slice(tracks.disturbances, span_us, "stalled", "disturbance")
