"""Event payloads: records of the machine, the model and the results of a case.

Units and rules for missing values are the same as in ``events``.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from benchtui.sessions.sweep import Record, Weights

# Bounds far beyond anything measured, within which arithmetic on an untrusted file can't overflow.
MOST = 10**18
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=MOST)]
Amount = Annotated[float, msgspec.Meta(ge=-MOST, le=MOST)]
"""Reading in the unit given by the suffix of its field."""


class Gpu(Record, frozen=True, kw_only=True):
    """GPU as described by its driver."""

    index: Count
    """Index in the driver's order, which ``CUDA_VISIBLE_DEVICES`` doesn't change."""
    name: str
    uuid: str | None = None
    memory_mb: Amount | None = None
    power_limit_w: Amount | None = None
    mig: bool | None = None
    """Whether the GPU is partitioned into MIG instances; null if the driver doesn't say."""
    persistence: bool | None = None
    """Whether the driver stays loaded while nothing uses the GPU; otherwise its settings are lost."""
    ecc: bool | None = None
    """Whether the memory corrects errors, which costs bandwidth on some GPUs."""
    pcie: str | None = None
    """Fastest generation and current width of the link to the host, such as ``gen 5 x16``."""
    numa_node: Count | None = None
    """NUMA node of the host that the GPU is attached to; null if the kernel doesn't know it. Older sessions:
    the node of the GPU's own memory, on the few GPUs that have one."""
    graphics_clock_mhz: Amount | None = msgspec.field(default=None, name="sm_clock_mhz")
    """Default application clock, or the maximum clock if the driver reports no default."""
    graphics_clock_is_highest: bool = msgspec.field(default=False, name="sm_clock_is_highest")
    """Whether that clock is the maximum; false also in sessions that didn't record it."""
    slowdown_c: Amount | None = None
    """Temperature at which the driver slows the GPU down; null also in sessions that didn't record it."""
    memory_clock_mhz: Amount | None = None
    """Maximum clock of the memory."""
    application_clock_mhz: Amount | None = None
    """Requested graphics clock of applications; the driver doesn't report locked clocks, another setting."""
    application_memory_clock_mhz: Amount | None = None
    """Requested memory clock of applications."""


class Host(Record, frozen=True, kw_only=True):
    """Machine and installed software, as far as known without importing torch."""

    hostname: str | None = None
    platform: str | None = None
    python: str | None = None
    processor: str | None = None
    cpu_count: Count | None = None
    """Logical CPUs that this process may use."""
    virtual: bool | None = None
    """Whether this is a virtual machine, from an x86 CPU flag; null on CPUs without flags."""
    memory_mb: Amount | None = None
    governor: str | None = None
    """CPU frequency governor; several, joined by ``+``, if the CPUs differ."""
    core_types: dict[str, str] | None = None
    """Logical CPUs of each type of core, such as ``{"P": "0-15", "E": "16-23"}``; empty if all are of one type,
    null if not recorded."""
    numa_nodes: dict[str, str] | None = None
    """Logical CPUs of each NUMA node, such as ``{"0": "0-15", "1": "16-31"}``; empty if there is only one,
    null if not recorded."""
    container_cpus: Amount | None = None
    """Lowest CPU limit of the control group and its parents, in CPUs; null without a limit."""
    container_memory_mb: Amount | None = None
    """Lowest memory limit of the control group and its parents; null without a limit."""
    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    """Version of the GPU driver."""
    packages: dict[str, str] = {}
    """Version of each installed package that affects measurements."""
    environment: dict[str, str] | None = None
    """Environment variables that torch, CUDA, OpenMP, MKL or tokenizers read; null if not recorded."""
    absent: dict[str, str] = {}
    """Readings that aren't available on this machine, with the reason: ``{"gpu": "no NVIDIA driver: …"}``."""

    @property
    def usable_memory_mb(self) -> float | None:
        """Memory that processes may use, also in a control group; None if unknown."""
        limits = (self.memory_mb, self.container_memory_mb)
        return min((limit for limit in limits if limit is not None), default=None)


