"""Sweep model: measurement rules, run options, and what a task needs besides the case options."""

import re
from math import inf
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from benchtui.sessions.sweep.options import (
    LARGEST,
    OPTIONS,
    SWITCH,
    Axes,
    Baseline,
    Config,
    Exclusion,
    Option,
    Record,
    Size,
)

Weights = Literal["pretrained", "random"]
Mode = Literal["latency", "throughput"]
Optimizer = Literal["auto", "fused", "foreach", "adamw", "adamw-fused", "adamw-foreach", "adamw-8bit", "sgd"]
Caches = Literal["cold", "shared"]
ExecutorKind = Literal["local", "ray"]
WhenLost = Literal["fail", "repeat"]
Explain = Literal["all", "baseline", "best"]
Need = Literal["throughput", "latency", "memory", "energy", "steadiness", "balanced"]
"""Property of a case to optimize."""
Answers = Literal["identical", "close", "any"]
"""Answers to the probe that are accepted, relative to the baseline's."""

SAMPLE = "sample"
"""The bundled dataset."""
SYNTHETIC = "synthetic"
"""The generated dataset: random token ids, with no text behind them."""

ALL_GPUS = "cuda:*"
"""Every GPU available to the measured processes; the engine expands it at start."""
ALL_KINDS = "*"
"""Every kind of node in the cluster; the engine expands it at start."""

_OPTIMIZERS = {"fused": "adamw-fused", "foreach": "adamw-foreach"}
"""Optimizers by their old names in ``train.optimizer``, from when AdamW was the only one."""

_OWN = re.compile(r"(.+\.py):([^\W\d]\w*)")

MOST_CASES = 5_000
"""Maximum number of cases in a sweep: 21 hours at 15 s each."""
MOST_ROUNDS = 100
MOST_RETRIES = 10

LEAST_BUDGET_S = 120.0
"""Minimum budget for further rounds, unless the sweep sets one: six comparisons by turns, each three or four
pairs of about 6 s, which decide between four small cases of two sequence lengths."""

SEARCH_SHARE = 0.7
"""Budget for the further rounds of a search, over the time of the first ones, unless the sweep sets one."""

MOST_CELSIUS = 150.0
WAIT_FOR_QUIET_S = 60.0
"""Time limit of a wait for quiet, unless a sweep file sets it."""

Rounds = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
"""Number of rounds."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
"""Time in seconds."""

GPU_MIN_WARMUP_S = 1.0
"""Minimum warm-up on a GPU. A few steps of 3 ms end before its clock has settled."""
GPU_MIN_TIME_S = 2.5
"""Minimum measured time on a GPU. Its energy counter needs 2 s between the first and the last reading, and
readings are 0.25 s apart, so that a span of 2 s would rarely be enough."""


class Measure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Timing, warm-up and stop rules of a case."""

    warmup: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 5
    """Warm-up steps: recorded, never counted. With ``warmup_auto``, an estimate of their number."""
    warmup_auto: bool = False
    """Warm up until a sliding window of steps is stable, or a cap is reached."""
    min_warmup_s: Seconds | None = 0.0
    """Minimum time of the warm-up after its first step, in seconds on the device. If null, it depends on the
    device, see ``for_device``. The default applies to older sessions, which have no such entry."""
    iterations: Size = 20
    """Measured steps; with ``until_percent`` or ``until_auto``, the minimum number; with ``iterations_auto``,
    the number after which a noisy round ends."""
    iterations_auto: bool = False
    """Measure until the error of the round is below the spread between processes. The default applies to older
    sessions, which measured a fixed number of steps. ``until_percent`` and ``until_auto`` come first."""
    min_time_s: Seconds | None = 0.0
    """Minimum measured time of a round, in seconds on the device, unless ``max_time_s`` ends it. Null and the
    default mean the same as for ``min_warmup_s``."""
    until_percent: Annotated[float, msgspec.Meta(gt=0, lt=100)] | None = None
    """Measure until the 95% interval of the median is this narrow, in percent of the median."""
    until_auto: bool = False
    """Measure until the spread is narrow enough for the device, or proves to be inherent."""
    max_time_s: Seconds | None = None
    """Time limit for measuring a case, in seconds."""
    timeout_s: Seconds = 600.0
    """Time limit after which a case is killed, in seconds, including loading."""
    mode: Mode = "latency"
    """Whether the device is synchronized around every step, or around blocks of steps."""
    rounds: Rounds = 1
    """Number of times that all cases run, in alternating order."""
    rounds_auto: bool = False
    """Whether the cases of open comparisons get further rounds after these, within ``run.budget_s``."""
    aa: bool = False
    """Whether the baseline case runs twice; the difference between the two is the noise."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=MOST_RETRIES)] | None = None
    """Repeats of a disturbed case; null repeats throttled cases twice and others never."""
    margin_percent: Annotated[float, msgspec.Meta(ge=0, lt=100)] = 0.0
    """Memory that a batch size search keeps free, in percent of the device's, or of the machine's for a CPU."""
    caches: Caches = "cold"
    """Whether every case compiles into an empty cache, or all cases of the session share one."""
    peaks: bool = True
    """Whether to measure each device's peak performance, for comparison with the cases."""
    answers: bool = True
    """Whether each case answers a probe after its measured steps, for comparison with its baseline."""
    explain: tuple[Explain, ...] = ()
    """Cases that are profiled in separate runs once all are measured; each work has its own best case."""
    baseline: Baseline | None = None

    @property
    def planned_rounds(self) -> int | None:
        """Number of rounds of each case; None if it depends on what they show."""
        return None if self.rounds_auto else self.rounds

    @property
    def repeats(self) -> bool:
        """Whether cases may have several rounds."""
        return self.rounds > 1 or self.rounds_auto

    @property
    def planned_steps(self) -> int:
        """Measured steps of a case over all rounds, unless another rule ends or extends it."""
        return self.iterations * self.rounds

    @property
    def by_count(self) -> bool:
        """Whether only the number of steps ends a round. Valid for the rules on one device."""
        return not (
            self.until_auto or self.until_percent is not None or self.iterations_auto or self.min_time_s
        )

    @property
    def until_error(self) -> bool:
        """Whether the spread between processes says when a round has enough steps."""
        return self.iterations_auto and not self.until_auto and self.until_percent is None

    def for_device(self, device: str) -> "Measure":
        """Return the rules for a device. Minimum times replace null: those of a GPU, or 0 on a CPU."""
        on_gpu = device != "cpu"
        warmup_s, time_s = (GPU_MIN_WARMUP_S, GPU_MIN_TIME_S) if on_gpu else (0.0, 0.0)
        return replace(
            self,
            min_warmup_s=warmup_s if self.min_warmup_s is None else self.min_warmup_s,
            min_time_s=time_s if self.min_time_s is None else self.min_time_s,
        )


