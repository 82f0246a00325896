"""Session events: the schema shared by the engine, the screen and the report.

The events form a tagged union, discriminated by the field ``event``. Fields can be added at any time; renaming
one requires a new ``SCHEMA``. Name suffixes are units: ``_ms``, ``_s``, ``_mb`` (10**6 bytes), ``_w``, ``_j``.
A missing value is null or left out, never 0. ``t`` is seconds since the session started, on a monotonic clock.
"""

from typing import Annotated, Literal

import msgspec

from benchtui.sessions.payloads import (
    Amount,
    Answer,
    AnswerComparison,
    Artifact,
    Compiling,
    Count,
    Data,
    Effective,
    Energy,
    Environment,
    Failures,
    GpuReadings,
    Host,
    HostReadings,
    Memory,
    Milliseconds,
    Model,
    Neighbor,
    ProcessSpread,
    Reported,
    RequestTimes,
    StepCost,
    Turns,
)
from benchtui.sessions.profiles import StepProfile
from benchtui.sessions.sweep import MOST_CASES, Config, Record, Seconds, Sweep

SCHEMA = 3
# 1  2026-11: initial version.
# 2  2026-11: sessions can be resumed; an older reader would also count the steps that a resume discards.
# 3  2026-11: ``utilization_percent`` has American spelling; an older reader would show no utilization of GPUs.

Phase = Literal["warmup", "measure"]
Outcome = Literal["ok", "oom", "skipped", "failed", "timeout", "interrupted"]
SessionOutcome = Literal["completed", "interrupted", "failed"]
Level = Literal["info", "warning", "error"]


class Event(Record, tag_field="event", frozen=True, kw_only=True):
    """Fields shared by all events."""

    t: Seconds


class SessionStarted(Event, tag="session_started", frozen=True, kw_only=True, omit_defaults=False):
    """First event: what will run, and where."""

    schema: int = SCHEMA
    id: str
    created: str
    """Creation time in UTC, ISO 8601."""
    sweep: Sweep
    plan: Annotated[tuple[Config, ...], msgspec.Meta(max_length=MOST_CASES)]
    """Planned cases; a case's number is its index here, from 0."""
    host: Host
    version: str | None = None
    """Version of benchtui."""
    commit: str | None = None
    """Commit of benchtui, with ``-dirty`` if files of the checkout were changed; null if unknown."""
    folder: str | None = None
    """Folder that relative paths of the sweep start from; null in older sessions."""
    source: str | None = None
    """Tool that measured an imported session; null for a session measured here."""
    source_file: str | None = None
    """Name of the imported file."""
    measured: str | None = None
    """Measurement time of an imported session, as its source writes it; ``created`` is the import time."""
    simulated: str | None = None
    """Model that computed a simulated session, in words; null for a measured or imported one."""
    process_spread: dict[str, ProcessSpread] = {}
    """Process-to-process variation in earlier sessions on this machine, by device kind (``cpu``, ``cuda``).
    Verdicts on cases with fewer than three rounds depend on it."""


class Runtime(Event, tag="runtime", frozen=True, kw_only=True):
    """Versions and devices as reported by torch, queried once in a separate process."""

    torch: str
    transformers: str | None = None
    cuda: str | None = None
    hip: str | None = None
    """Version of HIP if torch was built for ROCm. Torch calls its devices ``cuda``, too."""
    cudnn: Count | None = None
    threads: Count | None = None
    cuda_devices: tuple[str, ...] = ()
    """Name of each device visible to torch."""
    node: str | None = None
    """Cluster node that was queried; null for the engine's machine."""


class Idle(Event, tag="idle", frozen=True, kw_only=True):
    """Idle readings of a machine before the first case: what it does without the sweep."""

    window_s: Seconds
    power_w: dict[str, Amount] = {}
    """Mean power, never subtracted, keyed by device: ``gpu 0`` by the driver's index, ``processor`` for all
    packages."""
    others_cpu_percent: Amount | None = None
    """CPU use outside the engine, on the CPUs that workers may use; 100 is one full CPU. Null in sessions that
    didn't record it, as for the following ones."""
    steal_percent: Amount | None = None
    """Part of it for which the hypervisor ran something else on this machine's CPUs."""
    run_delay_percent: Amount | None = None
    """The engine's wait for a CPU, in percent of the time in which it wanted to run."""
    gpu_processes: dict[str, Count] = {}
    """Number of processes on each GPU (``gpu 0``) that was idle."""
    neighbors: tuple[Neighbor, ...] = ()
    """Busiest processes, if they used enough to disturb cases."""
    node: str | None = None
    """Cluster node that was measured; null for the engine's machine."""


