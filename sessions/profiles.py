"""Profile records: where the time and the memory of a case's step go, from a separate profiled run.

Units and rules for missing values are the same as in ``events``. All times, counts and amounts are means per
profiled step, unless a field says otherwise.
"""

import re
from typing import Annotated, Literal

import msgspec

from benchtui.sessions.payloads import Amount, Count, Milliseconds
from benchtui.sessions.sweep import Record

FamilyName = Literal[
    "matmul",
    "attention",
    "elementwise",
    "gather",
    "copy",
    "optimizer",
    "collective",
    "tokenizer",
    "input",
    "compile",
    "other",
    "python",
    "wait",
]
"""Families of work: matrix products and convolutions; attention; normalization, elementwise and fused code;
embedding and gather; copies and casts; the optimizer; collectives; the tokenizer; the DataLoader; torch's
compiler; other operators; Python and launch gaps, with no operator running; waiting, with the thread asleep."""


class FamilyTime(Record, frozen=True, kw_only=True):
    """Time of one family in a step. The times of all families sum to the profiled step."""

    family: FamilyName
    ms: Milliseconds
    """On a CPU, the time of the main thread in its operators; on a GPU, the time of its kernels and copies,
    with overlaps counted once. ``tokenizer``, ``python`` and ``wait`` are times without either."""
    launches: Amount = 0.0
    """Operators on a CPU, kernels and copies on a GPU."""


LONGEST_NAME = 40
"""Characters from which a kernel's name is shortened for people."""
_CPP_KERNEL = re.compile(r"(?:void )?(?:(?:\w+|\(anonymous namespace\))::)+(?:Kernel2?<)?(?P<name>\w+)")
"""A mangled kernel with its namespaces; ``cutlass::Kernel2<NAME>`` is called NAME."""


class KernelTime(Record, frozen=True, kw_only=True):
    """Time of one CPU operator, GPU kernel or GPU copy, with inputs of one shape."""

    name: str
    family: FamilyName
    count: Amount
    ms: Milliseconds
    """Time, excluding operators that it calls."""
    shape: str | None = None
    """Shapes and types of the inputs, such as ``32x128x768 float, 768x768 float``; null if not recorded."""
    operator: str | None = None
    """Operator that launched a kernel; null if unknown."""
    flops: Amount | None = None
    """Floating-point operations computed from the shapes; null if they can't be counted."""
    bytes: Amount | None = None
    """Bytes of the inputs plus one output as large as the largest input, for copies and elementwise operators;
    null if they can't be counted."""
    strided: bool = False
    """Whether it read an input with gaps between its elements, or inputs that differ in their order."""
    denormal_share: Amount | None = None
    """Largest share of denormal numbers in an input; null if it wasn't looked at."""

    @property
    def called(self) -> str:
        """Operator that ran, also of a kernel as far as it is known."""
        return self.operator or self.name

    @property
    def title(self) -> str:
        """Name for people: of a C++ kernel its operator, and its own name without arguments of templates."""
        match = _CPP_KERNEL.match(self.name)
        if match is None or len(self.name) <= LONGEST_NAME:
            return self.name
        return f"{self.operator}, {match['name']}" if self.operator else match["name"]


class GraphBreak(Record, frozen=True, kw_only=True):
    """Place where torch's compiler fell back to Python, with everything it reports about that."""

    reason: str
    where: str | None = None
    """File and line in the code of the model or the step."""
    count: Count = 1
    """Number of times, over the whole run."""


class Recompile(Record, frozen=True, kw_only=True):
    """A function that was compiled again, with the guard that failed."""

    guard: str
    where: str | None = None
    """Name of the function, with its file and line."""
    count: Count = 1
    """Number of times, over the whole run."""


class MemoryKinds(Record, frozen=True, kw_only=True):
    """Memory of tensors by kind at the peak of a step, in units of 10**6 bytes; null if it can't be counted."""

    weights_mb: Amount | None = None
    """Parameters and buffers of all modules."""
    gradients_mb: Amount | None = None
    optimizer_mb: Amount | None = None
    """State of all optimizers."""
    cache_mb: Amount | None = None
    """Keys and values at the end of a generated batch."""
    activations_mb: Amount | None = None
    """Peak memory of a step beyond what existed before it, minus gradients and cache."""
    workspace_mb: Amount | None = None
    """Reserved by the GPU's allocator and not in use at the peak; null on a CPU."""
    growth_mb: Amount | None = None
    """Memory that a step allocates and doesn't free, per step."""
    absent: dict[str, str] = {}
    """Kinds that couldn't be counted, by the field's name without its unit, with the reason."""


Activity = Literal[
    "python", "operator", "native", "sleep", "lock", "file", "pipe", "network", "events", "process", "wait"
]
"""What the main thread did at a place: Python code; an operator of torch, which may wait for its threads; other
code that runs without Python's lock, or an operator that no profiler told from it; or the system call that it
slept in: a sleep; a lock or condition; reading or writing a file, a pipe, a socket; waiting for events of any
of these; waiting for a child process; another or unknown one."""


