"""The events of a session: the language in which the engine, the screen and the report speak.

One tagged union, told apart by the field ``event``. Fields are added freely; renaming one needs
a new ``SCHEMA``. Units end the names: ``_ms``, ``_s``, ``_mb`` (10**6 bytes), ``_w``, ``_j``. A missing value
is null or left out, never 0. ``t`` is seconds since the session started, on a monotonic clock.
"""

from typing import Annotated, Any, Literal

import msgspec

from benchtui.sessions.sweep import MOST_CASES, Config, Record, Seconds, Sweep, Weights

SCHEMA = 1
# 1  2026-11: the first.

Phase = Literal["warmup", "measure"]
Outcome = Literal["ok", "oom", "skipped", "failed", "timeout", "interrupted"]
SessionOutcome = Literal["completed", "interrupted", "failed"]
Level = Literal["info", "warning", "error"]

# Bounds wide of anything measured, within which arithmetic on a stranger's file can't overflow.
_MOST = 10**18
Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=_MOST)]
Amount = Annotated[float, msgspec.Meta(ge=-_MOST, le=_MOST)]
"""A reading in the unit that its field's name ends in."""


class Gpu(Record, frozen=True, kw_only=True):
    """A GPU as its driver describes it."""

    index: Count
    """NVML's index, which ``CUDA_VISIBLE_DEVICES`` doesn't change."""
    name: str
    uuid: str | None = None
    memory_mb: Amount | None = None
    power_limit_w: Amount | None = None
    sm_clock_mhz: Amount | None = None
    """The clock that applications run at by default, or at most where the driver names no default."""


class Host(Record, frozen=True, kw_only=True):
    """The machine and the software on it, as far as it can be known without importing torch."""

    hostname: str | None = None
    platform: str | None = None
    python: str | None = None
    processor: str | None = None
    cpu_count: Count | None = None
    """Logical processors that this process may use."""
    memory_mb: Amount | None = None
    governor: str | None = None
    """How the kernel chooses the processors' clocks; several, joined by ``+``, where they differ."""
    container_cpus: Amount | None = None
    """Processors' worth of time that the control group allows; null where it sets no limit."""
    container_memory_mb: Amount | None = None
    """Memory that the control group allows; null where it sets no limit."""
    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    """Version of the GPU driver."""
    packages: dict[str, str] = {}
    """Version of each installed package that bears on a measurement."""
    absent: dict[str, str] = {}
    """What cannot be read on this machine, and why: ``{"gpu": "no NVIDIA driver: …"}``."""


class Model(Record, frozen=True, kw_only=True):
    """The model of a case, as it was loaded."""

    name: str
    architecture: str | None = None
    """Class of the model, such as ``DistilBertForSequenceClassification``."""
    parameters: Count | None = None
    hidden_size: Count | None = None
    hidden_layers: Count | None = None
    attention_heads: Count | None = None
    weights: Weights | None = None
    source: str | None = None
    """Where configuration and weights came from: ``hub``, ``folder`` or ``bundled``."""


class Data(Record, frozen=True, kw_only=True):
    """The text of a case, or what stands in for it."""

    dataset: str
    samples: Count
    """Texts, or rows of drawn tokens, available; steps go through them in order and begin again at the end."""
    tokenizer: str | None = None


class Effective(Record, frozen=True, kw_only=True):
    """What was really in force while measuring, read back from the model and its output."""

    weights_dtype: str | None = None
    """``qint8`` where products are computed from quantised weights."""
    autocast_dtype: str | None = None
    """The dtype autocast computes in; null without autocast."""
    output_dtype: str | None = None
    attention: str | None = None
    compiled: bool | None = None
    threads: Count | None = None
    """Threads of torch inside one operation."""
    padding: str | None = None
    """``max`` or ``longest``, by the shapes of the batches; null while they would be the same in both."""


class Memory(Record, frozen=True, kw_only=True):
    """Peaks of a case while it was measured, in units of 10**6 bytes."""

    peak_allocated_mb: Amount | None = None
    """By tensors, in the framework's allocator on the device."""
    peak_reserved_mb: Amount | None = None
    """Held by the framework's allocator on the device."""
    peak_device_mb: Amount | None = None
    """Used on the device by this process, as the driver sees it."""
    peak_rss_mb: Amount | None = None
    """Resident memory of the worker alone."""
    kv_cache_mb: Amount | None = None
    """Keys and values that generating a batch had gathered at its end, in all layers."""


class Energy(Record, frozen=True, kw_only=True):
    """Energy and power of the device over the measured window; without a source, why there is none."""

    energy_j: Amount | None = None
    mean_power_w: Amount | None = None
    source: Literal["counter", "sampled power"] | None = None
    dram_j: Amount | None = None
    """Energy of the memory modules, which the processor counts apart and which isn't part of ``energy_j``."""
    absent: str | None = None