MEASURE_DEFAULTS = Measure(warmup_auto=True, iterations_auto=True, min_warmup_s=None, min_time_s=None)
"""Rules of a sweep file that states none. The defaults of ``Measure`` are those of older sessions."""


class Train(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Training options of the task ``lm-train``."""

    accumulation: Size = 1
    """Batches of gradient accumulation per optimizer step; all of them are one step."""
    learning_rate: Annotated[float, msgspec.Meta(gt=0, le=LARGEST)] = 5e-5
    optimizer: Optimizer = "auto"
    """``auto`` is AdamW, fused on GPUs, and a loop over the weights on a CPU. ``fused`` and ``foreach`` are
    AdamW as well. Versions without this entry ran ``foreach`` on GPUs."""
    activation_checkpointing: bool = False
    """Whether activations are recomputed in the backward pass instead of being stored."""


class Generate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Options of tasks that generate tokens."""

    new_tokens: Size = 32
    """Tokens generated per sample; generation never ends early."""


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
    wait_for_quiet_s: Seconds | None = None
    """Time limit of a wait for quiet before a disturbed case is repeated; 0 doesn't wait. Null in older
    sessions, which didn't either; a sweep file without the entry has ``WAIT_FOR_QUIET_S``."""
    wait_below_c: Annotated[float, msgspec.Meta(gt=0, le=MOST_CELSIUS)] | None = None
    """Temperature below which a GPU has to be before a case starts on it; null starts at any."""
    budget_s: Seconds | None = None
    """Time limit of the further rounds of ``rounds = "auto"``, or of the whole session with ``find``. Null
    gives further rounds as much as the first ones took, and at least two minutes."""

    def budget_after_s(self, first_rounds_s: float) -> float:
        """Return the time limit of the further rounds in seconds, given the time of the first rounds."""
        return max(LEAST_BUDGET_S, first_rounds_s) if self.budget_s is None else self.budget_s


Limit = Annotated[float, msgspec.Meta(gt=0, le=LARGEST)]


class Find(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Search for one case: its objective and constraints. Cases that can't win aren't measured further."""

    objective: Need = "throughput"
    max_vram_mb: Limit | None = None
    """Maximum peak memory on the device."""
    max_p99_ms: Limit | None = None
    max_latency_ms: Limit | None = None
    """Maximum typical step."""
    max_power_w: Limit | None = None
    min_samples_per_s: Limit | None = None
    answers: Answers = "close"
    """Worst accepted answer; ``any`` accepts all."""
    steps: Size | None = None
    """Number of steps of the job, in which compiling has to pay off; null for an endless job."""


class Sweep(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Sweep: what to measure, where, and how."""

    name: str
    model: str
    """Hub id, local folder, or name of a bundled architecture; several are listed in ``axes.model``. For a
    user-defined step without a model, it is the task."""
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
    """Environment variables of the measured processes, with the values of secrets masked."""
    exclude: tuple[Exclusion, ...] = ()
    """Cases to leave out of the plan."""
    find: Find | None = None
    """Search for the best case with rounds ``auto``; null measures all cases alike."""

    @property
    def planned(self) -> int:
        """Maximum number of planned cases, including excluded ones."""
        return self.axes.count + self.measure.aa

    @property
    def ends_s(self) -> float:
        """Time limit of a search in seconds; infinite for any other sweep."""
        return (self.find and self.run.budget_s) or inf

    def resolve(self, config: Config) -> Config:
        """Return a case's options with the sweep's entries in place of the defaults that refer to them."""
        open_options = (option for option in OPTIONS if getattr(config, option.name) == option.default)
        own = {
            open_option.name: self._entry(open_option)
            for open_option in open_options
            if open_option.entry and (not open_option.tasks or self.task in open_option.tasks)
        }
        return replace(config, **own)

    def with_entry(self, option: Option, value: str | int) -> "Sweep":
        """Return the sweep with a value in the entry that an option's default refers to."""
        home, _, name = option.entry.partition(".")
        stated = value == SWITCH[True] if value in SWITCH else value
        return replace(self, **{home: replace(getattr(self, home), **{name: stated})})

    def _entry(self, option: Option) -> str | int:
        home, _, name = option.entry.partition(".")
        value = getattr(getattr(self, home), name) if name else getattr(self, home)
        return SWITCH[value] if isinstance(value, bool) else _OPTIMIZERS.get(value, value)


class Case(msgspec.Struct, frozen=True):
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
