"""A session's state: what its events say so far. Live view, attach, replay and report share this fold."""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

from msgspec import structs

from benchtui.sessions import journal
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    SCHEMA,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Continued,
    Effective,
    GpuReadings,
    HostReadings,
    Idle,
    Message,
    OrderChanged,
    Paused,
    Peaks,
    RoundFinished,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
    Telemetry,
)
from benchtui.sessions.order import Order
from benchtui.sessions.sweep import MOST_CASES, Config

CaseEvent = CaseStarted | CasePrepared | RoundFinished | CaseRepeated | CaseFinished
QueueEvent = CaseAdded | OrderChanged | Paused | Continued


@dataclass(slots=True)
class Columns:
    """The steps of one phase of a case, one entry a step in each column."""

    wall_ms: array[float] = field(default_factory=lambda: array("d"))
    device_ms: array[float] = field(default_factory=lambda: array("d"))
    """Empty where the device has no events."""
    parts_ms: dict[str, array[float]] = field(default_factory=dict)
    tokens: array[int] = field(default_factory=lambda: array("q"))
    """Real tokens of each step; empty where the task has none."""
    round: array[int] = field(default_factory=lambda: array("q"))
    """The round of each step."""
    padded_tokens: array[int] = field(default_factory=lambda: array("q"))
    """Tokens of each step with the padding; empty where nothing says."""
    loss: array[float] = field(default_factory=lambda: array("d"))
    """Loss of each training step, NaN where it was no finite number; empty for other tasks."""
    told: list[tuple[int, float]] = field(default_factory=list)
    """Each event of steps: how many there were after it, and its session time in seconds."""

    def extend(self, steps: Steps) -> None:
        """Append the columns of an event; raises BenchtuiError where they differ in length."""
        counted = (steps.tokens, steps.padded_tokens, steps.loss)
        columns = (steps.wall_ms, steps.device_ms, *counted, *steps.parts_ms.values())
        if len({len(column) for column in columns if column is not None}) > 1:
            raise BenchtuiError(f"case {steps.case}, steps at {steps.t:g} s: columns of unequal length")
        self.wall_ms.extend(steps.wall_ms)
        self.told.append((len(self), steps.t))
        self.round.extend([steps.round] * len(steps.wall_ms))
        self.device_ms.extend(steps.device_ms or ())
        self.tokens.extend(steps.tokens or ())
        self.padded_tokens.extend(steps.padded_tokens or ())
        self.loss.extend(nan if loss is None else loss for loss in steps.loss or ())
        for part, times in steps.parts_ms.items():
            self.parts_ms.setdefault(part, array("d")).extend(times)

    def drop(self, turn: int) -> None:
        """Forget the steps of a round and of those after it: it is measured once more."""
        kept = next((place for place, each in enumerate(self.round) if each >= turn), len(self))
        for times in (self.wall_ms, self.device_ms, self.loss, *self.parts_ms.values()):
            del times[kept:]
        for counts in (self.tokens, self.padded_tokens, self.round):
            del counts[kept:]
        self.told = [each for each in self.told if each[0] <= kept]

    def by_round(self) -> list[array[float]]:
        """Times of the steps in milliseconds, a column for each round that has any."""
        columns: dict[int, array[float]] = {}
        for turn, time_ms in zip(self.round, self.wall_ms, strict=True):
            columns.setdefault(turn, array("d")).append(time_ms)
        return list(columns.values())

    def __len__(self) -> int:
        return len(self.wall_ms)