class NodeJoined(Event, tag="node_joined", frozen=True, kw_only=True):
    """A cluster node is available; sent for each node before the first case and after a resume."""

    node: str
    """Name in this session: the host name, numbered to be unique."""
    host: Host
    kind: str
    """Kind of its GPUs, such as ``H100``; ``cpu`` without a GPU."""
    labels: dict[str, str] = {}
    resources: dict[str, Amount] = {}
    """Resources that the cluster reports for the node, by name."""
    clock_offset_s: Amount
    """The node's monotonic clock minus the engine's; already subtracted from the node's times."""


class NodeLost(Event, tag="node_lost", frozen=True, kw_only=True):
    """A cluster node is gone; its running case restarts, or ends in the next event."""

    node: str
    reason: str


class CaseAdded(Event, tag="case_added", frozen=True, kw_only=True):
    """A case outside the original plan; its number is the next free one."""

    case: Count
    config: Config
    why: str
    """``added by the user``, ``again``, or the search step that led to it, such as ``auto: doubling``."""
    of: Count | None = None
    """Case that this one reruns."""
    after: Count | None = None
    """Case that it follows in the order; null for the end."""


class OrderChanged(Event, tag="order_changed", frozen=True, kw_only=True):
    """The pending cases have a new order."""

    cases: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MOST_CASES)]
    """All pending cases in their new start order."""


class Paused(Event, tag="paused", frozen=True, kw_only=True):
    """No further case starts; running cases finish. A paused session doesn't end by itself."""


class Continued(Event, tag="continued", frozen=True, kw_only=True):
    """Cases start again after a pause."""


class Peaks(Event, tag="peaks", frozen=True, kw_only=True):
    """Peak performance of a device, measured in a separate process before the first case compared with it."""

    device: str
    precision: str
    """Precision of the matrix products: ``fp32``, ``tf32``, ``fp16`` or ``bf16``."""
    threads: Count = 0
    """Requested torch threads; 0 is torch's default."""
    flops_per_s: Amount | None = None
    """Sustained FLOP/s of large matrix products: the median, on a GPU after running them for a second. In
    sessions without a burst rate, the fastest."""
    bytes_per_s: Amount | None = None
    """Bytes read plus bytes written per second by large copies, sustained in the same way."""
    flops_burst_per_s: Amount | None = None
    """FLOP/s of the fastest of these products."""
    bytes_burst_per_s: Amount | None = None
    """The same for the fastest copy."""
    how: dict[str, str] = {}
    """Description of how each peak (``flops``, ``bytes``) was measured."""
    context_power_w: Amount | None = None
    """Mean power of an idle GPU on which a process has a CUDA context; only in the first peaks of a GPU."""
    absent: dict[str, str] = {}
    """Peaks that couldn't be measured, with the reason."""
    node: str | None = None
    """Cluster node of the device; null for the engine's machine."""


class CaseStarted(Event, tag="case_started", frozen=True, kw_only=True):
    """A worker process for the case starts; each round has its own."""

    case: Count
    round: Count = 0
    config: Config
    pid: Count | None = None
    """PID of a worker on the engine's machine; null for a worker on a cluster node."""
    node: str | None = None
    """Cluster node that runs the case; null for the engine's machine."""


class CasePrepared(Event, tag="case_prepared", frozen=True, kw_only=True):
    """Model, data and options are ready; steps follow."""

    case: Count
    model: Model
    data: Data | None = None
    effective: Effective | None = None
    files: dict[str, str] = {}
    """Digest of each file that determines the work: the user's step and the modules next to it, or the model's
    configuration, weights and tokenizer, and a local dataset. It is the first 16 digits of the SHA-256 of the
    file, or of a file's size, first MiB and 64 samples above 16 MiB. Empty in older sessions."""
    marks: tuple[str, ...] = ()
    """Caveats that a reader must know before trusting the row, such as ``random weights``."""
    load_s: Seconds | None = None
    artifact: Artifact | None = None
    """Artifact of the case's backend; null for torch."""
    samples_per_step: Count | None = None
    """Samples per step; null means the batch size."""
    task: str | None = None
    """Built-in task of the case; null for a user-defined step, and in older sessions."""
    new_tokens: Count | None = None
    """Tokens generated per sample; null for a task that generates none."""
    gpu_uuid: str | None = None
    gpu_absent: str | None = None
    """Why torch can't match the driver's readings to the GPU."""


