"""Session state: the fold over its events, shared by live view, attach, replay and report."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Self

from msgspec import structs

from benchtui.sessions.errors import AbandonedError, BenchtuiError
from benchtui.sessions.events import (
    Answered,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Continued,
    Explained,
    Idle,
    Message,
    NodeJoined,
    NodeLost,
    OrderChanged,
    Paused,
    Peaks,
    Resumed,
    RoundFinished,
    RoundsPlanned,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
    Telemetry,
    Waiting,
)
from benchtui.sessions.journal import reader
from benchtui.sessions.payloads import Host
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.state.case import UNFINISHED_STATES, CaseState, Summary
from benchtui.sessions.state.judging import SAME_WITHIN, VerdictSettings
from benchtui.sessions.state.machine import MachineState, NodeState
from benchtui.sessions.sweep import MOST_CASES, Baseline
from benchtui.sessions.sweep.case_order import Order
from benchtui.sessions.sweep.model import SEARCH_SHARE

CaseEvent = CaseStarted | CasePrepared | RoundFinished | Waiting | CaseRepeated | CaseFinished
Summarize = Callable[[CaseState], Summary | None]
"""Function that computes the metrics of an ended case, to replace its steps."""
Wanted = Callable[[], bool]
"""Function that returns whether the result of a read is still wanted."""

MMAP_THRESHOLD_BYTES = 2**25 - 2**13
"""Just below the maximum of glibc's dynamic mmap threshold (M_MMAP_THRESHOLD in mallopt(3))."""


