"""A sweep: its axes, its rules of measuring, and the ordered cases that follow from them."""

import itertools
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

Weights = Literal["pretrained", "random"]

TASKS = ("classify",)
"""Tasks this version measures."""
LATER_TASKS = ("lm-forward", "lm-train", "generate")
"""Tasks whose names are fixed, and that this version refuses with a word instead of guessing."""

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16")
ATTENTIONS = ("auto", "eager", "sdpa", "flash")
COMPILE_MODES = ("off", "default", "reduce-overhead", "max-autotune")

LARGEST = 10**9
"""Largest number an option may have; more is taken for a slip of the keyboard."""
MOST_CASES = 100_000
"""Cases a sweep may have."""

Size = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
"""A whole number from 1 up."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
"""A time in seconds."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of everything that crosses a process or reaches the disk.

    Options are written out with their defaults, so that a file says the same to a version that has others.
    """


class Config(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One cell of a sweep: the options a case is asked to run with."""

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

    @property
    def name(self) -> str:
        """The case in one readable line, such as ``cuda:0 fp16 compile=off bs=32 seq=128``."""
        attention = "" if self.attention == "auto" else f" attn={self.attention}"
        return (
            f"{self.device} {self.precision} compile={self.compile}{attention}"
            f" bs={self.batch_size} seq={self.sequence_length}"
        )


class Axes(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The values of every axis, expanded; each combination is a case."""

    device: tuple[str, ...] = ("cpu",)
    precision: tuple[str, ...] = ("fp32",)
    attention: tuple[str, ...] = ("auto",)
    compile: tuple[str, ...] = ("off",)
    sequence_length: tuple[Size, ...] = (128,)
    batch_size: tuple[Size, ...] = (1,)

    @property
    def count(self) -> int:
        """How many cases the axes span."""
        total = 1
        for field in self.__struct_fields__:
            total *= len(getattr(self, field))
        return total


class Baseline(Record, frozen=True, kw_only=True):
    """Options that mark the case others are compared with; an option left out matches any value."""

    device: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    sequence_length: int | None = None
    attention: str | None = None
    compile: str | None = None

    def matches(self, config: Config) -> bool:
        """Whether a case's options agree with every option named here."""
        return all(getattr(self, field) in (None, getattr(config, field)) for field in self.__struct_fields__)


class Measure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a case is timed and when it stops."""

    warmup: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 5
    """Steps run, recorded and not counted, before measuring."""
    iterations: Size = 20
    """Measured steps; with ``until_percent`` the least number of them."""
    until_percent: Annotated[float, msgspec.Meta(gt=0, lt=100)] | None = None
    """Measure on until the 95% interval of the median is this narrow, in percent of the median."""
    max_time_s: Seconds | None = None
    """Stop measuring a case after this long, in seconds."""
    timeout_s: Seconds = 600.0
    """Kill a case, loading included, after this long, in seconds."""
    baseline: Baseline | None = None


class Sweep(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What to measure, on what, and how."""

    name: str
    model: str
    """Hub id, local folder, or the name of a bundled architecture."""
    weights: Weights = "pretrained"
    task: str = "classify"
    dataset: str = "sample"
    """``sample`` (bundled text), a hub id, or a local file or folder."""
    axes: Axes = Axes()
    measure: Measure = Measure()


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


def cases(sweep: Sweep) -> list[Case]:
    """Every combination of the axes, in the order in which they run: device outermost, batch size innermost."""
    fields = sweep.axes.__struct_fields__
    values = (getattr(sweep.axes, field) for field in fields)
    configs = (Config(**dict(zip(fields, row, strict=True))) for row in itertools.product(*values))
    return [Case(index, config, senseless(config)) for index, config in enumerate(configs)]


def senseless(config: Config) -> str | None:
    """Why a combination cannot mean anything on any machine, or None when it can."""
    if config.device != "cpu":
        return None
    if config.precision == "tf32":
        return "tf32 is a mode of NVIDIA tensor cores; on cpu it would measure fp32 again"
    if config.compile == "reduce-overhead":
        return "reduce-overhead works through CUDA graphs; on cpu it would measure compile=default again"
    if config.attention == "flash":
        return "flash attention needs a CUDA device"
    return None
