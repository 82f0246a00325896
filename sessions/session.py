"""A session's state: what its events say so far. Live view, attach, replay and report share this fold."""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

from array import array
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

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
    Phase,
    RoundFinished,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
    Telemetry,
)
from benchtui.sessions.order import Order
from benchtui.sessions.sweep import MOST_CASES, Config

if TYPE_CHECKING:
    from pandas import DataFrame

Sizes = tuple[dict[str, int], dict[str, int]]
"""The length of each column of steps by its name, and that of each part's."""
CaseEvent = CaseStarted | CasePrepared | RoundFinished | CaseRepeated | CaseFinished
QueueEvent = CaseAdded | OrderChanged | Paused | Continued


@dataclass(slots=True)
class Columns:
    """The steps of one phase of a case, one entry a step in each column."""

    wall_ms: array[float] = field(default_factory=lambda: array("d"))
    device_ms: array[float] = field(default_factory=lambda: array("d"))
    """Empty where the device has no events."""
    parts_ms: dict[str, array[float]] = field(default_factory=dict)
    tokens: array[int] = field(default_factory=lambda: array("H"))
    """Real tokens of each step; empty where the task has none. As narrow as the counts allow."""
    rounds: list[tuple[int, int]] = field(default_factory=list)
    """Each round that has steps, with the place of its first, counted from 0."""
    padded_tokens: array[int] = field(default_factory=lambda: array("H"))
    """Tokens of each step with the padding; empty where nothing says. As narrow as the counts allow."""
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
        if steps.wall_ms and (not self.rounds or self.rounds[-1][0] != steps.round):
            self.rounds.append((steps.round, len(self)))
        self.wall_ms.extend(array("d", steps.wall_ms))  # an array takes an array in faster than a list
        self.told.append((len(self), steps.t))
        self.device_ms.extend(array("d", steps.device_ms or ()))
        self.tokens = _with_counts(self.tokens, steps.tokens or ())
        self.padded_tokens = _with_counts(self.padded_tokens, steps.padded_tokens or ())
        self.loss.extend(nan if loss is None else loss for loss in steps.loss or ())
        for part, times in steps.parts_ms.items():
            self.parts_ms.setdefault(part, array("d")).extend(array("d", times))

    def drop(self, turn: int) -> None:
        """Forget the steps of a round and of those after it: it is measured once more."""
        kept = next((first for each, first in self.rounds if each >= turn), len(self))
        for times in (self.wall_ms, self.device_ms, self.loss, *self.parts_ms.values()):
            del times[kept:]
        for counts in (self.tokens, self.padded_tokens):
            del counts[kept:]
        self.rounds = [each for each in self.rounds if each[1] < kept]
        self.told = [each for each in self.told if each[0] <= kept]

    def sizes(self) -> Sizes:
        """How long each column is by now."""
        names = (each.name for each in fields(self) if each.name != "parts_ms")
        whole = {name: len(getattr(self, name)) for name in names}
        return whole, {part: len(times) for part, times in self.parts_ms.items()}

    def first(self, sizes: Sizes) -> Columns:
        """A copy as it was when the columns had these sizes; none of its steps must have been dropped since."""
        whole, parts = sizes
        columns = {name: getattr(self, name)[:size] for name, size in whole.items()}
        return Columns(**columns, parts_ms={part: self.parts_ms[part][:size] for part, size in parts.items()})

    def by_round(self) -> list[array[float]]:
        """Times of the steps in milliseconds, a column for each round that has any."""
        return [self.wall_ms[first:end] for _, first, end in self.spans()]

    def of_round(self, turn: int) -> int:
        """How many steps a round has."""
        return sum(end - first for each, first, end in self.spans() if each == turn)

    def spans(self) -> list[tuple[int, int, int]]:
        """Each round with the place of its first step and that after its last."""
        ends = (*(first for _, first in self.rounds[1:]), len(self))
        return [(turn, first, end) for (turn, first), end in zip(self.rounds, ends, strict=False)]

    def __len__(self) -> int:
        return len(self.wall_ms)


