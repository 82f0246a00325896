"""Sweep model: axes, measurement rules, run options and case options."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from benchtui.sessions.sweep.options import AXES

Weights = Literal["pretrained", "random"]
Mode = Literal["latency", "throughput"]
Caches = Literal["cold", "shared"]
ExecutorKind = Literal["local", "ray"]
WhenLost = Literal["fail", "repeat"]

TASKS = ("classify", "lm-forward", "lm-train", "generate")
"""Built-in tasks, which need no user code."""
SAMPLE = "sample"
"""The bundled dataset."""
SYNTHETIC = "synthetic"
"""The generated dataset: random token ids, with no text behind them."""

GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Compile modes that replay CUDA graphs."""
UNKNOWN = "unknown"
"""Value of an option that an imported case's source doesn't state."""
ALL_GPUS = "cuda:*"
"""Every GPU available to the measured processes; the engine expands it at start."""
ALL_KINDS = "*"
"""Every kind of node in the cluster; the engine expands it at start."""

_OWN = re.compile(r"(.+\.py):([^\W\d]\w*)")

LARGEST = 10**9
"""Largest value of a numeric option; anything larger is rejected as a likely typo."""
MOST_CASES = 100_000
"""Largest number of cases in a sweep."""
MOST_ROUNDS = 100
MOST_RETRIES = 10
MOST_THREADS = 4096

Size = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
"""Integer of at least 1."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
"""Time in seconds."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base class of all data sent between processes or written to disk.

    Option records override ``omit_defaults``: a version with other defaults then reads the same values.
    """


class Config(Record, frozen=True, kw_only=True, omit_defaults=False, gc=False):
    """One cell of a sweep: the requested options of a case."""

    machine: str = ""
    """Cluster nodes that may run the case: a kind (``H100``), a label (``zone=a``), a resource, or one node's
    name. Empty for any node, and for this machine."""
    device: str
    """``cpu`` or ``cuda:N``."""
    precision: str = "fp32"
    batch_size: Size = 1
    """Samples per step."""
    sequence_length: Size = 128
    """Tokens per sample, after truncation and padding."""
    attention: str = "auto"
    """Attention implementation; ``auto`` lets transformers choose."""
    compile: str = "off"
    """``off`` or a mode of ``torch.compile``."""
    repeat: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    """1 for the second case of an A/A pair: the same case under another name."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=MOST_THREADS)] = 0
    """Torch threads within one operation; 0 lets torch choose."""
    padding: str = "max"
    """Whether a batch is padded to the sequence length (``max``) or to its ``longest`` sample."""
    label: str = ""
    """Name of an imported case in its tool's words, if that tool has other options than these.
    The options here then mean nothing, except for the device."""

    @property
    def name(self) -> str:
        """One-line name of the case, such as ``cuda:0 fp16 compile=off bs=32 seq=128``.

        Machine, attention, threads and padding appear only if they were chosen.
        """
        if self.label:
            return self.label if self.device == UNKNOWN else f"{self.device} {self.label}"
        again = " again" if self.repeat else ""
        return f"{self._choices} bs={self.batch_size} seq={self.sequence_length}{again}"

    @property
    def uses_cuda_graphs(self) -> bool:
        """Whether its compile mode replays CUDA graphs, whose tensors have their own memory."""
        return self.device != "cpu" and self.compile in GRAPH_MODES

    @property
    def family(self) -> str:
        """One-line name shared by cases that differ only in batch size."""
        return f"{self._choices} seq={self.sequence_length}"

    @property
    def _choices(self) -> str:
        machine = f"{self.machine} " if self.machine else ""
        attention = "" if self.attention == "auto" else f" attn={self.attention}"
        threads = f" threads={self.threads}" if self.threads else ""
        padding = "" if self.padding == "max" else f" pad={self.padding}"
        return f"{machine}{self.device} {self.precision} compile={self.compile}{attention}{threads}{padding}"