class Steps(Event, tag="steps", frozen=True, kw_only=True, omit_defaults=False):
    """Columns of steps, one entry per step in each list."""

    case: Count
    phase: Phase
    round: Count = 0
    wall_ms: list[Milliseconds]
    """Host time of a step between device synchronizations: the sum of all parts, including tokenizing."""
    device_ms: list[Milliseconds] | None = None
    """Time between device events around the step, if the device has events."""
    host_ms: list[Milliseconds] | None = None
    """Host time until the step has enqueued its work and returned, including waits inside it. For the rest of
    the time, the host waits for the device. Null if the host is the device, or if unknown."""
    parts_ms: dict[str, list[Milliseconds]] = {}
    tokens: list[Count] | None = None
    """Real tokens per step: the sum of the attention mask plus generated tokens; padding doesn't count."""
    padded_tokens: list[Count] | None = None
    """Tokens per step with padding and generated tokens; null if unknown."""
    loss: list[float | None] | None = None
    """Loss of each training step; null if it wasn't finite."""
    requests: list[RequestTimes] | None = None
    """Times of the requests of each step; null for a task without requests."""


class Telemetry(Event, tag="telemetry", frozen=True, kw_only=True):
    """Samples of the machine since the previous telemetry event."""

    at_s: list[Seconds]
    """Session time of each sample."""
    gpus: tuple[GpuReadings, ...] = ()
    host: HostReadings = HostReadings()
    stood_still_s: Seconds | None = None
    """Time for which the engine was unable to run until now; set only if much longer than usual."""
    node: str | None = None
    """Cluster node that was sampled; null for the engine's machine."""


class RoundFinished(Event, tag="round_finished", frozen=True, kw_only=True):
    """A round finished and another one follows; the last round ends with CaseFinished.

    With ``rounds = "auto"`` every finished round ends with this event, because another one may follow.
    """

    case: Count
    round: Count
    measured_s: tuple[Seconds, Seconds] | None = None
    """Session time at which measuring started and ended in this round."""
    stop: str | None = None
    warmup_stop: str | None = None
    memory: Memory | None = None
    energy: Energy | None = None
    environment: Environment | None = None
    compiling: Compiling | None = None
    marks: tuple[str, ...] = ()
    effective: Effective | None = None
    """Applied options, read back after measuring. Null in older sessions, as the cost of a step."""
    work: StepCost | None = None
    turns: Turns | None = None
    """Rounds that it took turns with; null if it was measured alone."""


class SettledCase(Record, frozen=True, kw_only=True):
    """Case that gets no further round, because its comparisons that matter are decided."""

    case: Count
    reason: str
    """Why, such as ``2.1x slower, sure``."""


class RoundsPlanned(Event, tag="rounds_planned", frozen=True, kw_only=True):
    """Further rounds of ``rounds = "auto"``, planned whenever no case is running or pending."""

    cases: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MOST_CASES)]
    """Cases that get one more round each, in start order; none if the rounds end here."""
    open_questions: Count
    """Number of undecided comparisons."""
    spent_s: Seconds
    """Time spent on further rounds so far; time in which no case was running isn't counted."""
    budget_s: Seconds
    """Time limit of the further rounds. No round starts after it; a running one isn't cut short."""
    settled: Annotated[tuple[SettledCase, ...], msgspec.Meta(max_length=MOST_CASES)] = ()
    by_turns: bool = False
    """Whether the rounds are those of cases that take turns on the same device."""


class Waiting(Event, tag="waiting", frozen=True, kw_only=True):
    """A case waits for a quiet or cooler machine; its next event ends the wait."""

    case: Count
    round: Count = 0
    reason: str
    """What it waits for, and because of whom."""
    most_s: Seconds
    """Time after which the wait ends anyway."""


