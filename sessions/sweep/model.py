"""A sweep: its axes, its rules of measuring, and the ordered cases that follow from them."""

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
"""Tasks that need no code of the user's."""
SAMPLE = "sample"
"""The dataset that is bundled."""
SYNTHETIC = "synthetic"
"""The dataset that is drawn instead of read: token ids without a text behind them."""

GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Compile modes that replay CUDA graphs."""
UNKNOWN = "unknown"
"""Value of an option of an imported case that its source doesn't name."""
ALL_GPUS = "cuda:*"
"""Stands for every GPU that the measured processes may use. The engine expands it when it starts."""
ALL_KINDS = "*"
"""Stands for every kind of node in the cluster. The engine expands it when it starts."""

_OWN = re.compile(r"(.+\.py):([^\W\d]\w*)")

LARGEST = 10**9
"""Largest number an option may have. Larger values are rejected as a likely typo."""
MOST_CASES = 100_000
"""Largest number of cases in a sweep."""
MOST_ROUNDS = 100
MOST_RETRIES = 10
MOST_THREADS = 4096

Size = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
"""A whole number from 1 up."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
"""A time in seconds."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of everything that crosses a process or reaches the disk.

    Options are written out with their defaults, so that a file says the same to a version that has others.
    """


class Config(Record, frozen=True, kw_only=True, omit_defaults=False, gc=False):
    """One cell of a sweep: the options a case is asked to run with."""

    machine: str = ""
    """The nodes of a cluster on which it may run: their kind (``H100``), a label (``zone=a``), a resource, or
    one node's name; empty for any of them, and for this machine."""
    device: str
    """``cpu`` or ``cuda:N``."""
    precision: str = "fp32"
    batch_size: Size = 1
    """Samples a step."""
    sequence_length: Size = 128
    """Tokens a sample, after truncation and padding."""
    attention: str = "auto"
    """Attention implementation; ``auto`` leaves the choice to transformers."""
    compile: str = "off"
    """``off`` or a mode of ``torch.compile``."""
    repeat: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    """1 for the second case of an A/A pair: the same case again, under a name of its own."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=MOST_THREADS)] = 0
    """Threads of torch inside one operation; 0 leaves the choice to torch."""
    padding: str = "max"
    """Whether a batch is padded to the sequence length (``max``) or to its ``longest`` sample."""
    label: str = ""
    """An imported case in its tool's own words, where that tool has other options than these, which then say
    nothing but for the device."""

    @property
    def name(self) -> str:
        """The case in one readable line, such as ``cuda:0 fp16 compile=off bs=32 seq=128``.

        Machine, attention, threads and padding are named only where they were chosen.
        """
        if self.label:
            return self.label if self.device == UNKNOWN else f"{self.device} {self.label}"
        again = " again" if self.repeat else ""
        return f"{self._choices} bs={self.batch_size} seq={self.sequence_length}{again}"

    @property
    def uses_cuda_graphs(self) -> bool:
        """Whether its compile mode replays CUDA graphs, whose tensors live in memory of their own."""
        return self.device != "cpu" and self.compile in GRAPH_MODES

    @property
    def family(self) -> str:
        """What the case has in common with those of other batch sizes, in one readable line."""
        return f"{self._choices} seq={self.sequence_length}"

    @property
    def _choices(self) -> str:
        machine = f"{self.machine} " if self.machine else ""
        attention = "" if self.attention == "auto" else f" attn={self.attention}"
        threads = f" threads={self.threads}" if self.threads else ""
        padding = "" if self.padding == "max" else f" pad={self.padding}"
        return f"{machine}{self.device} {self.precision} compile={self.compile}{attention}{threads}{padding}"


class Axes(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The values of every axis, expanded; each combination is a case."""

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
    """Whether each combination of the other axes begins at batch size 1 and looks for the largest that fits."""

    @property
    def count(self) -> int:
        """How many cases the axes span; a search for the batch size counts as the case it begins with."""
        total = 1
        for axis in AXES:
            total *= len(getattr(self, axis))
        return total


class Baseline(Record, frozen=True, kw_only=True):
    """Options that mark the case others are compared with; an option left out matches any value."""

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
        """Whether a case's options agree with every option named here."""
        return all(getattr(self, field) in (None, getattr(config, field)) for field in self.__struct_fields__)

    @property
    def named(self) -> dict[str, str | int]:
        """The options named here, with their values."""
        values = ((field, getattr(self, field)) for field in self.__struct_fields__)
        return {field: value for field, value in values if value is not None}


