"""The checks of a first run on a GPU: what each expects, where to look if it differs, and its time limit."""

from dataclasses import dataclass

PART_S = 540.0
"""Time limit of a part. A command on a borrowed machine may take ten minutes, its start included."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check, which runs in a process of its own."""

    number: int
    """Number in the list of first checks; a number with several questions has several checks."""
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
        1,
        "presets",
        1,
        250,
        "presets:quick_and_distilbert",
        "every GPU row of quick and distilbert-sst2 ends ok, with readings of clock, energy and processes",
        "least warm-up and measured times (worker/stop_rule.py), the sampler's period (telemetry/sampler.py)",
    ),
    Check(
        4,
        "synchronization",
        1,
        110,
        "overlap:synchronization",
        "a throughput block of synthetic rows never waits for the GPU, and takes as long as a plain loop with"
        " pinned copies (within 2%)",
        "copies in a block (workloads/transformer_task.py), the mask of full rows (inputs/batches.py)",
    ),
    Check(
        1,
        "tests",
        1,
        240,
        "presets:gpu_tests",
        "the tests of `make gpu` pass",
        "the test that fails; its output is in the figures",
    ),
    Check(
        2,
        "clock-and-power",
        2,
        150,
        "power:ramp",
        "steps of the first second take as long as later ones (within 3%), and a power cap isn't marked as"
        " throttling",
        "warm-up by time on a GPU (worker/warmup.py), the marks (sessions/stats/disturbance.py)",
    ),
    Check(
        8,
        "peaks",
        2,
        70,
        "power:peaks",
        "the recorded peak is the sustained one (median of 10 s) within 5%; in bf16 an H100 and an H200 reach"
        " 790 TFLOP/s; an H200 copies 4.3 and an H100 3.0 TB/s",
        "duration and statistic of the peak rates (worker/peak_rates.py)",
    ),
    Check(
        9,
        "energy",
        2,
        70,
        "power:energy",
        "from 2 s on, counter, instant and average power agree within 5%, and the counter moves at least 20"
        " times",
        "the least time for the counter and for averaged power (node/energy.py)",
    ),
    Check(
        1,
        "gpt2-train",
        2,
        260,
        "presets:gpt2_train",
        "every row of gpt2-train ends ok, with readings of clock, energy and processes",
        "as for the other presets; a failed compile: models/compilation.py",
    ),
    Check(
        5,
        "attention-kernels",
        3,
        180,
        "gpu_kernels:attention",
        "eager and compiled networks use the same attention kernel for the same rows, and attention=flash is"
        " applied, or fails with a reason",
        "the mask of full rows (workloads/inputs/batches.py), the names of kernels read back (models/)",
    ),
    Check(
        6,
        "cuda-graphs",
        3,
        250,
        "compiling:cuda_graphs",
        "reduce-overhead replays CUDA graphs in every task, slow measured steps are recorded as unsteady, and"
        " the cold cost is that of all warm-up steps beyond a steady one (within 10%)",
        "counters of CUDA graphs (models/compilation.py), the cold cost (sessions/stats/case_metrics.py)",
    ),
    Check(
        11,
        "counters",
        3,
        40,
        "counters:activity",
        "on Hopper and newer the counters show tensor cores at work in large products (50%) and memory in"
        " copies (60%), and a sample takes at most 1% of its period",
        "the metrics' numbers and units (telemetry/gpu/gpm.py), the sampler's period (telemetry/sampler.py)",
    ),
    Check(
        7,
        "busy-time",
        3,
        100,
        "gpu_kernels:busy",
        "the GPU's busy time in a step is the same with and without plain steps first (within 3%), and the"
        " recorded one agrees (within 5%)",
        "plain steps before the profiled ones (worker/step_cost.py)",
    ),
    Check(
        3,
        "verdicts-host-bound",
        4,
        160,
        "verdicts:host_bound",
        "equal cases are never FASTER or SLOWER; a network of one layer more (8%) is SLOWER, never SAME or"
        " FASTER",
        "the noise between processes and the margins (sessions/stats/ratios.py, noise.py)",
    ),
    Check(
        3,
        "verdicts-power-capped",
        4,
        170,
        "verdicts:power_capped",
        "the same where the power cap sets the pace",
        "the same, and the clocks beside the ratio",
    ),
    Check(
        10,
        "batch-size-search",
        4,
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
