"""Rows of the catalogue about resources: memory, energy, the machine, its counters and the compiler."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter

from benchtui.sessions.metrics.quantity import (
    NO_UNIT,
    CaseData,
    Figure,
    Quantity,
    Reading,
    amount,
    changed,
    ends,
    environment,
    figure,
    finished,
    in_percent,
    inverse,
    measured,
    of_case,
    result,
    words,
)
from benchtui.sessions.payloads import CLOCK_LIMITS, FIELD_NAMES, GPU_ACTIVITY, HOST_ACTIVITY
from benchtui.sessions.stats.disturbance import names_of
from benchtui.sessions.stats.noise import gpu_busy_share


def _energy_per_1000_tokens(data: CaseData) -> float | None:
    metrics = data.metrics
    if not metrics or not metrics.energy_per_sample_j or not metrics.tokens_per_s or not metrics.samples_per_s:
        return None
    return 1000 * metrics.energy_per_sample_j * metrics.samples_per_s / metrics.tokens_per_s


def _memory_per_sample(data: CaseData) -> float | None:
    memory_mb = data.case.device_memory_mb
    return memory_mb / data.case.config.batch_size if memory_mb else None


def _limits(data: CaseData) -> tuple[str, ...]:
    reasons = data.case.environment.throttle
    return tuple(reason.replace("_", " ") for reason in reasons if reason in CLOCK_LIMITS)


def _states(data: CaseData) -> tuple[str, ...]:
    return tuple(f"P{state}" for state in data.case.environment.performance_states)


def _peak(field: str, title: str, short: str, meaning: str) -> Quantity:
    return figure(field, title, meaning, finished(f"memory.{field}"), short)


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
    figure(
        "peak_memory_low_mb",
        "Peak memory, lowest round",
        "Lowest of the rounds' memory peaks: on the device, or resident on a CPU.",
        changed(result("memory_range_mb", "round_finished.memory"), itemgetter(0)),
        "Lowest round",
    ),
    _peak(
        "kv_cache_mb",
        "KV cache",
        "",
        "Size of the KV cache after a batch is generated; the full size of a static cache.",
    ),
    figure(
        "peak_memory_mb",
        "Peak memory",
        "Highest peak that was read: of the device, or of the worker for a case on the CPU.",
        of_case("case_finished.memory", "peak_memory_mb"),
        charted="peak memory",
        exported=False,
    ),
    figure(
        "device_memory_mb",
        "Device memory",
        "Peak memory of a GPU case; a CPU has no separate memory.",
        of_case("case_finished.memory", "device_memory_mb"),
        exported=False,
    ),
    figure(
        "memory_per_sample_mb",
        "Peak over batch",
        "Peak memory of the device per sample of the batch; most of the RSS of a CPU case is torch itself.",
        Reading("case_finished.memory", _memory_per_sample),
        exported=False,
    ),
    figure(
        "samples_per_gib",
        "Samples/s per GiB",
        "Samples per second per GiB of peak memory.",
        result("samples_per_gib", "case_finished.memory"),
        better="higher",
        exported=False,
        unit=NO_UNIT,
    ),
    figure(
        "tokens_per_gib",
        "Tokens/s per GiB",
        "Tokens per second per GiB of peak memory.",
        result("tokens_per_gib", "case_finished.memory"),
        better="higher",
        exported=False,
        unit=NO_UNIT,
    ),
)
ENERGY = (
    figure(
        "energy_j",
        "Energy over the window",
        "Energy of the device over the measured steps.",
        finished("energy.energy_j"),
        "Over the window",
    ),
    figure(
        "mean_power_w",
        "Mean power",
        "Mean power of the device.",
        measured("mean_power_w", "case_finished.energy.mean_power_w"),
    ),
    figure(
        "energy_per_sample_j",
        "Energy",
        "Energy per sample.",
        measured("energy_per_sample_j", "case_finished.energy.energy_j"),
        "J/sample",
        interval=("energy_per_sample_low_j", "energy_per_sample_high_j"),
        charted="energy per sample",
    ),
    *ends(
        "energy_per_sample_{}_j",
        "Energy",
        "Lower end of its 95% interval over the rounds, from 3 rounds on.",
        lambda end: measured(f"energy_per_sample_{end}_j", "round_finished.energy.energy_j"),
    ),
    figure(
        "dram_j",
        "Energy of memory modules",
        "Energy of the machine's memory modules over the measured steps.",
        finished("energy.dram_j"),
        "Memory modules",
        exported=False,
    ),
    words(
        "energy_source",
        "Read from",
        "Source of the energy: counter, sampled power or averaged power.",
        finished("energy.source"),
    ),
    words("energy_absent", "No energy because", "Reason why there is no energy.", finished("energy.absent")),
    figure(
        "samples_per_j",
        "Samples/J",
        "Samples per joule: the inverse of the energy per sample.",
        inverse(measured("energy_per_sample_j", "case_finished.energy.energy_j")),
        better="higher",
        exported=False,
        unit=NO_UNIT,
    ),
    figure(
        "energy_per_1000_tokens_j",
        "Energy",
        "Energy of 1,000 tokens without padding.",
        Reading("case_finished.energy.energy_j", _energy_per_1000_tokens),
        better="lower",
        exported=False,
        unit="J per 1,000 tokens",
    ),
)


def _condition(
    key: str, title: str, meaning: str, row: Callable[..., Quantity] = figure, *, exported: bool = True
) -> Quantity:
    return row(key, title, meaning, environment(key), exported=exported)


_process = partial(_condition, exported=False)


def _slowing(data: CaseData) -> tuple[str, ...] | None:
    reasons = data.case.environment.throttle
    return tuple(reason.replace("_", " ") for reason in reasons if reason not in CLOCK_LIMITS) or None


def _gpu_busy(data: CaseData) -> float | None:
    times = data.metrics and (data.metrics.device_ms or data.metrics.latency_ms)
    share = gpu_busy_share(data.case, times.median if times else None)
    return None if share is None else 100 * share


PROCESS = (
    figure(
        "worker_cpu_percent",
        "Worker CPU",
        "CPU time of the worker and the processes it started, relative to one full processor.",
        in_percent(environment("worker_cpu")),
        format="whole",
        exported=False,
    ),
    _process(
        "involuntary_switches",
        "Involuntary context switches",
        "Number of these switches of the worker.",
        amount,
    ),
    _process(
        "run_delay_s",
        "Waited for a processor",
        "Time for which the worker's threads were ready to run but waited for a processor, summed over them.",
    ),
    _process("affinity", "CPU affinity", "Numbers of the CPUs that the worker may use.", words),
    _process("numa_nodes", "NUMA nodes", "NUMA nodes of these CPUs.", words),
    _process("steal_percent", "Stolen CPU time", "CPU time that the hypervisor gave to others."),
    _process("load_average", "Load average", "Load average of the last minute."),
    _process("major_faults", "Page faults from disk", "Number of page faults that waited for a disk.", amount),
    _process("huge_page_mode", "Huge pages", "Mode of transparent huge pages.", words),
    _process("huge_pages_mb", "In huge pages", "Memory of the worker in transparent huge pages."),
    _process(
        "processor_throttled",
        "Processor throttled by heat",
        "Number of times that heat throttled a core or package.",
        amount,
    ),
    words(
        "throttled_by",
        "Throttled by",
        "Reasons for which the GPU's clock was throttled.",
        Reading("case_finished.environment.throttle", _slowing),
        tuple[str, ...],
        exported=False,
    ),
    _process("memory_clock_highest_mhz", "Highest memory clock", "Maximum clock of the GPU's memory."),
    _process("power_limit_w", "Power limit", "Power limit of the GPU."),
    _process("gpu_processes", "Other GPU processes", "Maximum number of other processes on the GPU.", amount),
    words(
        "neighbors",
        "Neighbors",
        "Other processes that used the processors or the GPU next to the case, the busiest first.",
        changed(environment("neighbors"), lambda neighbors: names_of(neighbors) or None),
        exported=False,
    ),
)
MACHINE = (
    _condition("user_ms", "User", "Mean CPU time of a step in user mode."),
    _condition("system_ms", "System", "Mean CPU time of a step in the kernel."),
    figure(
        "others_cpu_percent",
        "CPU use of other processes",
        "CPU use of other processes in the worst round; 100 is one processor.",
        of_case("case_finished.environment.others_cpu_percent", "others_cpu_percent"),
        format="whole",
    ),
    figure(
        "gpu_busy_percent",
        "GPU busy",
        "Share of the median step, by the GPU's clock, in which the GPU was busy.",
        Reading("case_finished.work.busy_ms", _gpu_busy),
    ),
    _condition("sm_clock_mhz", "SM clock", "Mean clock of the GPU's SMs."),
    _condition("sm_clock_least_mhz", "Lowest SM clock", "Lowest clock of the GPU's SMs.", exported=False),
    _condition("memory_clock_mhz", "Memory clock", "Mean clock of the GPU's memory."),
    _condition("processor_mhz", "Processor clock", "Mean clock of the busy processors."),
    words(
        "clock_limits",
        "Clock limited by",
        "What limits the clock of the GPU without throttling it.",
        Reading("case_finished.environment.throttle", _limits),
        tuple[str, ...],
        exported=False,
    ),
    words(
        "performance_states",
        "Performance state",
        "P-states of the GPU, from P0 for the highest performance.",
        Reading("case_finished.environment.performance_states", _states),
        tuple[str, ...],
        exported=False,
    ),
    _condition("temperature_c", "Highest temperature", "Highest temperature of the GPU."),
    amount(
        "minor_faults_per_step",
        "Page faults per step",
        "Mean number of page faults per step that the kernel served without reading a disk.",
        environment("minor_faults_per_step"),
        Figure,
        short="Faults per step",
        charted="page faults per step",
    ),
)


def _counter(field: str, meaning: str) -> Quantity:
    label, unit = (GPU_ACTIVITY | HOST_ACTIVITY)[FIELD_NAMES.get(field, field)]
    title = label[:1].upper() + label[1:]
    return figure(field, title, meaning, environment(field), unit=unit, format="significant")


COUNTERS = (
    _counter("sm_active_percent", "Mean share of SMs with work (GPM counter)."),
    _counter("sm_occupancy_percent", "Active warps relative to the maximum of the SMs (GPM counter)."),
    _counter("tensor_active_percent", "Share of time in which the tensor cores computed (GPM counter)."),
    _counter("dram_active_percent", "Bandwidth of the GPU's memory relative to its maximum (GPM counter)."),
    _counter("pcie_rx_mb_per_s", "Transfer rate to the GPU over PCIe."),
    _counter("pcie_tx_mb_per_s", "Transfer rate from the GPU over PCIe."),
    _counter("nvlink_rx_mb_per_s", "Transfer rate to the GPU over all NVLinks."),
    _counter("nvlink_tx_mb_per_s", "Transfer rate from the GPU over all NVLinks."),
    _counter("instructions_per_cycle", "Instructions per cycle of the worker; recorded by earlier versions."),
    _counter("memory_mb_per_s", "Transfer rate between processors and memory; recorded by earlier versions."),
)
IMPORTED = (
    figure(
        "reported_gpu_utilization_percent",
        "GPU utilization, as imported",
        "Mean GPU utilization as an imported file reports it.",
        finished("reported.gpu_utilization_percent"),
        format="significant",
    ),
    figure(
        "reported_compile_call_s",
        "Call of torch.compile, before it compiles",
        "Time of the call to torch.compile, which doesn't compile yet (imported cases only).",
        finished("reported.compile_call_s"),
    ),
)
COMPILER = tuple(
    amount(field, title, meaning, finished(f"compiling.{field}"))
    for field, title, meaning in (
        ("graphs", "Graphs", "Number of graphs that were compiled."),
        ("graph_breaks", "Graph breaks", "Number of graph breaks."),
        ("recompiles", "Recompiles", "Number of graphs compiled while measuring."),
        ("cuda_graphs", "CUDA graphs", "Number of CUDA graphs that were recorded."),
        ("cuda_graph_skips", "Skipped CUDA graphs", "Number of times that recording a CUDA graph was skipped."),
    )
)
