"""The checks of a first run on a GPU: what each expects, where to look if it differs, and its time limit."""

from dataclasses import dataclass

PARTS = range(1, 7)
"""The most telling parts come first: time on a borrowed machine may end before the last one."""
PART_S = 540.0
"""Time limit of a part. A command on a borrowed machine may take ten minutes, its start included."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check, which runs in a process of its own."""

    name: str
    part: int
    limit_s: float
    function: str
    """``module:function`` in this folder, imported in the check's process only."""
    expected: str
    fix: str
    """Where to look if something else is found."""


CHECKS = (
    Check(
        "steps",
        1,
        110,
        "by_hand:steps",
        "a recorded step of about 40 ms, and the engine's loop in this process, take 0.98 to 1.02 times what a"
        " plain loop takes by CUDA events and by the host clock; the loop costs the host at most 2% of a step",
        "the timed loop (devices/cuda.py, worker/timed_loop.py), copies of a batch"
        " (workloads/transformer_task.py)",
    ),
    Check(
        "memory",
        1,
        150,
        "by_hand:memory",
        "in inference and training, recorded peaks are those of torch.cuda in a plain script (allocated within"
        " 2%, reserved within 10%), and the driver's memory of the process is within 5%",
        "peaks (devices/cuda.py), processes on the GPU (node/case_execution.py, telemetry/gpu/nvml.py)",
    ),
    Check(
        "nvidia-smi",
        1,
        90,
        "driver:nvidia_smi",
        "over a recorded case, power, memory and temperature are nvidia-smi's within 5%, clocks within 2%,"
        " every second's power within 15%; energy is the integral of its power within 5%; the reasons for a"
        " reduced clock are the same",
        "the readings (telemetry/gpu/nvml.py), energy (node/energy.py), the sampler (telemetry/sampler.py)",
    ),
    Check(
        "kernels",
        1,
        110,
        "by_hand:kernels",
        "benchtui explain lists the kernels that torch.profiler shows in a plain script's step: the same names"
        " and runs, each one's time within 10%, launches and busy time within 5%",
        "events of the profiler (worker/explain/recording.py, worker/explain/breakdown.py)",
    ),
    Check(
        "recovery",
        1,
        100,
        "recovery:recovery",
        "a case that doesn't fit ends as oom; the same case before and after it takes as long within 3% and has"
        " the same peaks within 2%; the GPU's memory is free again afterwards (within 50 MB)",
        "the end of a worker (node/worker_processes.py), texts of out-of-memory errors (devices/oom.py)",
    ),
    Check(
        "presets",
        2,
        240,
        "presets:quick_and_distilbert",
        "every GPU row of quick and distilbert-sst2 ends ok, with readings of clock, energy and processes",
        "least warm-up and measured times (worker/stop_rule.py), the sampler's period (telemetry/sampler.py)",
    ),
    Check(
        "gpt2-train",
        2,
        260,
        "presets:gpt2_train",
        "every row of gpt2-train ends ok, with readings of clock, energy and processes",
        "as for the other presets; a failed compile: models/compilation.py",
    ),
    Check(
        "demo",
        2,
        90,
        "presets:demo",
        "a sweep for `benchtui demo`, recorded on this GPU, ends complete and stays under 300 kB",
        "the sweep (tests/bench/on_gpu/presets.py)",
    ),
    Check(
        "reference-reports",
        3,
        290,
        "reference:reports",
        "reports of sessions recorded here have every section in which docs/reference-reports.md finds the"
        " contents of five published reports",
        "the section that is missing (sessions/report/sections)",
    ),
    Check(
        "tests",
        3,
        240,
        "presets:gpu_tests",
        "the tests of `make gpu` pass",
        "the test that fails; its output is in the figures",
    ),
    Check(
        "clock-and-power",
        4,
        150,
        "power:ramp",
        "steps of the first second take as long as later ones (within 3%, where the GPU sets the pace), and a"
        " power cap isn't marked as throttling",
        "warm-up by time on a GPU (worker/warmup.py), the marks (sessions/stats/disturbance.py)",
    ),
    Check(
        "peaks",
        4,
        70,
        "power:peaks",
        "the recorded peak is the sustained one (median of 10 s) within 5%; in bf16 an H100 and an H200 reach"
        " 790 TFLOP/s for 0.3 s; an H200 copies 4.3 and an H100 3.0 TB/s",
        "duration and statistic of the peak rates (worker/peak_rates.py)",
    ),
    Check(
        "energy",
        4,
        70,
        "power:energy",
        "from 2 s on, counter, instant and average power agree within 5%, and the counter moves at least 20"
        " times",
        "the least time for the counter and for averaged power (node/energy.py)",
    ),
    Check(
        "counters",
        4,
        40,
        "counters:activity",
        "on Hopper and newer the counters show tensor cores at work in large products (50%) and memory in"
        " copies (60%), and a sample takes at most 1% of its period",
        "the metrics' numbers and units (telemetry/gpu/gpm.py), the sampler's period (telemetry/sampler.py)",
    ),
    Check(
        "busy-time",
        4,
        100,
        "gpu_kernels:busy",
        "the GPU's busy time in a step is the same with and without plain steps first (within 3%), and the"
        " recorded one agrees (within 5%)",
        "plain steps before the profiled ones (worker/step_cost.py)",
    ),
    Check(
        "synchronization",
        4,
        110,
        "overlap:synchronization",
        "a throughput block of synthetic rows never waits for the GPU, and takes as long as a plain loop with"
        " pinned copies (within 2%)",
        "copies in a block (workloads/transformer_task.py), the mask of full rows"
        " (workloads/inputs/batches.py)",
    ),
    Check(
        "attention-kernels",
        5,
        180,
        "gpu_kernels:attention",
        "eager and compiled networks use the same attention kernel for the same rows, and attention=flash is"
        " applied, or fails with a reason",
        "the mask of full rows (workloads/inputs/batches.py), the names of kernels read back (models/)",
    ),
    Check(
        "cuda-graphs",
        5,
        250,
        "compiling:cuda_graphs",
        "reduce-overhead replays CUDA graphs in every task, slow measured steps are recorded as unsteady, and"
        " the cold cost is that of all warm-up steps beyond a steady one (within 10%)",
        "counters of CUDA graphs (models/compilation.py), the cold cost (sessions/stats/case_metrics.py)",
    ),
    Check(
        "backends",
        5,
        110,
        "backends:backends",
        "ONNX Runtime, its TensorRT provider and AOTInductor run on the GPU: answers within the limits of those"
        " of torch, most operations in the requested provider, device memory by the driver, and a step no"
        " shorter than the GPU was busy",
        "the session, its stream and its providers (models/backends/onnx_runtime.py), the package"
        " (models/backends/aot_inductor.py)",
    ),
    Check(
        "verdicts-host-bound",
        6,
        160,
        "verdicts:host_bound",
        "equal cases are never FASTER or SLOWER; a network of one layer more (5 to 8%) is never SAME or FASTER",
        "the noise between processes and the margins (sessions/stats/ratios.py, sessions/stats/noise.py)",
    ),
    Check(
        "verdicts-power-capped",
        6,
        170,
        "verdicts:power_capped",
        "the same where the power cap sets the pace",
        "the same, and the clocks beside the ratio",
    ),
    Check(
        "batch-size-search",
        6,
        210,
        "memory:search",
        "every size that the search refuses ends as oom, and tensors <= held by torch <= the driver's figure",
        "texts of out-of-memory errors (devices/oom.py), the search (supervisor/batch_size_search.py)",
    ),
)


def of_part(part: int) -> tuple[Check, ...]:
    """Return the checks of a part in run order."""
    return tuple(check for check in CHECKS if check.part == part)


def by_name(name: str) -> Check:
    """Return a check. Raises KeyError for an unknown name."""
    return {check.name: check for check in CHECKS}[name]
