"""The events of a session: the language in which the engine, the screen and the report speak.

One tagged union, told apart by the field ``event``. Fields are added freely; renaming one needs
a new ``SCHEMA``. Units end the names: ``_ms``, ``_s``, ``_mb`` (10**6 bytes), ``_w``, ``_j``. A missing value
is null or left out, never 0. ``t`` is seconds since the session started, on a monotonic clock.
"""

from typing import Annotated, Any, Literal

import msgspec

from benchtui.sessions.payloads import (
    Amount,
    Compiling,
    Count,
    Data,
    Effective,
    Energy,
    Environment,
    GpuReadings,
    Host,
    HostReadings,
    Memory,
    Milliseconds,
    Model,
    ProcessSpread,
    Reported,
    Work,
)
from benchtui.sessions.sweep import MOST_CASES, Config, Record, Seconds, Sweep

SCHEMA = 2
# 1  2026-11: the first.
# 2  2026-11: a session may be resumed; who doesn't know that would count steps that were measured again.

Phase = Literal["warmup", "measure"]
Outcome = Literal["ok", "oom", "skipped", "failed", "timeout", "interrupted"]
SessionOutcome = Literal["completed", "interrupted", "failed"]
Level = Literal["info", "warning", "error"]


class Event(Record, tag_field="event", frozen=True, kw_only=True):
    """What all events share."""

    t: Seconds


class SessionStarted(Event, tag="session_started", frozen=True, kw_only=True, omit_defaults=False):
    """The first event: what will be run, and where."""

    schema: int = SCHEMA
    id: str
    created: str
    """UTC, ISO 8601."""
    sweep: Sweep
    plan: Annotated[tuple[Config, ...], msgspec.Meta(max_length=MOST_CASES)]
    """The planned cases; a case's number is its place here, counted from 0."""
    host: Host
    version: str | None = None
    """Version of benchtui."""
    source: str | None = None
    """Tool and file that an imported session was taken from; null for one that was measured here."""
    measured: str | None = None
    """When the source of an imported session says that it was measured, in its own words; ``created`` is the
    time of the import."""
    process_spread: dict[str, ProcessSpread] = {}
    """By kind of device (``cpu``, ``cuda``): how far fresh processes of one case lay apart in earlier sessions
    of this machine; verdicts on cases of fewer than three rounds rest on it."""


class Runtime(Event, tag="runtime", frozen=True, kw_only=True):
    """What torch says of the machine, asked once in a process of its own."""

    torch: str
    transformers: str | None = None
    cuda: str | None = None
    cudnn: Count | None = None
    threads: Count | None = None
    cuda_devices: tuple[str, ...] = ()
    """Name of each device that torch sees."""
    node: str | None = None
    """The node of a cluster that it was asked on; null for the machine of the engine."""


class Idle(Event, tag="idle", frozen=True, kw_only=True):
    """Mean power before the first case, while the machine had nothing of ours to do; never subtracted."""

    window_s: Seconds
    power_w: dict[str, Amount] = {}
    """By device: ``gpu 0`` by the driver's index, ``processor`` for all packages."""
    node: str | None = None
    """The node of a cluster whose power it is; null for the machine of the engine."""


class NodeJoined(Event, tag="node_joined", frozen=True, kw_only=True):
    """A node of a cluster is there for cases; told for each before the first case, and again after a resume."""

    node: str
    """Its name in this session: its host's, made unique by a number."""
    host: Host
    kind: str
    """What its GPUs are, such as ``H100``; ``cpu`` without one."""
    labels: dict[str, str] = {}
    resources: dict[str, Amount] = {}
    """What the cluster says it has to give, by name."""
    clock_offset_s: Amount
    """Its monotonic clock less that of the engine's machine, which has been taken off its times."""


class NodeLost(Event, tag="node_lost", frozen=True, kw_only=True):
    """A node is gone; a case that it was at begins anew, or ends in the event that follows."""

    node: str
    reason: str


class CaseAdded(Event, tag="case_added", frozen=True, kw_only=True):
    """A case that the plan didn't have; its number is the next one."""

    case: Count
    config: Config
    why: str
    """``added by the user``, ``again``, or how a search came to it, such as ``auto: doubling``."""
    of: Count | None = None
    """The case that is run again."""
    after: Count | None = None
    """The case behind which it takes its place in the order; null for the end."""


class OrderChanged(Event, tag="order_changed", frozen=True, kw_only=True):
    """The pending cases have a new order."""

    cases: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MOST_CASES)]
    """All of them, as they start from now on."""


class Paused(Event, tag="paused", frozen=True, kw_only=True):
    """No further case starts; those that run go on to their end. A paused session doesn't end by itself."""


class Continued(Event, tag="continued", frozen=True, kw_only=True):
    """Cases start again."""


class Peaks(Event, tag="peaks", frozen=True, kw_only=True):
    """The most that a device does, measured in a process of its own before the first case held against it."""

    device: str
    precision: str
    """What products are computed in: ``fp32``, ``tf32``, ``fp16`` or ``bf16``."""
    threads: Count = 0
    """Threads of torch as asked for; 0 is torch's default."""
    flops_per_s: Amount | None = None
    """Floating-point operations of the fastest of several large matrix products, over its time."""
    bytes_per_s: Amount | None = None
    """Bytes read and bytes written by the fastest of several large copies, over its time."""
    how: dict[str, str] = {}
    """How each peak (``flops``, ``bytes``) was measured, in words."""
    absent: dict[str, str] = {}
    """Which of them couldn't be measured, and why."""
    node: str | None = None
    """The node of a cluster that has the device; null for the machine of the engine."""


