"""Rows of the catalogue about resources: memory, energy, the machine, its counters and the compiler."""

from benchtui.sessions.metrics.quantity import NO_UNIT, CaseData, Quantity, amount, words
from benchtui.sessions.metrics.readings import (
    compiling,
    computed,
    energy,
    environment,
    in_percent,
    inverse,
    measured,
    memory,
    of_case,
    reported,
    result,
)
from benchtui.sessions.payloads import CLOCK_LIMITS, FIELD_NAMES, GPU_ACTIVITY, HOST_ACTIVITY


def _lowest_peak(data: CaseData) -> float | None:
    peaks = data.result.memory_range_mb if data.result else None
    return peaks[0] if peaks else None


def _energy_per_1000_tokens(data: CaseData) -> float | None:
    known = data.metrics
    if not known or not known.energy_per_sample_j or not known.tokens_per_s or not known.samples_per_s:
        return None
    return 1000 * known.energy_per_sample_j * known.samples_per_s / known.tokens_per_s


def _memory_per_sample(data: CaseData) -> float | None:
    memory_mb = data.case.device_memory_mb
    return memory_mb / data.case.config.batch_size if memory_mb else None


def _limits(data: CaseData) -> tuple[str, ...]:
    around = data.case.finished.environment if data.case.finished else None
    reasons = around.throttle if around else ()
    return tuple(reason.replace("_", " ") for reason in reasons if reason in CLOCK_LIMITS)


def _states(data: CaseData) -> tuple[str, ...]:
    around = data.case.finished.environment if data.case.finished else None
    return tuple(f"P{state}" for state in around.performance_states) if around else ()


def _peak(field: str, title: str, short: str, meaning: str) -> Quantity:
    return Quantity(field, title, "MB", meaning, memory(field), short=short, format="memory", better="lower")


MEMORY = (
    _peak(
        "peak_allocated_mb",
        "GPU memory, peak allocated",
        "Allocated",
        "Peak of the memory of tensors in the framework's allocator.",
    ),
    _peak(
        "peak_reserved_mb",
        "GPU memory, peak reserved",
        "Reserved",
        "Peak of the memory that this allocator reserved, including its cache.",
    ),
    _peak(
        "peak_device_mb",
        "GPU memory, peak used on the device",
        "On the device",
        "Peak of the process's memory on the device, as the driver reports it.",
    ),
    _peak("peak_rss_mb", "CPU memory, peak RSS", "Peak RSS", "Peak of the worker's resident memory."),
    Quantity(
        "peak_memory_low_mb",
        "Peak memory, lowest round",
        "MB",
        "Lowest of the rounds' memory peaks: on the device, or resident on a CPU.",
        computed("round_finished.memory", _lowest_peak),
        short="Lowest round",
        format="memory",
        better="lower",
    ),
    _peak(
        "kv_cache_mb",
        "KV cache",
        "",
        "Size of the KV cache after a batch is generated; the full size of a static cache.",
    ),
    Quantity(
        "peak_memory_mb",
        "Peak memory",
        "MB",
        "Highest peak that was read: of the device, or of the worker for a case on the CPU.",
        of_case("case_finished.memory", "peak_memory_mb"),
        short="Peak",
        format="memory",
        better="lower",
        charted="peak memory",
        exported=False,
    ),
    Quantity(
        "device_memory_mb",
        "Device memory",
        "MB",
        "Peak memory of a GPU case; a CPU has no separate memory.",
        of_case("case_finished.memory", "device_memory_mb"),
        format="memory",
        better="lower",
        exported=False,
    ),
    Quantity(
        "memory_per_sample_mb",
        "Peak over batch",
        "MB/sample",
        "Peak memory of the device per sample of the batch; most of the RSS of a CPU case is torch itself.",
        computed("case_finished.memory", _memory_per_sample),
        better="lower",
        exported=False,
    ),
    Quantity(
        "samples_per_mb",
        "Samples/s per MB",
        NO_UNIT,
        "Samples per second per MB of peak memory.",
        result("samples_per_mb", "case_finished.memory"),
        better="higher",
        exported=False,
    ),
    Quantity(
        "tokens_per_mb",
        "Tokens/s per MB",
        NO_UNIT,
        "Tokens per second per MB of peak memory.",
        result("tokens_per_mb", "case_finished.memory"),
        better="higher",
        exported=False,
    ),
)
ENERGY = (
    Quantity(
        "energy_j",
        "Energy over the window",
        "J",
        "Energy of the device over the measured steps.",
        energy("energy_j"),
        short="Over the window",
    ),
    Quantity(
        "mean_power_w",
        "Mean power",
        "W",
        "Mean power of the device.",
        measured("mean_power_w", "case_finished.energy.mean_power_w"),
        short="Power",
    ),
    Quantity(
        "energy_per_sample_j",
        "Energy",
        "J/sample",
        "Energy per sample.",
        measured("energy_per_sample_j", "case_finished.energy.energy_j"),
        short="J/sample",
        better="lower",
        interval=("energy_per_sample_low_j", "energy_per_sample_high_j"),
        charted="energy per sample",
    ),
    Quantity(
        "energy_per_sample_low_j",
        "Energy, lower end of the 95% interval",
        "J/sample",
        "Lower end of its 95% interval over the rounds, from 3 rounds on.",
        measured("energy_per_sample_low_j", "round_finished.energy.energy_j"),
    ),
    Quantity(
        "energy_per_sample_high_j",
        "Energy, upper end of the 95% interval",
        "J/sample",
        "Upper end of that interval.",
        measured("energy_per_sample_high_j", "round_finished.energy.energy_j"),
    ),
    words(
        "energy_source",
        "Read from",
        "Source of the energy: counter, sampled power or averaged power.",
        energy("source"),
    ),
    words("energy_absent", "No energy because", "Reason why there is no energy.", energy("absent")),
    Quantity(
        "samples_per_j",
        "Samples/J",
        NO_UNIT,
        "Samples per joule: the inverse of the energy per sample.",
        inverse(measured("energy_per_sample_j", "case_finished.energy.energy_j")),
        better="higher",
        exported=False,
    ),
    Quantity(
        "energy_per_1000_tokens_j",
        "Energy",
        "J per 1,000 tokens",
        "Energy of 1,000 tokens without padding.",
        computed("case_finished.energy.energy_j", _energy_per_1000_tokens),
        better="lower",
        exported=False,
    ),
)