class Environment(Record, frozen=True, kw_only=True):
    """What went on around a case while it was measured."""

    worker_cpu: Amount | None = None
    """Processor time of the worker over wall time; 2 is two whole processors."""
    involuntary_switches: Count | None = None
    """How often the kernel took the processor from the worker though it wanted on."""
    others_cpu_percent: Amount | None = None
    """Processors used by no worker of the sweep and not by the engine; 100 is one whole processor."""
    processors: Count | None = None
    """Logical processors of the machine, which the others had as well."""
    load_average: Amount | None = None
    """The kernel's average over the last minute, at the end of measuring."""
    sm_clock_mhz: Amount | None = None
    """Mean clock of the GPU."""
    sm_clock_least_mhz: Amount | None = None
    sm_clock_default_mhz: Amount | None = None
    throttle: tuple[str, ...] = ()
    """Every reason that held the GPU's clock down at some moment."""
    temperature_c: Amount | None = None
    """The highest of the GPU."""
    power_limit_w: Amount | None = None
    beside: Count = 0
    """Most other cases of the same sweep that ran at the same time."""
    gpu_processes: Count | None = None
    """Other processes on the GPU, the most at any moment; null where the driver doesn't list them."""


class Compiling(Record, frozen=True, kw_only=True):
    """What torch's compiler did in a case, by its own counters."""

    graphs: Count
    graph_breaks: Count
    """Places where it gave up on a graph and went on with plain Python."""
    recompiles: Count
    """Graphs compiled while measuring: for a shape or a value that warming up hadn't met."""
    unsteady: tuple[Count, ...] = ()
    """Measured steps, counted from 0 in their round, in which the compiler was at work."""


class Work(Record, frozen=True, kw_only=True):
    """What a step has to do, counted in a step of its own after measuring; null where it couldn't be."""

    flops: Amount | None = None
    """Floating-point operations of one step in matrix products, convolutions and attention, the network
    uncompiled; a multiplication with its addition is two."""
    bytes_moved: Amount | None = None
    """Bytes of one step if every operation read its inputs from memory and wrote its outputs there: what
    caches and fused operations save is not taken off, so this is a bound from above."""
    bytes_of_weights: Amount | None = None
    """Those of them that were there before the step: weights, at each use, and an optimizer's state."""
    busy_ms: Milliseconds | None = None
    """Time of a step in which the device was at work; null on a processor, which is its own host."""
    absent: dict[str, str] = {}
    """What couldn't be counted (``flops``, ``bytes``, ``busy``), and why."""


class Reported(Record, frozen=True, kw_only=True):
    """Figures taken over from a source that kept no steps; they stand in where there are none of ours."""

    steps: Count | None = None
    latency_mean_ms: Milliseconds | None = None
    samples_per_s: Amount | None = None
    tokens_per_s: Amount | None = None
    mean_power_w: Amount | None = None


class GpuReadings(Record, frozen=True, kw_only=True):
    """Columns of readings of one GPU, one entry a sample of the event; null where it couldn't be read."""

    index: Count
    power_w: list[Amount | None] = []
    power_limit_w: Amount | None = None
    memory_used_mb: list[Amount | None] = []
    memory_total_mb: Amount | None = None
    utilisation_percent: list[Amount | None] = []
    temperature_c: list[Amount | None] = []
    sm_clock_mhz: list[Amount | None] = []
    throttle: list[str | None] = []
    """Reasons why the clock is held down, joined by ``+``; empty when it isn't."""
    energy_j: list[Amount | None] = []
    """The driver's running total; only differences mean anything."""
    absent: dict[str, str] = {}
    """Readings this GPU doesn't give, and why."""


class HostReadings(Record, frozen=True, kw_only=True):
    """Columns of readings of the machine, the workers (their sum, where several run) and the engine itself."""

    cpu_percent: list[Amount | None] = []
    """All processors together; 100 is one whole processor."""
    memory_used_mb: list[Amount | None] = []
    worker_cpu_percent: list[Amount | None] = []
    worker_rss_mb: list[Amount | None] = []
    engine_cpu_percent: list[Amount | None] = []
    """The supervisor with its samplers: what measuring costs."""
    package_energy_j: list[Amount | None] = []
    """Energy of all processor packages since sampling began; empty where it can't be read."""
    dram_energy_j: list[Amount | None] = []
    """Energy of the memory modules since sampling began, where the processor counts it apart."""


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


class Runtime(Event, tag="runtime", frozen=True, kw_only=True):
    """What torch says of the machine, asked once in a process of its own."""

    torch: str
    transformers: str | None = None
    cuda: str | None = None
    cudnn: Count | None = None
    threads: Count | None = None
    cuda_devices: tuple[str, ...] = ()
    """Name of each device that torch sees."""


class Idle(Event, tag="idle", frozen=True, kw_only=True):
    """Mean power before the first case, while the machine had nothing of ours to do; never subtracted."""

    window_s: Seconds
    power_w: dict[str, Amount] = {}
    """By device: ``gpu 0`` by the driver's index, ``processor`` for all packages."""


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


class CaseStarted(Event, tag="case_started", frozen=True, kw_only=True):
    """A worker process for this case begins; another one in each round."""

    case: Count
    round: Count = 0
    config: Config
    pid: Count | None = None


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
    """Columns of steps, one entry a step in each list."""

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
    """How a case ended. Every planned case has exactly one.

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


class Message(Event, tag="message", frozen=True, kw_only=True):
    """A line for the log."""

    level: Level
    text: str


class SessionFinished(Event, tag="session_finished", frozen=True, kw_only=True):
    """The last event."""

    outcome: SessionOutcome
    reason: str | None = None


AnyEvent = (
    SessionStarted
    | Runtime
    | Idle
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
    | Message
    | SessionFinished
)


def json_schema() -> dict[str, Any]:
    """JSON Schema of a session file: an array of these events."""
    return msgspec.json.schema(list[AnyEvent])