@dataclass(slots=True)
class CaseState:
    """What is known of one case."""

    index: int
    config: Config
    added: CaseAdded | None = None
    """How the case came in, where it wasn't planned from the start."""
    started: CaseStarted | None = None
    """The newest, where there are several rounds."""
    prepared: CasePrepared | None = None
    finished: CaseFinished | None = None
    rounds: list[RoundFinished] = field(default_factory=list)
    """The rounds that ended before the last one."""
    repeated: list[CaseRepeated] = field(default_factory=list)
    """The attempts that were disturbed and don't count."""
    resting: bool = False
    """Whether the case waits for its next round."""
    warmup: Columns = field(default_factory=Columns)
    measured: Columns = field(default_factory=Columns)

    @property
    def name(self) -> str:
        """The readable name of the case's options; of a case run again, with the number of that one."""
        of = self.added.of if self.added else None
        return self.config.name if of is None else f"{self.config.name} (case {of} again)"

    @property
    def state(self) -> str:
        """``queued``, ``running``, or the outcome; between two rounds a case is queued again."""
        if self.finished:
            return self.finished.outcome
        return "running" if self.started and not self.resting else "queued"

    @property
    def samples_per_step(self) -> int:
        """Samples that a step handles: the batch size, where the task says no other number."""
        said = self.prepared.samples_per_step if self.prepared else None
        return self.config.batch_size if said is None else said

    @property
    def effective(self) -> Effective | None:
        """What was in force, as it was last read back."""
        if self.finished and self.finished.effective:
            return self.finished.effective
        return self.prepared.effective if self.prepared else None

    @property
    def peak_memory_mb(self) -> float | None:
        """Peak memory: on the case's device, or of its worker where it ran on the processor."""
        memory = self.finished.memory if self.finished else None
        if memory is None:
            return None
        if self.config.device == "cpu":
            return memory.peak_rss_mb
        return memory.peak_reserved_mb if memory.peak_device_mb is None else memory.peak_device_mb

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader must know before believing the row."""
        prepared = self.prepared.marks if self.prepared else ()
        finished = self.finished.marks if self.finished else ()
        return tuple(dict.fromkeys((*prepared, *finished)))


@dataclass(slots=True)
class Trace:
    """Readings over time: a column a reading, NaN where one couldn't be read."""

    at_s: array[float] = field(default_factory=lambda: array("d"))
    columns: dict[str, array[float]] = field(default_factory=dict)

    def extend(self, at_s: list[float], readings: GpuReadings | HostReadings, names: Iterable[str]) -> None:
        """Append the named columns of an event; one that is shorter than the samples is filled with NaN."""
        before = len(self.at_s)
        self.at_s.extend(at_s)
        for name in names:
            values = getattr(readings, name)[: len(at_s)]
            if not values and name not in self.columns:
                continue
            column = self.columns.setdefault(name, array("d", [nan] * before))
            column.extend(nan if value is None else value for value in values)
            column.extend([nan] * (len(self.at_s) - len(column)))

    def latest(self, name: str) -> float | None:
        """The newest reading, or None where it couldn't be read."""
        column = self.columns.get(name)
        value = column[-1] if column else nan
        return None if value != value else value

    def between(self, name: str, start_s: float, end_s: float) -> list[float]:
        """The readings of a column taken within a span of session time."""
        column = self.columns.get(name, array("d"))
        pairs = zip(self.at_s, column, strict=False)
        return [value for at, value in pairs if start_s <= at <= end_s and value == value]


@dataclass(slots=True)
class Held:
    """A span of session time by what held a GPU's clock down: reasons joined by ``+``; empty for nothing."""

    start_s: float
    end_s: float
    reasons: str


GPU_COLUMNS = (
    "power_w",
    "memory_used_mb",
    "utilisation_percent",
    "temperature_c",
    "sm_clock_mhz",
    "energy_j",
)
HOST_COLUMNS = (
    "cpu_percent",
    "memory_used_mb",
    "worker_cpu_percent",
    "worker_rss_mb",
    "engine_cpu_percent",
    "package_energy_j",
)