def _with_counts(kept: array[int], counts: Sequence[int]) -> array[int]:
    """The column with more counts, made wider where one of them needs it."""
    try:
        kept.extend(array(kept.typecode, counts))
    except OverflowError:
        kept = array(next(code for code, most in _COUNTS if max(counts) <= most), kept)
        kept.extend(counts)
    return kept


_COUNTS = (("H", 2**16 - 1), ("I", 2**32 - 1), ("Q", 2**64 - 1))
"""Kinds of array for counts, and the most that each holds."""


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
    rounds: tuple[RoundFinished, ...] = ()
    """The rounds that ended before the last one."""
    repeated: tuple[CaseRepeated, ...] = ()
    """The attempts that were disturbed and don't count."""
    resting: bool = False
    """Whether the case waits for its next round."""
    _columns: dict[Phase, Columns] | None = None
    """Made when they are asked for: of a large plan most cases have none for long."""

    @property
    def warmup(self) -> Columns:
        """Steps before those that count."""
        return self.columns("warmup")

    @property
    def measured(self) -> Columns:
        """Steps that count."""
        return self.columns("measure")

    def columns(self, phase: Phase) -> Columns:
        """The steps of a phase."""
        if self._columns is None:
            self._columns = {}
        if phase not in self._columns:
            self._columns[phase] = Columns()
        return self._columns[phase]

    def sizes(self) -> dict[Phase, Sizes]:
        """How many steps of each phase there are by now."""
        return {phase: columns.sizes() for phase, columns in (self._columns or {}).items()}

    def first(self, sizes: dict[Phase, Sizes]) -> CaseState:
        """A copy with no more steps than there were when its columns had these sizes."""
        copied = copy(self)
        copied._columns = {phase: self.columns(phase).first(sizes[phase]) for phase in sizes} or None
        return copied

    def renew_columns(self) -> None:
        """Go on with copies of the columns, whoever else holds them."""
        self._columns = self.first(self.sizes())._columns

    def forget_steps(self) -> None:
        """Let go of all steps: what was wanted of them is known."""
        self._columns = None

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
        """The highest peak that was read: on the device, or of the worker for a case on the processor."""
        memory = self.finished.memory if self.finished else None
        if memory is None:
            return None
        if self.config.device == "cpu":
            return memory.peak_rss_mb
        peaks = (memory.peak_device_mb, memory.peak_reserved_mb, memory.peak_allocated_mb)
        return max((peak for peak in peaks if peak is not None), default=None)

    @property
    def device_memory_mb(self) -> float | None:
        """That peak where it is memory of a device of its own."""
        return None if self.config.device == "cpu" else self.peak_memory_mb

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
            if name not in self.columns:
                self.columns[name] = array("d", [nan] * before)
            column = self.columns[name]
            column.extend(nan if value is None else value for value in values)
            column.extend([nan] * (len(self.at_s) - len(column)))

    def first(self, count: int, names: Iterable[str]) -> Trace:
        """A copy of the first samples, with these columns alone."""
        return Trace(self.at_s[:count], {name: self.columns[name][:count] for name in names})

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
        self.done = 0
        """How many cases have ended, in whatever way."""
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

    def to_frame(self) -> DataFrame:
        """One row a case as a pandas table: options, outcome, figures; what isn't known is missing."""
        from benchtui.sessions.frame import frame  # it reads this module's class

        return frame(self)

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
                case.repeated += (event,)
                case.warmup.drop(event.round)
                case.measured.drop(event.round)
            case RoundFinished():
                case.rounds += (event,)
                case.resting = True
                self._leave(case)
            case CaseFinished():
                self.done += case.finished is None
                case.finished = event
                self._leave(case)

    def _leave(self, case: CaseState) -> None:
        self.running = [each for each in self.running if each is not case]

    def _steps(self, event: Steps) -> None:
        case = self._case(event.case)
        if case.finished:
            raise BenchtuiError(f"case {event.case}, steps at {event.t:g} s: the case had ended before")
        case.columns(event.phase).extend(event)

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
