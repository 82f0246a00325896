"""What events tell of the machine, the model and a case: records within records.

Units and rules for what is missing are those of ``events``.
"""

from typing import Annotated, Literal

import msgspec

from benchtui.sessions.sweep import Record, Weights

# Bounds wide of anything measured, within which arithmetic on a stranger's file can't overflow.
MOST = 10**18
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=MOST)]
Amount = Annotated[float, msgspec.Meta(ge=-MOST, le=MOST)]
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
    virtual: bool | None = None
    """Whether it is a virtual machine, by a flag of x86 processors; null where there is no such word."""
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


class ProcessSpread(Record, frozen=True, kw_only=True):
    """How far fresh processes of one case lay apart in earlier sessions of a machine."""

    between: Annotated[float, msgspec.Meta(ge=0, le=100)]
    """Relative standard deviation of their median steps (0.01 is 1%)."""
    freedom: Annotated[float, msgspec.Meta(gt=0, le=MOST)]
    """Degrees of freedom it rests on: the repeats beyond the first of each case."""


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
    tf32: bool | None = None
    """Whether products of float32 numbers on a GPU round to TF32, by one that was computed."""
    attention: str | None = None
    compiled: bool | None = None
    threads: Count | None = None
    """Threads of torch inside one operation."""
    padding: str | None = None
    """``max`` or ``longest``, by the shapes of the batches; null while they would be the same in both."""


class Memory(Record, frozen=True, kw_only=True):
    """Peaks of a case while it was measured, in units of 10**6 bytes."""

    peak_allocated_mb: Amount | None = None
    """By tensors, in the framework's allocator on the device, which doesn't see those of CUDA graphs."""
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
    """Processor time of the worker and of what it has started over wall time; 2 is two whole processors."""
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
    stood_still_s: Amount | None = None
    """How long engine and case were kept from running, the machine suspended or both stopped, and how long the
    worker alone was stopped."""
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
    latency_median_ms: Milliseconds | None = None
    latency_std_ms: Milliseconds | None = None
    """Standard deviation of the sample (n - 1)."""
    latency_p90_ms: Milliseconds | None = None
    latency_p95_ms: Milliseconds | None = None
    latency_p99_ms: Milliseconds | None = None
    samples_per_s: Amount | None = None
    tokens_per_s: Amount | None = None
    padded_tokens_per_s: Amount | None = None
    mean_power_w: Amount | None = None
    energy_j: Amount | None = None
    """Energy over a window of the source's own, which needn't be that of the measured steps."""
    repeats_mean_ms: tuple[Milliseconds, ...] = ()
    """Mean step of each repeat, where the source has the case several times; the figures are those of all."""


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


THROTTLES = ("hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake")
"""Reasons that heat or the power supply gives. A power cap is how the GPU works, and no accident."""