class CaseRepeated(Event, tag="case_repeated", frozen=True, kw_only=True):
    """A disturbed round is measured again; its steps so far don't count."""

    case: Count
    round: Count = 0
    reason: str
    pause_s: Seconds
    """Pause before the repeat, for the machine to settle."""


class Answered(Event, tag="answered", frozen=True, kw_only=True):
    """A case answered the probe, after its measured steps in its first round; it ends in a later event.

    A case that differs only in size from one that has been compared shares that comparison, without an answer.
    """

    case: Count
    answer: Answer | None = None
    shared_with: Count | None = None
    """Case whose comparison it shares; null if it answered itself."""
    absent: str | None = None
    """Why it has no answer."""
    comparisons: tuple[AnswerComparison, ...] = ()
    """Its own comparison, if its baseline has answered; for a baseline, those of the waiting cases."""


class Explained(Event, tag="explained", frozen=True, kw_only=True):
    """A case ran again in a separate process to profile its step; comes after all measured cases.

    It may follow ``session_finished`` and then has the time of the previous event, because the session isn't
    resumed.
    """

    case: Count
    created: str
    """Time in UTC, ISO 8601; possibly days after the session."""
    profile: StepProfile | None = None
    absent: str | None = None
    """Why there is no profile."""
    changed: tuple[str, ...] = ()
    """Changes in machine, software and files since the case was measured, if it was explained regardless."""


class CaseFinished(Event, tag="case_finished", frozen=True, kw_only=True):
    """Outcome of a case. Every planned case has exactly one; a restarted case has another.

    After several rounds, ``memory`` has the highest peaks of all rounds, ``energy`` their sum and ``marks`` the
    marks of any round. The other fields are those of the last round.
    """

    case: Count
    outcome: Outcome
    reason: str | None = None
    signal: str | None = None
    exit_code: int | None = None
    stderr_line: str | None = None
    """Last line that the worker wrote to its standard error."""
    measured_s: tuple[Seconds, Seconds] | None = None
    """Session time at which measuring started and ended in the last round."""
    stop: str | None = None
    """Why measuring ended."""
    warmup_stop: str | None = None
    """Why warm-up ended."""
    effective: Effective | None = None
    """Applied options, read back again after measuring, because compilation is complete only then."""
    memory: Memory | None = None
    energy: Energy | None = None
    environment: Environment | None = None
    compiling: Compiling | None = None
    """Null for a case requested without compilation."""
    work: StepCost | None = None
    marks: tuple[str, ...] = ()
    turns: Turns | None = None
    """As in ``round_finished``."""
    reported: Reported | None = None
    failures: Failures | None = None
    """Runs, requests or rounds that an imported source counts as failed. Null without one, and in older
    sessions, which have only the mark."""
    exported: dict[str, str | float | bool | tuple[float, ...] | None] = {}
    """Columns of the export that a case without steps was imported from. Its figures are read from them."""
    not_measured_further: str | None = None
    """Why the case got no further round with ``rounds = "auto"``; null if its last round ended with this event.
    Otherwise this event repeats the end of the last finished round."""


class Resumed(Event, tag="resumed", frozen=True, kw_only=True, omit_defaults=False):
    """Another engine resumes the session. Session time continues from the last event: the pause isn't counted.

    Runtime, idle power and peaks are recorded again after it.
    """

    schema: int = SCHEMA
    """Allows a version that doesn't know this event to report it, whichever version started the file."""
    created: str
    """Time of the resume in UTC, ISO 8601."""
    version: str | None = None
    """Version of benchtui."""
    host: Host
    changed: tuple[str, ...] = ()
    """Changes in machine and software: ``Python: 3.11.7 → 3.12.1``."""
    files: tuple[str, ...] = ()
    """Changes in the files that the cases left to run use: ``sane.py: 1a2b3c4d → 5e6f7a8b``."""
    cases: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MOST_CASES)]
    """Cases that restart: finished rounds are kept, and steps measured after them don't count."""


class Message(Event, tag="message", frozen=True, kw_only=True):
    """A log line."""

    level: Level
    text: str


class SessionFinished(Event, tag="session_finished", frozen=True, kw_only=True):
    """Last event, unless the session is resumed or its cases are explained later."""

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
    | RoundsPlanned
    | Waiting
    | CaseRepeated
    | Answered
    | Explained
    | CaseFinished
    | Resumed
    | Message
    | SessionFinished
)