class ProcessSpread(Record, frozen=True, kw_only=True):
    """Process-to-process variation of a case in earlier sessions on a machine."""

    between: Annotated[float, msgspec.Meta(ge=0, le=100)]
    """Relative standard deviation of the processes' median step times (0.01 is 1%)."""
    freedom: Annotated[float, msgspec.Meta(gt=0, le=MOST)]
    """Degrees of freedom of the estimate: the repeats beyond the first of each case."""


class Model(Record, frozen=True, kw_only=True):
    """Model of a case, as loaded."""

    name: str
    architecture: str | None = None
    """Model class, such as ``DistilBertForSequenceClassification``."""
    parameters: Count | None = None
    hidden_size: Count | None = None
    hidden_layers: Count | None = None
    attention_heads: Count | None = None
    weights: Weights | None = None
    source: str | None = None
    """Source of configuration and weights: ``hub``, ``folder`` or ``bundled``."""
    revision: str | None = None
    """Commit of a model of the hub; null for any other, and in older sessions."""
    random_weights: str | None = None
    """Digest of the numbers that random weights repeat. Null for trained weights, and in older sessions, whose
    random weights were others."""


class Data(Record, frozen=True, kw_only=True):
    """Input of a case: texts, synthetic tokens, images or audio."""

    dataset: str
    samples: Count
    """Available texts, or rows of synthetic tokens; steps read them in order and wrap around."""
    tokenizer: str | None = None
    checked: Count | None = None
    """Number of the first texts whose length in tokens was checked; null for synthetic tokens."""
    processor: str | None = None
    """Class of the image processor or feature extractor; null if the inputs need none, or none is installed."""
    shape: str | None = None
    """Shape of an image or length of a clip, such as ``224 x 224 x 3``; null for texts."""
    truncated: Count | None = None
    """Number of checked texts that are longer than the case's sequence length and therefore truncated."""


class Effective(Record, frozen=True, kw_only=True):
    """Options applied while measuring, read back from the model and its output."""

    weights_dtype: str | None = None
    """``qint8`` if products are computed from quantized weights."""
    autocast_dtype: str | None = None
    """Compute dtype of autocast; null without autocast."""
    output_dtype: str | None = None
    tf32: bool | None = None
    """Whether float32 products on a GPU round to TF32, determined by computing one."""
    attention: str | None = None
    weights_mb: Amount | None = None
    """Memory of all weights and buffers, in units of 10**6 bytes."""
    layers: dict[str, Count] = {}
    """Number of linear layers by class, such as ``Linear4bit``; empty if not recorded."""
    draft_acceptance: Amount | None = None
    """Share of the drafted tokens that the model accepted, 0 to 1; null without a draft."""
    compiled: bool | None = None
    cuda_graphs: bool | None = None
    """Whether compiled graphs ran as CUDA graphs, none of them skipped; null if not requested or unknown."""
    threads: Count | None = None
    """Torch threads within one operation."""
    padding: str | None = None
    """``max`` or ``longest``, from the shapes of the batches; null while both would look the same."""
    others: dict[str, str | int] = {}
    """Actual values of the options without a field here, by the option's name; unknown ones are missing."""
    runtime: dict[str, str] = {}
    """What a backend other than torch states about itself, such as its version, providers and affinity."""
    unread: tuple[str, ...] = ()
    """Options that the sweep varies and the user's step never read, so that its cases don't differ in them."""


class Artifact(Record, frozen=True, kw_only=True):
    """Network stored for a backend other than torch: what building and loading it cost."""

    export_s: Amount
    """Time to export the network from torch, when the artifact was built."""
    convert_s: Amount
    """Time to convert, quantize or compile the exported network, when the artifact was built."""
    load_s: Amount = 0.0
    """Time to load the stored artifact in this case."""
    size_mb: Amount = 0.0
    """Size on disk, in units of 10**6 bytes."""
    peak_mb: Amount = 0.0
    """Peak resident memory of the process that built it, in units of 10**6 bytes."""
    stored: bool = False
    """Whether the case found it in the cache; otherwise the case built it."""
    corrupt: bool = False
    """Whether it replaced a stored one whose files had changed."""