class Session:
    """Everything that the events so far have said; apply them in order."""

    def __init__(self) -> None:
        self.started: SessionStarted | None = None
        self.runtime: Runtime | None = None
        self.idle: Idle | None = None
        self.peaks: list[Peaks] = []
        self.finished: SessionFinished | None = None
        self.cases: list[CaseState] = []
        self.running: list[CaseState] = []
        """The cases that have a worker, or rest before they are repeated, in the order of their start."""
        self.paused = False
        """Whether no further case starts."""
        self.messages: list[Message] = []
        self.gpus: dict[int, Trace] = {}
        self.gpu_readings: dict[int, GpuReadings] = {}
        """The newest event of each GPU, for its limits and reasons."""
        self.held: dict[int, list[Held]] = {}
        """Spans of each GPU by what held its clock down, in order."""
        self.host = Trace()
        self.now_s = 0.0
        """Session time of the newest event."""
        self._order = Order()
        self.torn = False
        """Whether an unfinished last line was dropped when reading the file."""

    @classmethod
    def load(cls, path: Path) -> Session:
        """Fold a whole session file. Raises BenchtuiError where it can't be read."""
        recording = journal.read(path)
        session = cls()
        session.torn = recording.torn
        try:
            session.apply_all(recording.events)
        except BenchtuiError as error:
            raise BenchtuiError(f"{path}: {error}") from error
        return session

    @property
    def start(self) -> SessionStarted:
        """The first event. Raises BenchtuiError before it has come."""
        if self.started is None:
            raise BenchtuiError("the session has no session_started event")
        return self.started

    @property
    def current(self) -> CaseState | None:
        """The newest of the running cases."""
        return self.running[-1] if self.running else None

    @property
    def order(self) -> Sequence[int]:
        """The numbers of all cases as they stand in the queue; another object once that has changed."""
        return self._order.cases

    @property
    def pending(self) -> list[CaseState]:
        """The cases that are still to start, those that wait for a further round included, as they start."""
        waiting = (case.index for case in self.cases if case.state == "queued")
        return [self.cases[index] for index in self._order.starting(waiting, self._rounds_done)]

    @property
    def done(self) -> int:
        """How many cases have ended, in whatever way."""
        return sum(case.finished is not None for case in self.cases)

    @property
    def cut_off(self) -> bool:
        """Whether the record ends without saying that the session has; of a running engine it says so too."""
        return self.finished is None

    def apply_all(self, events: Iterable[journal.Read]) -> None:
        """Fold events in order."""
        for event in events:
            self.apply(event)

    def apply(self, event: journal.Read) -> None:
        """Fold one event; one of another version changes nothing but the time."""
        self.now_s = max(self.now_s, event.t)
        match event:
            case Steps():
                self._steps(event)
            case Telemetry():
                self._telemetry(event)
            case CaseStarted() | CasePrepared() | RoundFinished() | CaseRepeated() | CaseFinished():
                self._case_event(event)
            case CaseAdded() | OrderChanged() | Paused() | Continued():
                self._queue_event(event)
            case SessionStarted():
                self._session_started(event)
            case Runtime() | Idle() | Peaks():
                self._machine_event(event)
            case Message():
                self.messages.append(event)
            case SessionFinished():
                self.finished, self.running = event, []

    def _session_started(self, event: SessionStarted) -> None:
        if event.schema > SCHEMA:
            raise BenchtuiError(
                f"written with schema {event.schema}; this version reads up to {SCHEMA}: update benchtui"
            )
        if self.started:
            raise BenchtuiError("a second session_started event; a file holds one session")
        self.started = event
        self.cases = [CaseState(index, config) for index, config in enumerate(event.plan)]
        self._order = Order(range(len(self.cases)))

    def _machine_event(self, event: Runtime | Idle | Peaks) -> None:
        match event:
            case Runtime():
                self.runtime = event
            case Idle():
                self.idle = event
            case Peaks():
                self.peaks.append(event)

    def _queue_event(self, event: QueueEvent) -> None:
        match event:
            case CaseAdded():
                self._case_added(event)
            case OrderChanged():
                self._order.rearrange([self._case(index).index for index in event.cases], self._rounds_done)
            case Paused():
                self.paused = True
            case Continued():
                self.paused = False

    def _case_added(self, event: CaseAdded) -> None:
        if event.case != len(self.cases):
            raise BenchtuiError(f"case {event.case} is added where the next one is {len(self.cases)}")
        if event.case >= MOST_CASES:
            raise BenchtuiError(f"more than {MOST_CASES:,} cases")
        for other in (event.of, event.after):
            if other is not None:
                self._case(other)
        self.cases.append(CaseState(event.case, event.config, event))
        self._order.add(event.case, event.after)

    def _rounds_done(self, index: int) -> int:
        return len(self.cases[index].rounds)

    def _case(self, index: int) -> CaseState:
        if not 0 <= index < len(self.cases):
            raise BenchtuiError(f"the session speaks of case {index}, and its plan has {len(self.cases)} cases")
        return self.cases[index]

    def _case_event(self, event: CaseEvent) -> None:
        case = self._case(event.case)
        match event:
            case CaseStarted():
                case.started, case.resting = event, False
                if all(each is not case for each in self.running):
                    self.running.append(case)
            case CasePrepared():
                case.prepared = event
            case CaseRepeated():
                case.repeated.append(event)
                case.warmup.drop(event.round)
                case.measured.drop(event.round)
            case RoundFinished():
                case.rounds.append(event)
                case.resting = True
                self._leave(case)
            case CaseFinished():
                case.finished = event
                self._leave(case)

    def _leave(self, case: CaseState) -> None:
        self.running = [each for each in self.running if each is not case]

    def _steps(self, event: Steps) -> None:
        case = self._case(event.case)
        if case.finished:
            raise BenchtuiError(f"case {event.case}, steps at {event.t:g} s: the case had ended before")
        (case.warmup if event.phase == "warmup" else case.measured).extend(event)

    def _telemetry(self, event: Telemetry) -> None:
        for readings in event.gpus:
            self.gpus.setdefault(readings.index, Trace()).extend(event.at_s, readings, GPU_COLUMNS)
            self.gpu_readings[readings.index] = self._with_reasons(readings)
            self._hold(event.at_s, readings)
        self.host.extend(event.at_s, event.host, HOST_COLUMNS)

    def _hold(self, at_s: list[float], readings: GpuReadings) -> None:
        spans = self.held.setdefault(readings.index, [])
        for at, reasons in zip(at_s, readings.throttle, strict=False):
            if reasons is not None and spans and spans[-1].reasons == reasons:
                spans[-1].end_s = at
            elif reasons is not None:
                spans.append(Held(at, at, reasons))

    def _with_reasons(self, readings: GpuReadings) -> GpuReadings:
        """The readings with every reason told so far: the sampler tells each once."""
        before = self.gpu_readings.get(readings.index)
        return structs.replace(readings, absent=before.absent | readings.absent) if before else readings