def _condition(field: str, title: str, unit: str, meaning: str, *, exported: bool = True) -> Quantity:
    return Quantity(field, title, unit, meaning, environment(field), format="whole", exported=exported)


def _slowing(data: CaseData) -> tuple[str, ...] | None:
    reasons = (
        data.case.finished.environment.throttle if data.case.finished and data.case.finished.environment else ()
    )
    return tuple(reason.replace("_", " ") for reason in reasons if reason not in CLOCK_LIMITS) or None


PROCESS = (
    Quantity(
        "worker_cpu_percent",
        "Worker CPU",
        "%",
        "CPU time of the worker and the processes it started, relative to one full processor.",
        in_percent(environment("worker_cpu")),
        format="whole",
        exported=False,
    ),
    amount(
        "involuntary_switches",
        "Involuntary context switches",
        "Number of involuntary context switches of the worker.",
        environment("involuntary_switches"),
        exported=False,
    ),
    words(
        "affinity",
        "CPU affinity",
        "Numbers of the CPUs that the worker may use.",
        environment("affinity"),
        exported=False,
    ),
    words("numa_nodes", "NUMA nodes", "NUMA nodes of these CPUs.", environment("numa_nodes"), exported=False),
    _condition(
        "steal_percent",
        "Stolen CPU time",
        "%",
        "Time for which the hypervisor ran something else; 100 is one processor.",
        exported=False,
    ),
    Quantity(
        "load_average",
        "Load average",
        NO_UNIT,
        "Load average of the last minute, at the end of measuring.",
        environment("load_average"),
        exported=False,
    ),
    amount(
        "major_faults",
        "Page faults that waited for a disk",
        "Number of page faults while measuring that waited for a disk.",
        environment("major_faults"),
        exported=False,
    ),
    words(
        "huge_page_mode",
        "Huge pages",
        "Mode of transparent huge pages.",
        environment("huge_page_mode"),
        exported=False,
    ),
    Quantity(
        "huge_pages_mb",
        "In huge pages",
        "MB",
        "Memory of the worker in transparent huge pages.",
        environment("huge_pages_mb"),
        format="memory",
        exported=False,
    ),
    amount(
        "processor_throttled",
        "Processor throttled by heat",
        "Number of times that heat throttled a core or package.",
        environment("processor_throttled"),
        exported=False,
    ),
    words(
        "throttled_by",
        "Throttled by",
        "Reasons for which the GPU's clock was throttled.",
        computed("case_finished.environment.throttle", _slowing),
        tuple[str, ...],
        exported=False,
    ),
    _condition(
        "memory_clock_highest_mhz",
        "Highest memory clock",
        "MHz",
        "Maximum clock of the GPU's memory.",
        exported=False,
    ),
    _condition("power_limit_w", "Power limit", "W", "Power limit of the GPU.", exported=False),
    amount(
        "gpu_processes",
        "Other GPU processes",
        "Maximum number of other processes on the GPU at any time.",
        environment("gpu_processes"),
        exported=False,
    ),
)
MACHINE = (
    Quantity(
        "user_ms",
        "User",
        "ms",
        "Mean CPU time of a step in user mode.",
        environment("user_ms"),
        better="lower",
    ),
    Quantity(
        "system_ms",
        "System",
        "ms",
        "Mean CPU time of a step in the kernel.",
        environment("system_ms"),
        better="lower",
    ),
    Quantity(
        "others_cpu_percent",
        "CPU use of other processes",
        "%",
        "CPU use of other processes in the worst round; 100 is one processor.",
        of_case("case_finished.environment.others_cpu_percent", "others_cpu_percent"),
        format="whole",
    ),
    _condition("sm_clock_mhz", "SM clock", "MHz", "Mean clock of the GPU's SMs."),
    _condition(
        "sm_clock_least_mhz", "Lowest SM clock", "MHz", "Lowest clock of the GPU's SMs.", exported=False
    ),
    _condition("memory_clock_mhz", "Memory clock", "MHz", "Mean clock of the GPU's memory."),
    _condition("processor_mhz", "Processor clock", "MHz", "Mean clock of the busy processors."),
    words(
        "clock_limits",
        "Clock limited by",
        "What limits the clock of the GPU without throttling it.",
        computed("case_finished.environment.throttle", _limits),
        tuple[str, ...],
        exported=False,
    ),
    words(
        "performance_states",
        "Performance state",
        "P-states of the GPU, from P0 for the highest performance.",
        computed("case_finished.environment.performance_states", _states),
        tuple[str, ...],
        exported=False,
    ),
    _condition("temperature_c", "Highest temperature", "°C", "Highest temperature of the GPU."),
    Quantity(
        "minor_faults_per_step",
        "Page faults per step",
        NO_UNIT,
        "Mean number of page faults per step that the kernel served without reading a disk.",
        environment("minor_faults_per_step"),
        format="whole",
        charted="page faults per step",
        better="lower",
    ),
)