class Memory(Record, frozen=True, kw_only=True):
    """Peak memory of a case while measured, in units of 10**6 bytes."""

    peak_allocated_mb: Amount | None = None
    """Allocated by tensors in the framework's device allocator, which doesn't see tensors of CUDA graphs."""
    peak_reserved_mb: Amount | None = None
    """Reserved by the framework's device allocator, including memory cached from earlier phases."""
    peak_device_mb: Amount | None = None
    """Device memory used by this process, as seen by the driver."""
    peak_rss_mb: Amount | None = None
    """Resident memory of the worker only."""
    kv_cache_mb: Amount | None = None
    """Keys and values in all layers at the end of generating a batch. A static cache always has its full size
    of ``sequence_length + new_tokens - 1`` positions."""


def highest_peaks(memories: Iterable[Memory]) -> Memory | None:
    """Return the highest reading of each kind; None without a record."""
    readings = list(memories)
    peaks = {name: [getattr(memory, name) for memory in readings] for name in Memory.__struct_fields__}
    present = {name: [peak for peak in of_kind if peak is not None] for name, of_kind in peaks.items()}
    return (
        Memory(**{name: max(of_kind, default=None) for name, of_kind in present.items()}) if readings else None
    )


class RequestTimes(Record, frozen=True, kw_only=True):
    """Times of the requests of one step, starting when the step submitted all of them."""

    first_token_ms: list[Milliseconds]
    """Time to the first token of each request, including its wait in the queue."""
    between_tokens_ms: list[Milliseconds]
    """Times between consecutive tokens, over all requests; evenly spaced ranks of them if there are many."""
    request_ms: list[Milliseconds]
    """Time to the last token of each request."""


EnergySource = Literal["counter", "sampled power", "averaged power"]
"""Source of an energy value, best first; averaged power is sampled from the driver's average over a second."""


class Energy(Record, frozen=True, kw_only=True):
    """Energy and power of the device over the measured window, or why there is none."""

    energy_j: Amount | None = None
    mean_power_w: Amount | None = None
    source: EnergySource | None = None
    dram_j: Amount | None = None
    """Energy of the memory modules; the CPU counts it separately, and ``energy_j`` doesn't include it."""
    absent: str | None = None


class CaseRound(Record, frozen=True, kw_only=True):
    """Round of a case."""

    case: Count
    round: Count


class Turns(Record, frozen=True, kw_only=True):
    """Rounds of other cases that a round took turns with, so that the pace of the machine affected all alike.

    They are compared slice by slice: the steps of one turn with those of the other cases' turns after it.
    """

    case: Count
    """Another case."""
    round: Count
    slice_steps: Annotated[int, msgspec.Meta(ge=1)]
    """Recorded steps per turn."""
    others: tuple[CaseRound, ...] = ()
    """Further cases, if more than two took turns."""

    @property
    def partners(self) -> dict[int, int]:
        """The rounds of all other cases, by case."""
        return {self.case: self.round} | {other.case: other.round for other in self.others}


class Neighbor(Record, frozen=True, kw_only=True):
    """Process of somebody else that used the machine."""

    name: str
    """Name of the program, without its arguments."""
    user: str | None = None
    """Its user, if this machine knows the name."""
    cpu_percent: Amount | None = None
    """Mean CPU use; 100 is one full CPU. Null for a process on the GPU."""


class MachineUsers(msgspec.Struct, frozen=True, kw_only=True):
    """Processes that use a machine now, the newest reading of each kind. Not part of a session."""

    gpus: dict[int, tuple[Neighbor, ...]] = {}
    """Processes on each GPU, by its index. A GPU whose processes can't be read is left out."""
    busiest: tuple[Neighbor, ...] = ()
    """Processes that used the processors most since the previous reading."""