class CaseStarted(Event, tag="case_started", frozen=True, kw_only=True):
    """A worker process for this case begins; another one in each round."""

    case: Count
    round: Count = 0
    config: Config
    pid: Count | None = None
    """The worker's, on the machine of the engine; null for one on a node of a cluster."""
    node: str | None = None
    """The node of a cluster on which it runs; null for the machine of the engine."""


class CasePrepared(Event, tag="case_prepared", frozen=True, kw_only=True):
    """Model, text and options are in place; steps follow."""

    case: Count
    model: Model
    data: Data | None = None
    effective: Effective | None = None
    marks: tuple[str, ...] = ()
    """What a reader must know before believing the row, such as ``random weights``."""
    load_s: Seconds | None = None
    samples_per_step: Count | None = None
    """Samples that a step handles; null stands for the batch size."""
    new_tokens: Count | None = None
    """Tokens generated for each sample; null for a task that generates none."""
    gpu_uuid: str | None = None


class Steps(Event, tag="steps", frozen=True, kw_only=True, omit_defaults=False):
    """Columns of steps, one entry a step in each list; in arrays where they were read from a long line."""

    case: Count
    phase: Phase
    round: Count = 0
    wall_ms: list[Milliseconds]
    """Host time of a step, the device synchronised at both ends; the sum of all parts, tokenizing included."""
    device_ms: list[Milliseconds] | None = None
    """Time between device events around the step, where the device has events."""
    parts_ms: dict[str, list[Milliseconds]] = {}
    tokens: list[Count] | None = None
    """Real tokens of a step: the sum of the attention mask, without padding; generated ones included."""
    padded_tokens: list[Count] | None = None
    """Tokens of a step with the padding, and with the generated ones; null where nothing says."""
    loss: list[float | None] | None = None
    """Loss of each training step; null where it was no finite number."""


class Telemetry(Event, tag="telemetry", frozen=True, kw_only=True):
    """Samples of the machine since the last such event."""

    at_s: list[Seconds]
    """Session time of each sample."""
    gpus: tuple[GpuReadings, ...] = ()
    host: HostReadings = HostReadings()
    stood_still_s: Seconds | None = None
    """How long the engine had been kept from running until now, where that was much longer than usual."""
    node: str | None = None
    """The node of a cluster that was read; null for the machine of the engine."""


class RoundFinished(Event, tag="round_finished", frozen=True, kw_only=True):
    """A round of a case ended well, and another is to come; the last round ends in the CaseFinished."""

    case: Count
    round: Count
    measured_s: tuple[Seconds, Seconds] | None = None
    """Session time at which measuring began and ended in this round."""
    stop: str | None = None
    warmup_stop: str | None = None
    memory: Memory | None = None
    energy: Energy | None = None
    environment: Environment | None = None
    compiling: Compiling | None = None
    marks: tuple[str, ...] = ()


class CaseRepeated(Event, tag="case_repeated", frozen=True, kw_only=True):
    """What was just measured was disturbed, and is measured once more; the steps of that round don't count."""

    case: Count
    round: Count = 0
    reason: str
    pause_s: Seconds
    """Time given to the machine to come to rest."""


class CaseFinished(Event, tag="case_finished", frozen=True, kw_only=True):
    """How a case ended. Every planned case has exactly one; one that begins again has another.

    After several rounds ``memory`` holds the highest peaks of all of them, ``energy`` their sum and ``marks``
    all that any of them earned; the other fields are those of the last round.
    """

    case: Count
    outcome: Outcome
    reason: str | None = None
    signal: str | None = None
    exit_code: int | None = None
    stderr_line: str | None = None
    """The last line the worker wrote to its standard error."""
    measured_s: tuple[Seconds, Seconds] | None = None
    """Session time at which measuring began and ended, in the last round."""
    stop: str | None = None
    """Why measuring ended."""
    warmup_stop: str | None = None
    """Why warming up ended."""
    effective: Effective | None = None
    """What was in force, read back once more after measuring: only then is it known what was compiled."""
    memory: Memory | None = None
    energy: Energy | None = None
    environment: Environment | None = None
    compiling: Compiling | None = None
    """Null for a case that was asked to run uncompiled."""
    work: Work | None = None
    marks: tuple[str, ...] = ()
    reported: Reported | None = None


class Resumed(Event, tag="resumed", frozen=True, kw_only=True, omit_defaults=False):
    """Another engine goes on with the session, whose clock goes on with it: the pause isn't counted.

    Runtime, idle power and peaks are told anew after it.
    """

    schema: int = SCHEMA
    """So that a version which doesn't know this event says so, whichever one began the file."""
    created: str
    """UTC, ISO 8601."""
    version: str | None = None
    """Version of benchtui."""
    host: Host
    changed: tuple[str, ...] = ()
    """What isn't as it was before, of machine and software: ``Python: 3.11.7 → 3.12.1``."""
    cases: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MOST_CASES)]
    """The cases that begin again: their rounds that ended stay, and steps measured after those don't count."""


class Message(Event, tag="message", frozen=True, kw_only=True):
    """A line for the log."""

    level: Level
    text: str


class SessionFinished(Event, tag="session_finished", frozen=True, kw_only=True):
    """The last event, unless the session is resumed."""

    outcome: SessionOutcome
    reason: str | None = None


AnyEvent = (
    SessionStarted
    | Runtime
    | Idle
    | NodeJoined
    | NodeLost
    | CaseAdded
    | OrderChanged
    | Paused
    | Continued
    | Peaks
    | CaseStarted
    | CasePrepared
    | Steps
    | Telemetry
    | RoundFinished
    | CaseRepeated
    | CaseFinished
    | Resumed
    | Message
    | SessionFinished
)


def json_schema() -> dict[str, Any]:
    """JSON Schema of a session file: an array of these events."""
    return msgspec.json.schema(list[AnyEvent])