class Session:
    """State accumulated from all events so far, which are applied in order."""

    def __init__(self, summarize: Summarize | None = None) -> None:
        self.started: SessionStarted | None = None
        self.machine = MachineState()
        """Machine of the engine."""
        self.nodes: dict[str, NodeState] = {}
        """Cluster nodes in the order in which they joined."""
        self.peaks: list[Peaks] = []
        self.finished: SessionFinished | None = None
        self.cases: list[CaseState] = []
        self.running: list[CaseState] = []
        """Cases that have a worker, or pause before a repeat, in start order."""
        self.paused = False
        """Whether no further case starts."""
        self.waiting: tuple[Waiting, ...] = ()
        """What cases wait for before they are measured, or measured again."""
        self.resumed: list[Resumed] = []
        """Each resume of the session by another engine."""
        self._ended: list[int] = []
        """Numbers of the ended cases, in the order of their end."""
        self.rounds_ended = 0
        """Number of ended rounds that another one follows, of all cases."""
        self.answer_baselines: set[int] = set()
        """Cases whose answers others were compared with."""
        self.messages: list[Message] = []
        self.now_s = 0.0
        """Session time of the newest event."""
        self.busy_s = 0.0
        """Session time in which at least one case was running."""
        self.first_rounds_s: float | None = None
        """That time before the first further round; None without further rounds, which only auto has."""
        self.rounds_planned: RoundsPlanned | None = None
        """Newest plan of further rounds."""
        self._order = Order()
        self._summarize = summarize
        self.torn = False
        """Whether an incomplete last line was dropped when the file was read."""
        self.same_within = SAME_WITHIN
        """Margin of equivalence for verdicts, as set by the reader."""

    @classmethod
    def load(cls, path: Path, summarize: Summarize | None = None, wanted: Wanted = lambda: True) -> Self:
        """Load a whole session file.

        With ``summarize``, the steps of a successful case are replaced by their metrics as soon as it ends. All
        metrics are available, and memory use is that of the longest case. ``wanted`` is called for every slice.

        Raises:
            AbandonedError: Once ``wanted`` returns False.
            BenchtuiError: If the file can't be read.
        """
        try:
            return cls.by_line(path, summarize, wanted)
        except AbandonedError:
            raise
        except BenchtuiError:  # broken, or reformatted by another program: read it as a whole
            recording = reader.read(path)
        session = cls(summarize)
        session.torn = recording.torn
        try:
            session.apply_all(recording.events)
        except BenchtuiError as error:
            raise BenchtuiError(f"{path}: {error}") from error
        return session

    @classmethod
    def by_line(cls, path: Path, summarize: Summarize | None = None, wanted: Wanted = lambda: True) -> Self:
        """Load a file line by line, as the engine wrote it, so that not all events are in memory at once.

        Raises BenchtuiError if it can't be read, or its lines aren't whole events.
        """
        session = cls(summarize)
        # freeing it raises glibc's mmap threshold, so that freed columns are reused
        bytearray(MMAP_THRESHOLD_BYTES)
        with closing(reader.slices(path)) as slices:
            for events, torn in slices:
                if not wanted():
                    raise AbandonedError(f"{path}: reading was abandoned")
                session.apply_all(events)
                session.torn = torn
        session.start  # noqa: B018 - raises if it is missing
        return session

    @property
    def start(self) -> SessionStarted:
        """First event; raises BenchtuiError before it has arrived."""
        if self.started is None:
            raise BenchtuiError("the session has no session_started event")
        return self.started

    @property
    def simulated(self) -> bool:
        """Whether a model computed the session, so that none of it was measured."""
        return self.started is not None and self.started.simulated is not None

    @property
    def runtime(self) -> Runtime | None:
        """Facts that torch reports about the engine's machine."""
        return self.machine.runtime

    @property
    def machines(self) -> tuple[MachineState, ...]:
        """The engine's machine and all nodes."""
        return (self.machine, *self.nodes.values())

    def ran_on(self, case: CaseState) -> MachineState:
        """Return the machine that runs a case, or ran it last."""
        return self.nodes.get(case.node or "", self.machine)

    def host_of(self, case: CaseState) -> Host:
        """Return the description of the machine that runs a case, or ran it last."""
        machine = self.ran_on(case)
        return machine.host if isinstance(machine, NodeState) else self.start.host

    def gpu_of(self, case: CaseState) -> int | None:
        """Return the driver's index of a case's GPU; None on the CPU, or if unknown.

        The number in ``cuda:1`` is torch's: CUDA_VISIBLE_DEVICES may have hidden other GPUs.
        """
        uuid = case.prepared.gpu_uuid if case.prepared else None
        by_uuid = next((gpu.index for gpu in self.host_of(case).gpus if uuid and gpu.uuid == uuid), None)
        if by_uuid is not None or not case.config.device.startswith("cuda"):
            return by_uuid
        gpus = self.ran_on(case).gpus
        return next(iter(gpus)) if len(gpus) == 1 else None

    def gpu_name(self, case: CaseState) -> str | None:
        """Return the driver's name of a case's GPU by its UUID.

        None on the CPU, with MIG, if unknown, or if the GPU is simulated, because no data sheet applies to it.
        """
        if self.simulated:
            return None
        uuid = case.prepared.gpu_uuid if case.prepared else None
        gpus = (gpu for gpu in self.host_of(case).gpus if uuid and not gpu.mig)
        return next((gpu.name for gpu in gpus if gpu.uuid == uuid), None)

    @property
    def ended(self) -> list[CaseState]:
        """Ended cases, whatever their outcome, in the order of their end."""
        return [self.cases[index] for index in self._ended]

    @property
    def done(self) -> int:
        """Number of ended cases."""
        return len(self._ended)

    @property
    def current(self) -> CaseState | None:
        """Newest of the running cases."""
        return self.running[-1] if self.running else None

    @property
    def order(self) -> Sequence[int]:
        """Numbers of all cases in queue order. Adding a case extends this list; reordering replaces it."""
        return self._order.cases

    @property
    def pending(self) -> list[CaseState]:
        """Cases still to start, in start order, including those that wait for a planned round."""
        waiting = (case.index for case in self.cases if case.state == "queued" and not self._awaits_plan(case))
        return [self.cases[index] for index in self._order.starting(waiting, self._rounds_done)]

    @property
    def unmeasured(self) -> list[CaseState]:
        """Pending cases without a finished round."""
        return [case for case in self.pending if not case.ends]

    @property
    def budget_spent_s(self) -> float:
        """Part of the budget that is spent, in seconds: time of further rounds, or of all with ``find``.

        Time in which no case was running counts only with ``find``.
        """
        if self.start.sweep.find:
            return self.now_s
        return 0.0 if self.first_rounds_s is None else self.busy_s - self.first_rounds_s

    @property
    def budget_s(self) -> float:
        """Time budget of a session whose rounds are auto, in seconds.

        Without one in the sweep, it depends on the first rounds, and may grow as long as they run.
        """
        sweep = self.start.sweep
        first_s = self.busy_s if self.first_rounds_s is None else self.first_rounds_s
        if sweep.find and sweep.run.budget_s is None:
            return first_s + sweep.run.budget_after_s(SEARCH_SHARE * first_s)
        return sweep.run.budget_after_s(first_s)

    @property
    def further_rounds(self) -> Sequence[int]:
        """Numbers of the cases whose further rounds were planned last, in start order."""
        return self._order.further

    @property
    def between_plans(self) -> list[CaseState]:
        """Measured cases that wait until further rounds are planned, or until the rounds end."""
        return [case for case in self.cases if case.state == "queued" and self._awaits_plan(case)]

    @property
    def with_first_rounds(self) -> int:
        """Number of cases that haven't ended only because they may get further rounds."""
        rules = self.start.sweep.measure
        if not rules.rounds_auto:
            return 0
        return sum(case.finished is None and len(case.rounds) >= rules.rounds for case in self.cases)

    def _awaits_plan(self, case: CaseState) -> bool:
        rules = self.start.sweep.measure
        return rules.rounds_auto and len(case.rounds) >= rules.rounds and not case.round_planned

    @property
    def cut_off(self) -> bool:
        """Whether the record has no end, which is also true while an engine is running."""
        return self.finished is None

    @property
    def ending(self) -> str:
        """Outcome of the session: ``failed`` without any result, ``crashed`` without an end, or as recorded."""
        if self.finished is None:
            return "crashed"
        nothing = self.finished.outcome == "completed" and not any(case.has_result for case in self.cases)
        return "failed" if nothing else self.finished.outcome

    @property
    def left(self) -> int:
        """Number of cases that a resume would run, provided that no engine is running the session."""
        imported = self.started is not None and self.started.source is not None
        return 0 if imported or self.simulated else sum(case.state in UNFINISHED_STATES for case in self.cases)

    def judge_by(self, judging: VerdictSettings) -> None:
        """Override the baseline and the margin of equivalence used for verdicts.

        Raises BenchtuiError if the session has no case of the baseline's number.
        """
        baseline = judging.baseline
        if judging.same_within is not None:
            self.same_within = judging.same_within
        if (number := judging.baseline_case) is not None:
            if not 1 <= number <= len(self.cases):
                amount = len(self.cases)
                raise BenchtuiError(f"--baseline: no case {number}; the session has {amount}, numbered from 1")
            baseline = Baseline.like(self.cases[number - 1].config)
        if baseline is not None:
            sweep = self.start.sweep
            measure = structs.replace(sweep.measure, baseline=baseline)
            self.started = structs.replace(self.start, sweep=structs.replace(sweep, measure=measure))

    def apply_all(self, events: Iterable[reader.AnyRecord]) -> None:
        """Apply events in order."""
        for event in events:
            self.apply(event)

    def apply(self, event: reader.AnyRecord) -> None:  # noqa: C901  (a branch for each kind of event)
        """Apply one event; an event of another version only advances the time."""
        later_s = max(0.0, event.t - self.now_s)
        self.busy_s += later_s if self.running else 0.0
        self.now_s = max(self.now_s, event.t)
        match event:
            case Steps():
                self._steps(event)
            case Telemetry() | Runtime() | Idle():
                machine = self.machine if event.node is None else self._node(event.node)
                machine.apply(event, resumed=bool(self.resumed))
            case Peaks():
                self.peaks.append(event)
            case NodeJoined():
                self._node_joined(event)
            case NodeLost():
                self._node_lost(event)
            case CaseStarted() | CasePrepared() | RoundFinished() | Waiting() | CaseRepeated() | CaseFinished():
                self._case_event(event)
            case Answered():
                self._answered(event)
            case Explained():
                self._changeable(event.case).explained = event
            case CaseAdded():
                self._case_added(event)
            case OrderChanged():
                self._order.rearrange([self._case(index).index for index in event.cases], self._rounds_done)
            case RoundsPlanned():
                self._plan_rounds(event)
            case Paused() | Continued():
                self.paused = isinstance(event, Paused)
            case SessionStarted():
                self._session_started(event)
            case Message():
                self.messages.append(event)
            case Resumed():
                self._resumed(event)
            case SessionFinished():
                self.finished, self.running, self.waiting = event, [], ()

    def _session_started(self, event: SessionStarted) -> None:
        reader.require_known_schema(event.schema)
        if self.started:
            raise BenchtuiError("second session_started event; a file contains one session")
        self.started = event
        self.cases = [CaseState(index, config, self.simulated) for index, config in enumerate(event.plan)]
        self._order = Order(range(len(self.cases)))

    def _resumed(self, event: Resumed) -> None:
        reader.require_known_schema(event.schema)
        self.resumed.append(event)
        for index in event.cases:
            case = self._case(index)
            self.cases[index] = case.reset_for_resume()
        restarting = frozenset(event.cases)
        self._ended = [index for index in self._ended if index not in restarting]
        self.finished, self.running, self.waiting, self.paused = None, [], (), False

    def _node(self, name: str) -> NodeState:
        if name not in self.nodes:
            raise BenchtuiError(f"event for node {quoted(name)}, which hasn't joined the session")
        return self.nodes[name]

    def _node_joined(self, event: NodeJoined) -> None:
        if node := self.nodes.get(event.node):
            node.joined, node.lost = event, None
        else:
            self.nodes[event.node] = NodeState(joined=event)

    def _node_lost(self, event: NodeLost) -> None:
        self._node(event.node).lost = event
        for index in [case.index for case in self.running if case.node == event.node]:
            case = self._case(index)
            case.lost = case.between_rounds = True
            self._remove_running(case)

    def _plan_rounds(self, event: RoundsPlanned) -> None:
        self.rounds_planned, self.waiting = event, ()
        self._order.plan_further(event.cases)
        planned = frozenset(event.cases)
        reasons = {settled.case: settled.reason for settled in event.settled}
        for index in (*planned, *reasons):
            self._require_case(index)
        for index in [case.index for case in self.cases if case.finished is None]:
            case = self._case(index)
            case.round_planned, case.settled = index in planned, reasons.get(index)

    def _case_added(self, event: CaseAdded) -> None:
        if event.case != len(self.cases):
            raise BenchtuiError(f"case {event.case} added out of order; the next one is case {len(self.cases)}")
        if event.case >= MOST_CASES:
            raise BenchtuiError(f"more than {MOST_CASES:,} cases")
        for other in (event.of, event.after):
            if other is not None:
                self._case(other)
        self.cases.append(CaseState(event.case, event.config, self.simulated, event))
        self._order.add(event.case, event.after)

    def _rounds_done(self, index: int) -> int:
        return len(self.cases[index].rounds)

    def _case(self, index: int) -> CaseState:
        self._require_case(index)
        return self.cases[index]

    def _require_case(self, index: int) -> None:
        if not 0 <= index < len(self.cases):
            raise BenchtuiError(f"event for case {index}, but the session has {len(self.cases)} cases")

    def _case_event(self, event: CaseEvent) -> None:
        case = self._case(event.case)
        self.waiting = tuple(wait for wait in self.waiting if wait.case != event.case)
        match event:
            case Waiting():
                self.waiting += (event,)
            case CaseStarted():
                self._case_started(case, event)
            case CasePrepared():
                case.prepared = event
            case CaseRepeated():
                case.repeated += (event,)
                case.drop_from_round(event.round)
            case RoundFinished():
                self.rounds_ended += 1
                case.rounds += (event,)
                case.between_rounds, case.round_planned = True, False
                self._remove_running(case)
            case CaseFinished():
                if event.not_measured_further is not None and case.rounds:
                    event = structs.replace(event, t=case.end_with_finished_rounds())
                if case.finished is None:
                    self._ended.append(case.index)
                case.finished = event
                self._remove_running(case)
                if event.outcome == "ok" and len(case.measured) and self._summarize is not None:
                    case.metrics = self._summarize(case)
                    case.drop_steps()

    def _case_started(self, case: CaseState, event: CaseStarted) -> None:
        if self.first_rounds_s is None and event.round >= self.start.sweep.measure.rounds:
            self.first_rounds_s = self.busy_s
        case.started = event
        case.between_rounds = case.lost = False
        if all(other is not case for other in self.running):
            self.running.append(case)

    def _answered(self, event: Answered) -> None:
        case = self._case(event.case)
        if event.shared_with is not None:
            self._require_case(event.shared_with)
        case.answered = event
        for comparison in event.comparisons:
            self._require_case(comparison.baseline)
            self.answer_baselines.add(comparison.baseline)
            compared = self._changeable(comparison.case)
            # a resumed case may answer again, without its baseline's answer
            if comparison.absent is None or compared.comparison is None:
                compared.comparison = comparison

    def _changeable(self, index: int) -> CaseState:
        """Return a case to change. An ended case is copied first, because a replay shares it."""
        case = self._case(index)
        if case.finished:
            case = self.cases[index] = copy(case)
        return case

    def _remove_running(self, case: CaseState) -> None:
        self.running = [other for other in self.running if other is not case]

    def _steps(self, event: Steps) -> None:
        case = self._case(event.case)
        if case.finished:
            raise BenchtuiError(f"case {event.case}, steps at {event.t:g} s: the case had already ended")
        case.columns(event.phase).extend(event)