class Environment(Record, frozen=True, kw_only=True):
    """Conditions on the machine while a case was measured."""

    worker_cpu: Amount | None = None
    """CPU time of the worker and the processes it started, over wall time; 2 is two full CPUs."""
    user_ms: Milliseconds | None = None
    """Mean CPU time of a measured step in user mode, without processes that the worker started. Older sessions:
    null, except for imported cases."""
    system_ms: Milliseconds | None = None
    """The same in the kernel."""
    minor_faults_per_step: Amount | None = None
    """Mean number of page faults of the worker per measured step that the kernel served without reading a disk.
    Memory that an allocator returns to the kernel causes one per page (4 kB) when it is used again."""
    major_faults: Count | None = None
    """Page faults of the worker that waited for a disk, while measured."""
    huge_page_mode: str | None = None
    """Mode of transparent huge pages: ``always``, ``madvise`` or ``never``."""
    huge_pages_mb: Amount | None = None
    """Anonymous memory of the worker in transparent huge pages, after the last step."""
    involuntary_switches: Count | None = None
    """Number of involuntary context switches of the worker, most of them between its own threads."""
    run_delay_s: Amount | None = None
    """Time for which the worker's threads were ready to run but waited for a CPU, summed over them; null if the
    kernel doesn't count it, and in sessions that didn't record it."""
    others_cpu_percent: Amount | None = None
    """CPU use outside the sweep's workers and the engine, on the CPUs that the worker may use; 100 is one
    full CPU. Older sessions: on all CPUs of the machine."""
    processors: Count | None = None
    """Logical CPUs that the worker may use. Older sessions: all CPUs of the machine."""
    affinity: str | None = None
    """Numbers of these CPUs, such as ``0-7,16``; null if unknown, or not recorded."""
    numa_nodes: str | None = None
    """NUMA nodes of these CPUs, such as ``0-1``."""
    steal_percent: Amount | None = None
    """Time for which the hypervisor ran something else on these CPUs; 100 is one full CPU."""
    load_average: Amount | None = None
    """Load average of the last minute, at the end of measuring."""
    graphics_clock_mhz: Amount | None = msgspec.field(default=None, name="sm_clock_mhz")
    """Mean GPU clock."""
    graphics_clock_least_mhz: Amount | None = msgspec.field(default=None, name="sm_clock_least_mhz")
    graphics_clock_default_mhz: Amount | None = msgspec.field(default=None, name="sm_clock_default_mhz")
    graphics_clock_default_is_highest: bool = msgspec.field(default=False, name="sm_clock_default_is_highest")
    """Whether the driver reports no default, and the default clock here is the maximum."""
    graphics_clock_best_mhz: Amount | None = msgspec.field(default=None, name="sm_clock_best_mhz")
    """Highest mean GPU clock in this session so far, or since its last resume: of the case itself, of earlier
    ones on this GPU, and while its peaks were measured; null in sessions that didn't record it."""
    memory_clock_mhz: Amount | None = None
    """Mean clock of the GPU's memory."""
    memory_clock_highest_mhz: Amount | None = None
    """Maximum clock of the GPU's memory."""
    performance_states: tuple[Count, ...] = ()
    """Numbers of the GPU's performance states, from 0 for the highest performance to 15; empty if unknown."""
    throttle: tuple[str, ...] = ()
    """Every reason for which the GPU's clock was throttled at any time."""
    temperature_c: Amount | None = None
    """Highest GPU temperature."""
    power_limit_w: Amount | None = None
    beside: Count = 0
    """Maximum number of other cases of the same sweep running at the same time."""
    stood_still_s: Amount | None = None
    """Time for which engine and case couldn't run (machine suspended, or both stopped), plus the time for which
    only the worker was stopped."""
    quota_periods: Count | None = None
    """Periods of the CPU quota, usually of 100 ms; null without a quota. If the control group and its parents
    have several, it is the one with the largest share of stopped periods. Older sessions: the lowest one."""
    quota_stopped_periods: Count | None = None
    """Periods in which the quota was used up and the group with the quota was stopped until the next one."""
    quota_stopped_s: Amount | None = None
    """Time for which the quota stopped its group, summed over the CPUs it ran on."""
    processor_mhz: Amount | None = None
    """Mean clock of the busy CPUs among those that the worker may use."""
    processor_throttled: Count | None = None
    """Number of times that heat throttled a core or package of these CPUs; null if not counted."""
    gpu_processes: Count | None = None
    """Maximum number of other processes on the GPU at any time; null if the driver doesn't list them."""
    neighbors: tuple[Neighbor, ...] = ()
    """Who used the CPUs or the GPU, the busiest first, if the case was measured beside others and they are
    visible from here."""
    idle_others_cpu_percent: Amount | None = None
    """The same as ``others_cpu_percent``, in the idle seconds before the first case; null if not measured."""
    idle_run_delay_percent: Amount | None = None
    """The engine's own wait for a CPU in those seconds, in percent of the time in which it wanted to run."""
    idle_gpu_processes: Count = 0
    """Processes on the GPU in those seconds, if they left it idle."""
    compute_active_percent: Amount | None = msgspec.field(default=None, name="sm_active_percent")
    """Mean of the reading, as for the following ones of the GPU; null if its counters can't be read."""
    occupancy_percent: Amount | None = msgspec.field(default=None, name="sm_occupancy_percent")
    tensor_active_percent: Amount | None = None
    dram_active_percent: Amount | None = None
    pcie_rx_mb_per_s: Amount | None = None
    pcie_tx_mb_per_s: Amount | None = None
    link_rx_mb_per_s: Amount | None = msgspec.field(default=None, name="nvlink_rx_mb_per_s")
    link_tx_mb_per_s: Amount | None = msgspec.field(default=None, name="nvlink_tx_mb_per_s")
    instructions_per_cycle: Amount | None = None
    """Mean instructions per CPU cycle of the workers, which only earlier versions counted."""
    memory_mb_per_s: Amount | None = None
    """Mean traffic between the processors and their memory, which only earlier versions counted."""
    absent: dict[str, str] = {}
    """Why single readings of the worker are missing, by field."""