END = "the end of the step"
"""Place of a thread that has returned from the step, such as one that frees its result."""


class Place(Record, frozen=True, kw_only=True):
    """Line of code at which the main thread was found, in steps that were sampled."""

    where: str
    """File and line: the innermost one outside of installed packages, if there is one."""
    code: str
    """Text of the line; empty if unknown."""
    within: str = ""
    """Innermost function, if it is another one: ``queue.py get``."""
    activity: Activity
    """What the main thread did there."""
    share: Amount
    """Share of the time."""


class ThreadUse(Record, frozen=True, kw_only=True):
    """CPU time of another Python thread of the process."""

    name: str
    """Name that the program gave it."""
    cpu_ms: Milliseconds
    """CPU time per step."""


class HostUse(Record, frozen=True, kw_only=True):
    """Counters of the kernel around the usual half of the plain steps; means per step, or as a field says."""

    step_ms: Milliseconds
    """Time of a step."""
    cpu_ms: Milliseconds
    """CPU time of the main thread."""
    delay_ms: Milliseconds | None = None
    """Time in which the main thread was ready to run but waited for a processor; median. Null if the kernel
    doesn't count it."""
    user_ms: Milliseconds
    """CPU time of the process in its own code, on all processors."""
    kernel_ms: Milliseconds
    """CPU time of the process in the kernel."""
    main_kernel_ms: Milliseconds = 0.0
    """CPU time of the main thread in the kernel."""
    page_faults: Amount
    """Page faults served without reading a disk."""
    huge_pages: Amount = 0.0
    """Huge pages that the kernel made for page faults of any process."""
    read_mb: Amount = 0.0
    """Bytes read from files, pipes and sockets, in units of 10**6."""
    written_mb: Amount = 0.0
    """Bytes written to files, pipes and sockets, in units of 10**6."""
    collecting_ms: Milliseconds = 0.0
    """Time in Python's garbage collector."""
    children_ms: Milliseconds = 0.0
    """CPU time of child processes."""
    others_ms: Milliseconds | None = None
    """CPU time of other processes on the processors of this one; null if unknown."""
    threads: tuple[ThreadUse, ...] = ()
    """Other Python threads that used a processor."""
    other_delays_ms: Milliseconds = 0.0
    """Time in which threads other than the main one waited for a processor."""


class StepProfile(Record, frozen=True, kw_only=True):
    """Profile of a case's step, recorded in a separate process after a warm-up."""

    steps: Annotated[int, msgspec.Meta(ge=1)]
    """Number of profiled steps behind the metrics: of those that ran, the half closest to plain steps."""
    step_ms: Milliseconds
    """Mean time of a profiled step; the sum of the families."""
    plain_steps: Count
    plain_ms: Milliseconds
    """Median time of steps in the same process without the profiler, alternating with the profiled ones."""
    families: tuple[FamilyTime, ...]
    """Families with any time, the longest first."""
    kernels: tuple[KernelTime, ...] = ()
    """The most expensive operators or kernels, the longest first."""
    parts_ms: dict[str, Milliseconds] = {}
    """Mean time of each part of a plain step."""
    launches: Amount
    """Operators on a CPU, kernels and copies on a GPU."""
    busy_ms: Milliseconds | None = None
    """Time in which the GPU was busy; null on a CPU."""
    idle_ms: dict[str, Milliseconds] = {}
    """Time in which the GPU was idle, by activity of the host: ``tokenizer``, ``python`` or ``wait``."""
    launching_ms: Milliseconds | None = None
    """Host time in calls that launch kernels and copies; null on a CPU."""
    threads: Count | None = None
    """Threads within one operator."""
    processors: Count | None = None
    """Logical CPUs that the process may use."""
    busy_cpus: Amount | None = None
    """CPU time of the process over the time of the plain steps; 2 is two full CPUs."""
    recomputed_ms: Milliseconds = 0.0
    """Time of the forward pass that is computed again within the backward pass: of operators on a CPU, of
    kernels on a GPU."""
    diagnostics: tuple[str, ...] = ()
    """Modes for debugging that were on in the steps, such as autograd's anomaly detection."""
    filled_ms: Milliseconds = 0.0
    """Time in which other threads ran operators for the sleeping main thread."""
    added_user_ms: Milliseconds | None = None
    """CPU time that profiling added to the main thread outside of the kernel; null in earlier profiles. What it
    adds in the kernel are page faults: its own memory changes what the allocator returns to the kernel."""
    host: HostUse | None = None
    """Null in profiles of earlier versions."""
    places: tuple[Place, ...] = ()
    """Where the main thread was found most often."""
    graph_breaks: tuple[GraphBreak, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    memory: MemoryKinds = MemoryKinds()
    versions: dict[str, str] = {}
    """Versions of the libraries that ran."""
    absent: dict[str, str] = {}
    """Metrics that couldn't be profiled, by the field's name, with the reason."""