def _counter(field: str, meaning: str) -> Quantity:
    label, unit = (GPU_ACTIVITY | HOST_ACTIVITY)[FIELD_NAMES.get(field, field)]
    return Quantity(field, label[:1].upper() + label[1:], unit, meaning, environment(field))


COUNTERS = (
    _counter("sm_active_percent", "Mean share of SMs with work (GPM counter)."),
    _counter("sm_occupancy_percent", "Active warps relative to the maximum of the SMs (GPM counter)."),
    _counter("tensor_active_percent", "Share of time in which the tensor cores computed (GPM counter)."),
    _counter("dram_active_percent", "Bandwidth of the GPU's memory relative to its maximum (GPM counter)."),
    _counter("pcie_rx_mb_per_s", "Transfer rate to the GPU over PCIe."),
    _counter("pcie_tx_mb_per_s", "Transfer rate from the GPU over PCIe."),
    _counter("nvlink_rx_mb_per_s", "Transfer rate to the GPU over all NVLinks."),
    _counter("nvlink_tx_mb_per_s", "Transfer rate from the GPU over all NVLinks."),
    _counter("instructions_per_cycle", "Instructions per cycle of the worker in user mode (perf counters)."),
    _counter("memory_mb_per_s", "Transfer rate between all processors and their memory (perf counters)."),
)
IMPORTED = (
    Quantity(
        "reported_gpu_utilization_percent",
        "GPU utilization, as imported",
        "%",
        "Mean GPU utilization as an imported file reports it.",
        reported("gpu_utilization_percent"),
    ),
    Quantity(
        "reported_compile_call_s",
        "Call of torch.compile, before it compiles",
        "s",
        "Time of the call to torch.compile, which doesn't compile yet (imported cases only).",
        reported("compile_call_s"),
    ),
)
COMPILER = tuple(
    amount(field, title, meaning, compiling(field))
    for field, title, meaning in (
        ("graphs", "Graphs", "Number of graphs that were compiled."),
        ("graph_breaks", "Graph breaks", "Number of graph breaks."),
        ("recompiles", "Recompiles", "Number of graphs compiled while measuring."),
        ("cuda_graphs", "CUDA graphs", "Number of CUDA graphs that were recorded."),
        (
            "cuda_graph_skips",
            "Skipped CUDA graphs",
            "Number of times that recording a CUDA graph was skipped.",
        ),
    )
)