class Compiling(Record, frozen=True, kw_only=True):
    """Activity of torch's compiler in a case, from its own counters."""

    graphs: Count
    graph_breaks: Count
    """Places where the compiler gave up on a graph and fell back to plain Python."""
    recompiles: Count
    """Graphs compiled while measuring, for shapes or values not seen during warm-up."""
    cuda_graphs: Count | None = None
    """CUDA graphs recorded, including warm-up; null if not requested, or not reported by this torch."""
    cuda_graph_skips: Count | None = None
    """Times that torch refused to record CUDA graphs for what it had compiled; null if not requested."""
    cold: tuple[Count, ...] = ()
    """Warm-up steps in which torch compiled or recorded CUDA graphs, numbered from 0 within their round."""
    unsteady: tuple[Count, ...] = ()
    """Measured steps in which torch compiled or recorded CUDA graphs, numbered from 0 within their round."""


MOST_WIDTH_DIFFERENCE = 0.05
"""Largest relative difference in tokens at which the counted step still represents the median one."""


class StepCost(Record, frozen=True, kw_only=True):
    """Cost of a step, counted in an extra step after measuring; null if it couldn't be counted."""

    flops: Amount | None = None
    """Floating-point operations per step in matrix products, convolutions and attention, with the network
    uncompiled; a multiply-add counts as two."""
    bytes_moved: Amount | None = None
    """Bytes per step if every operation read its inputs from memory and wrote its outputs there.
    An upper bound: savings by caches and fused operations aren't subtracted."""
    bytes_of_weights: Amount | None = None
    """Part of ``bytes_moved`` that existed before the step: weights, at each use, and optimizer state."""
    busy_ms: Milliseconds | None = None
    """Time per step in which the device was busy; null on a CPU, where host and device are the same."""
    waits: Count | None = None
    """Minimum number of times that the host waits for the GPU in a step; null in latency mode and on a CPU."""
    padded_tokens: Count | None = None
    """Tokens of the counted step, including padding; null if the step wasn't chosen by its tokens."""
    typical_padded_tokens: Count | None = None
    """Median number of tokens, including padding, over the measured steps."""
    attention: tuple[str, ...] = ()
    """Attention kernels that ran: ``flash``, ``flash3``, ``efficient`` (memory-efficient), ``cudnn``, ``flex``
    or ``math`` (not fused). Taken from torch's dispatcher, or from a profile for compiled code."""
    absent: dict[str, str] = {}
    """Reasons for metrics that weren't counted: ``flops``, ``bytes``, ``busy``, ``attention``, ``waits``."""

    @property
    def is_typical(self) -> bool:
        """Whether the counted step has about as many tokens as the median one; True if unknown."""
        counted, typical = self.padded_tokens, self.typical_padded_tokens
        if counted is None or typical is None:
            return True
        return abs(counted - typical) <= MOST_WIDTH_DIFFERENCE * typical