class Exclusion(Baseline, frozen=True, kw_only=True):
    """Options that mark the cases which are left out of the plan; an option left out matches any value."""


class Measure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a case is timed and when it stops."""

    warmup: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 5
    """Steps run, recorded and not counted, before measuring; with ``warmup_auto`` a guess of their number."""
    warmup_auto: bool = False
    """Warm up until a sliding window of steps is stable, or a cap is reached."""
    iterations: Size = 20
    """Measured steps; with ``until_percent`` or ``until_auto`` the least number of them."""
    until_percent: Annotated[float, msgspec.Meta(gt=0, lt=100)] | None = None
    """Measure on until the 95% interval of the median is this narrow, in percent of the median."""
    until_auto: bool = False
    """Measure on until the spread is narrow enough for the device, or turns out to be what it is."""
    max_time_s: Seconds | None = None
    """Stop measuring a case after this long, in seconds."""
    timeout_s: Seconds = 600.0
    """Kill a case, loading included, after this long, in seconds."""
    mode: Mode = "latency"
    """Whether the device is synchronised around every step, or around blocks of steps."""
    rounds: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)] = 1
    """How often all cases are run, in alternating order."""
    aa: bool = False
    """Whether the baseline case is run a second time, so that the difference of the two tells the noise."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=MOST_RETRIES)] | None = None
    """How often a disturbed case is repeated; null repeats throttled ones twice and others never."""
    caches: Caches = "cold"
    """Whether every case compiles into an empty cache, or all cases of the session share one."""
    peaks: bool = True
    """Whether to measure the most that each device does, which cases are held against."""
    baseline: Baseline | None = None

    @property
    def planned_steps(self) -> int:
        """Measured steps of a case over all rounds, where no other rule ends or prolongs it."""
        return self.iterations * self.rounds


class Train(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a training step is, for the task ``lm-train``."""

    accumulation: Size = 1
    """Batches whose gradients are added up before the optimizer steps: a step is that many batches."""
    learning_rate: Annotated[float, msgspec.Meta(gt=0, le=LARGEST)] = 5e-5
    activation_checkpointing: bool = False
    """Whether activations are computed again in the backward pass instead of being kept."""


class Generate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What is generated, for the task ``generate``."""

    new_tokens: Size = 32
    """Tokens added to each prompt; nothing ends a generation early."""


class Run(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where cases run, and how they follow each other."""

    parallel: bool = False
    """Whether cases on different GPUs run side by side, one a device; one on the processor runs alone."""
    executor: ExecutorKind = "local"
    """Whether cases run on this machine or on the nodes of a Ray cluster, by default one a node at a time."""
    address: str = "auto"
    """Of the Ray cluster: ``host:port``, ``ray://host:port``, or ``auto`` for the one running here."""
    place: str = ""
    """Which nodes may be used at all, in the words of the axis ``machine``; empty for every node."""
    lost: WhenLost = "fail"
    """Whether a case whose node was lost fails, or is repeated on another one."""
    repeat_on_each: bool = True
    """Whether nodes that share the cases each run the baseline case, so that their differences are known."""


class Sweep(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What to measure, on what, and how."""

    name: str
    model: str
    """Hub id, local folder, or the name of a bundled architecture."""
    weights: Weights = "pretrained"
    task: str = "classify"
    """One of ``TASKS``, or ``file.py:function`` for a step of the user's own."""
    dataset: str = "sample"
    """``sample`` (bundled text), ``synthetic`` (drawn token ids), a hub id, or a local file or folder."""
    axes: Axes = Axes()
    measure: Measure = Measure()
    run: Run = Run()
    train: Train = Train()
    generate: Generate = Generate()
    env: dict[str, str] = {}
    """Environment variables of the measured processes."""
    exclude: tuple[Exclusion, ...] = ()
    """Cases that are left out of the plan."""

    @property
    def planned(self) -> int:
        """How many cases the plan has at most: those left out are counted."""
        return self.axes.count + self.measure.aa


@dataclass(frozen=True, slots=True)
class Case:
    """One planned case: its options, or the reason it makes no sense to run them."""

    index: int
    config: Config
    skip: str | None = None

    @property
    def name(self) -> str:
        """The readable name of the case's options."""
        return self.config.name


def custom_task(task: str) -> tuple[str, str] | None:
    """File and function of a step of the user's own, or None for a task of ours."""
    match = _OWN.fullmatch(task)
    return (match[1], match[2]) if match else None