class Axes(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Expanded values of every axis; each combination is a case."""

    machine: tuple[str, ...] = ("",)
    device: tuple[str, ...] = ("cpu",)
    precision: tuple[str, ...] = ("fp32",)
    attention: tuple[str, ...] = ("auto",)
    compile: tuple[str, ...] = ("off",)
    threads: tuple[int, ...] = (0,)
    padding: tuple[str, ...] = ("max",)
    sequence_length: tuple[Size, ...] = (128,)
    batch_size: tuple[Size, ...] = (1,)
    batch_size_auto: bool = False
    """Whether each combination of the other axes searches for the largest batch size that fits, from 1."""

    @property
    def count(self) -> int:
        """Number of cases that the axes span; a batch size search counts as its first case."""
        total = 1
        for axis in AXES:
            total *= len(getattr(self, axis))
        return total


class Baseline(Record, frozen=True, kw_only=True):
    """Options that select the baseline case; an omitted option matches any value."""

    machine: str | None = None
    device: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    sequence_length: int | None = None
    attention: str | None = None
    compile: str | None = None
    threads: int | None = None
    padding: str | None = None

    def matches(self, config: Config) -> bool:
        """Return whether a case matches every option named here."""
        return all(getattr(self, field) in (None, getattr(config, field)) for field in self.__struct_fields__)

    @property
    def named(self) -> dict[str, str | int]:
        """Options named here, with their values."""
        values = ((field, getattr(self, field)) for field in self.__struct_fields__)
        return {field: value for field, value in values if value is not None}


class Exclusion(Baseline, frozen=True, kw_only=True):
    """Options that select cases to leave out of the plan; an omitted option matches any value."""


class Measure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Timing, warm-up and stop rules of a case."""

    warmup: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 5
    """Warm-up steps: recorded, never counted. With ``warmup_auto``, an estimate of their number."""
    warmup_auto: bool = False
    """Warm up until a sliding window of steps is stable, or a cap is reached."""
    iterations: Size = 20
    """Measured steps; with ``until_percent`` or ``until_auto``, the minimum number."""
    until_percent: Annotated[float, msgspec.Meta(gt=0, lt=100)] | None = None
    """Measure until the 95% interval of the median is this narrow, in percent of the median."""
    until_auto: bool = False
    """Measure until the spread is narrow enough for the device, or proves to be inherent."""
    max_time_s: Seconds | None = None
    """Time limit for measuring a case, in seconds."""
    timeout_s: Seconds = 600.0
    """Time limit after which a case is killed, in seconds, loading included."""
    mode: Mode = "latency"
    """Whether the device is synchronized around every step, or around blocks of steps."""
    rounds: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)] = 1
    """Number of times that all cases run, in alternating order."""
    aa: bool = False
    """Whether the baseline case runs twice; the difference between the two is the noise."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=MOST_RETRIES)] | None = None
    """Repeats of a disturbed case; null repeats throttled cases twice and others never."""
    caches: Caches = "cold"
    """Whether every case compiles into an empty cache, or all cases of the session share one."""
    peaks: bool = True
    """Whether to measure each device's peak performance, for comparison with the cases."""
    baseline: Baseline | None = None

    @property
    def planned_steps(self) -> int:
        """Measured steps of a case over all rounds, unless another rule ends or extends it."""
        return self.iterations * self.rounds


class Train(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Training options of the task ``lm-train``."""

    accumulation: Size = 1
    """Batches of gradient accumulation per optimizer step; all of them are one step."""
    learning_rate: Annotated[float, msgspec.Meta(gt=0, le=LARGEST)] = 5e-5
    activation_checkpointing: bool = False
    """Whether activations are recomputed in the backward pass instead of being stored."""


class Generate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Generation options of the task ``generate``."""

    new_tokens: Size = 32
    """Tokens added to each prompt; generation never ends early."""


class Run(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Execution options: where cases run, and whether in parallel."""

    parallel: bool = False
    """Whether cases on different GPUs run in parallel, one per device; a case on the CPU runs alone."""
    executor: ExecutorKind = "local"
    """Whether cases run on this machine or on the nodes of a Ray cluster, by default one per node at a time."""
    address: str = "auto"
    """Address of the Ray cluster: ``host:port``, ``ray://host:port``, or ``auto`` for the one running here."""
    place: str = ""
    """Nodes that may be used at all, in the syntax of the axis ``machine``; empty for every node."""
    lost: WhenLost = "fail"
    """Whether a case whose node was lost fails, or is repeated on another node."""
    repeat_on_each: bool = True
    """Whether nodes that share the cases each run the baseline case, to measure their differences."""


class Sweep(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Sweep: what to measure, where, and how."""

    name: str
    model: str
    """Hub id, local folder, or name of a bundled architecture."""
    weights: Weights = "pretrained"
    task: str = "classify"
    """One of ``TASKS``, or ``file.py:function`` for a user-defined step."""
    dataset: str = "sample"
    """``sample`` (bundled text), ``synthetic`` (random token ids), a hub id, or a local file or folder."""
    axes: Axes = Axes()
    measure: Measure = Measure()
    run: Run = Run()
    train: Train = Train()
    generate: Generate = Generate()
    env: dict[str, str] = {}
    """Environment variables of the measured processes."""
    exclude: tuple[Exclusion, ...] = ()
    """Cases to leave out of the plan."""

    @property
    def planned(self) -> int:
        """Maximum number of planned cases: excluded ones are counted."""
        return self.axes.count + self.measure.aa


@dataclass(frozen=True, slots=True)
class Case:
    """Planned case: its options and, if running it makes no sense, the reason to skip it."""

    index: int
    config: Config
    skip: str | None = None

    @property
    def name(self) -> str:
        """Readable name of the case's options."""
        return self.config.name


def custom_task(task: str) -> tuple[str, str] | None:
    """Return file and function of a user-defined step, or None for a built-in task."""
    match = _OWN.fullmatch(task)
    return (match[1], match[2]) if match else None