AnswerKind = Literal["logits", "tokens", "losses", "embeddings", "values"]
"""Logits at sampled positions, generated tokens, losses of the first training steps, embeddings of texts, or
values of a user-defined step."""
AnswerVerdict = Literal["identical", "close", "different", "broken"]


CANT_TELL = "can't tell"
"""Beginning of ``AnswerComparison.absent`` if both answers were compared, but noise hides a difference."""


class Answer(Record, frozen=True, kw_only=True):
    """Output of a case for the probe, the same input for every case of one sequence length."""

    kind: AnswerKind
    amount: Count
    """Positions (logits), tokens, training steps or values in the output."""
    digest: str
    """SHA-256 of the values, truncated to what distinguishes outputs of the same kind; equal for equal bits."""
    shortened: str | None = None
    """What the probe consisted of if the case was too slow for all of it; null for a whole probe."""
    probe: Count = 1
    """Version of the probe; answers to other versions can't be compared."""


class AnswerComparison(Record, frozen=True, kw_only=True):
    """Answer of a case compared with its baseline's. Metrics that don't apply to its kind are null."""

    case: Count
    baseline: Count
    verdict: AnswerVerdict | None = None
    kl_mean: Amount | None = None
    """Mean over the positions of KL(baseline ‖ case) over the whole vocabulary, in nats."""
    kl_p99: Amount | None = None
    """99th percentile of the KL divergence over the positions; null for fewer than 100 positions."""
    top1_agreement: Amount | None = None
    """Share of positions at which both have the same most likely token or class."""
    sqnr_db: Amount | None = None
    """Power of the baseline's values over that of the differences, in dB; null if there are none."""
    largest_difference: Amount | None = None
    """Largest absolute difference between two values: logits, losses or values of a user-defined step."""
    cosine: Amount | None = None
    """Cosine similarity of the values of a user-defined step; null if one of the two is all zero."""
    equal_tokens: Amount | None = None
    """Share of generated tokens that are equal, position by position."""
    first_difference: Count | None = None
    """First generated token of any row, or first training step, that differs, from 0; null if none does."""
    loss_difference: Amount | None = None
    """Largest difference of two losses of the same step, over the baseline's."""
    change_difference: Amount | None = None
    """Difference of two changes of the loss over the steps, over the baseline's change."""
    gradient_difference: Amount | None = None
    """Difference of two gradient norms over the steps, over the baseline's."""
    trained_share: Amount | None = None
    """Weights that get a gradient, over those of the baseline."""
    absent: str | None = None
    """Why there is no verdict."""


class Failures(Record, frozen=True, kw_only=True):
    """Runs, requests or rounds of a measured case that failed. Their times are in no figure."""

    failed: Count
    """Those that failed."""
    total: Count
    """All of them."""
    of: str
    """``runs``, ``requests`` or ``rounds``."""

    @property
    def mark(self) -> str:
        """Mark of the case, with the share that failed."""
        return f"{self.failed:,} of {self.total:,} {self.of} failed"


class ReportedTimes(Record, frozen=True, kw_only=True):
    """Distribution of times as an imported source reports it, without the individual values."""

    n: Count | None = None
    mean_ms: Milliseconds | None = None
    median_ms: Milliseconds | None = None
    std_ms: Milliseconds | None = None
    """Sample standard deviation (n - 1)."""
    p90_ms: Milliseconds | None = None
    p95_ms: Milliseconds | None = None
    p99_ms: Milliseconds | None = None


class Reported(Record, frozen=True, kw_only=True):
    """Metrics of an imported source without steps, used in place of computed ones."""

    steps: Count | None = None
    latency_mean_ms: Milliseconds | None = None
    latency_median_ms: Milliseconds | None = None
    latency_std_ms: Milliseconds | None = None
    """Sample standard deviation (n - 1)."""
    latency_p90_ms: Milliseconds | None = None
    latency_p95_ms: Milliseconds | None = None
    latency_p99_ms: Milliseconds | None = None
    samples_per_s: Amount | None = None
    tokens_per_s: Amount | None = None
    padded_tokens_per_s: Amount | None = None
    new_tokens_per_s: Amount | None = None
    first_token: ReportedTimes | None = None
    """Time to the first token of each request. This and the next two are null without timed requests."""
    per_token: ReportedTimes | None = None
    """Time per token after the first."""
    request: ReportedTimes | None = None
    """Time to the last token of each request."""
    mean_power_w: Amount | None = None
    energy_j: Amount | None = None
    """Energy over the source's window, which may differ from the measured steps."""
    gpu_utilization_percent: Amount | None = None
    """Mean GPU utilization, as the source sampled it."""
    compile_call_s: Amount | None = None
    """Time of the call to ``torch.compile``, which doesn't compile yet. It isn't the cost of compilation."""
    repeats_mean_ms: tuple[Milliseconds, ...] = ()
    """Mean step time of each repeat, if the source has several; the other metrics cover all of them."""

    @property
    def center_ms(self) -> float | None:
        """Mean step, or the median of a source that states no mean."""
        return self.latency_median_ms if self.latency_mean_ms is None else self.latency_mean_ms


class GpuReadings(Record, frozen=True, kw_only=True):
    """Columns of readings of one GPU, one entry per sample of the event; null if unreadable."""

    index: Count
    power_w: list[Amount | None] = []
    power_averaged: bool = False
    """Whether the driver averages ``power_w`` over a second; false also in sessions that didn't record it."""
    power_limit_w: Amount | None = None
    memory_used_mb: list[Amount | None] = []
    memory_total_mb: Amount | None = None
    utilization_percent: list[Amount | None] = []
    utilisation_percent: list[Amount | None] = []
    """The same in files of schema 2 and older; empty once it has been read."""
    temperature_c: list[Amount | None] = []
    graphics_clock_mhz: list[Amount | None] = msgspec.field(default_factory=list, name="sm_clock_mhz")
    memory_clock_mhz: list[Amount | None] = []
    performance_state: list[Count | None] = []
    """Number of the performance state, from 0 for the highest performance to 15."""
    throttle: list[str | None] = []
    """Reasons that limit the clock, joined by ``+``; empty if there are none."""
    energy_j: list[Amount | None] = []
    """Cumulative counter of the driver; only differences are meaningful."""
    compute_active_percent: list[Amount | None] = msgspec.field(default_factory=list, name="sm_active_percent")
    """Compute units (SMs) that had work since the previous reading, in percent of all. This and the following
    readings come from hardware counters; empty on a GPU without them."""
    occupancy_percent: list[Amount | None] = msgspec.field(default_factory=list, name="sm_occupancy_percent")
    """Active warps, in percent of the maximum of the compute units."""
    tensor_active_percent: list[Amount | None] = []
    """Percentage of time in which the tensor cores computed."""
    dram_active_percent: list[Amount | None] = []
    """Bandwidth of the GPU's memory in use, in percent of the theoretical maximum."""
    pcie_rx_mb_per_s: list[Amount | None] = []
    """Traffic over PCIe to the GPU (``rx``) and from it (``tx``), in 10**6 bytes per second."""
    pcie_tx_mb_per_s: list[Amount | None] = []
    link_rx_mb_per_s: list[Amount | None] = msgspec.field(default_factory=list, name="nvlink_rx_mb_per_s")
    """The same over all links to other GPUs (NVLink)."""
    link_tx_mb_per_s: list[Amount | None] = msgspec.field(default_factory=list, name="nvlink_tx_mb_per_s")
    absent: dict[str, str] = {}
    """Readings that this GPU doesn't provide, with the reason; ``activity`` covers all of ``GPU_ACTIVITY``."""

    def __post_init__(self) -> None:
        """Read the older spelling."""
        if self.utilisation_percent:
            msgspec.structs.force_setattr(self, "utilization_percent", self.utilisation_percent)
            msgspec.structs.force_setattr(self, "utilisation_percent", [])

    @property
    def reasons(self) -> dict[str, str]:
        """``absent``, by the names that the readings have here instead of those in the file."""
        return {FIELD_NAMES.get(name, name): reason for name, reason in self.absent.items()}


class HostReadings(Record, frozen=True, kw_only=True):
    """Columns of readings of the machine, the workers (summed) and the engine."""

    cpu_percent: list[Amount | None] = []
    """All CPUs together; 100 is one full CPU."""
    memory_used_mb: list[Amount | None] = []
    worker_cpu_percent: list[Amount | None] = []
    worker_rss_mb: list[Amount | None] = []
    engine_cpu_percent: list[Amount | None] = []
    """CPU use of the supervisor, including its samplers: the cost of measuring."""
    others_cpu_percent: list[Amount | None] = []
    """CPU use of all other processes, on the CPUs that workers may use; empty in older sessions."""
    package_energy_j: list[Amount | None] = []
    """Energy of all CPU packages since sampling started; empty if unreadable."""
    processor_mhz: list[Amount | None] = []
    """Mean clock of the CPUs that were busy since the previous sample; empty if unreadable."""
    dram_energy_j: list[Amount | None] = []
    """Energy of the memory modules since sampling started, if the CPU counts it separately."""
    instructions_per_cycle: list[Amount | None] = []
    """Instructions per CPU cycle of the workers in user mode, which only earlier versions counted."""
    memory_mb_per_s: list[Amount | None] = []
    """Traffic between all processors and their memory, in 10**6 bytes per second, as above."""


def is_hardware_throttle(reason: str) -> bool:
    """Return whether a reason for a lower clock is heat or the power supply, as the end of its name says.

    A power cap isn't one of them, because it is normal operation. Nor is ``hw_slowdown``: drivers of NVIDIA
    since 390 report heat and the power brake in addition to it, and by itself it also occurs at a peak of the
    power draw and at a change of clock or performance state (nvml.h).
    """
    return reason.endswith(("thermal", "power_brake"))


CLOCK_LIMITS = ("app_clocks", "sw_power_cap", "sync_boost", "display_clocks", "board_limit", "reliability")
"""Reasons that limit the clock as configured or designed: power cap, locked clocks, limits of the board."""
GPU_ACTIVITY = {
    "compute_active_percent": ("SM active", "%"),
    "occupancy_percent": ("SM occupancy", "%"),
    "tensor_active_percent": ("tensor cores active", "%"),
    "dram_active_percent": ("DRAM bandwidth", "%"),
    "pcie_rx_mb_per_s": ("PCIe received", "MB/s"),
    "pcie_tx_mb_per_s": ("PCIe sent", "MB/s"),
    "link_rx_mb_per_s": ("NVLink received", "MB/s"),
    "link_tx_mb_per_s": ("NVLink sent", "MB/s"),
}
"""Label and unit of the readings that come from a GPU's hardware counters."""
HOST_ACTIVITY = {
    "instructions_per_cycle": ("instructions per cycle", ""),
    "memory_mb_per_s": ("memory traffic", "MB/s"),
}
"""Label and unit of the readings from the CPUs' hardware counters, in sessions of earlier versions."""
FILE_NAMES = {
    field.name: field.encode_name
    for record in (Environment, GpuReadings)
    for field in msgspec.structs.fields(record)
}
"""Names of readings in session files and exports, by their names here."""
FIELD_NAMES = {written: name for name, written in FILE_NAMES.items()} | {
    "utilisation_percent": "utilization_percent"
}
"""Names of readings here, by their names in session files and exports."""
