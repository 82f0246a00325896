"""The entries of a sweep as lines to edit: what each is for, and the values among which it can be changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from benchtui.sessions.sweep import (
    ATTENTIONS,
    COMPILE_MODES,
    PADDINGS,
    PRECISIONS,
    TASKS,
    Caches,
    ExecutorKind,
    Mode,
    Sweep,
    Weights,
    WhenLost,
)
from benchtui.sessions.sweep.toml_reader import entries

RANGE = "numbers: 32, a list 1,4,32, or a range a..b, a..b+step, a..b*factor"
TIME = "seconds, or such as 90s, 10m, 1h30m; empty: "
GROUPS = {
    "axes": "Axes",
    "measure": "Measure",
    "run": "Run",
    "env": "Environment",
    "train": "Train",
    "generate": "Generate",
}
FLAG = ("false", "true")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the editor."""

    key: str
    """Its dotted name."""
    about: str = ""
    values: tuple[str, ...] = ()
    """Known values to choose from without typing."""
    several: bool = False
    """Whether it holds a list, so that each value is on or off."""
    unset: str = "none"
    """What stands there while it has no value at all."""

    @property
    def label(self) -> str:
        """Its name within its table."""
        return self.key.rpartition(".")[2]

    @property
    def group(self) -> str:
        """The title above it."""
        return GROUPS.get(self.key.partition(".")[0], "Sweep")


_DESCRIBED = (
    Entry("name", "what the session file is named after"),
    Entry("model", "hub id, local folder, or a bundled architecture"),
    Entry("weights", "random: the same architecture without a download", get_args(Weights)),
    Entry("task", 'what a step is; "file.py:function" for one of your own', TASKS),
    Entry("dataset", "sample: bundled text; synthetic: drawn token ids; hub id, file or folder"),
    Entry(
        "axes.machine",
        "nodes of a cluster: H100, zone=a, a resource, * for every kind",
        several=True,
        unset="any",
    ),
    Entry("axes.device", "cpu, cuda:N, cuda:* for all GPUs", ("cpu", "cuda:0"), several=True),
    Entry("axes.precision", "int8 on cpu alone, tf32 on cuda alone", PRECISIONS, several=True),
    Entry("axes.attention", "auto: transformers chooses", ATTENTIONS, several=True),
    Entry("axes.compile", "off, or a mode of torch.compile", COMPILE_MODES, several=True),
    Entry("axes.threads", f"of torch inside one operation, 0: torch chooses; {RANGE}"),
    Entry("axes.padding", "longest: to the batch's longest sample", PADDINGS, several=True),
    Entry("axes.sequence_length", f"tokens a sample; {RANGE}"),
    Entry("axes.batch_size", f"samples a step; auto: the largest that fits; {RANGE}"),
    Entry("measure.warmup", "steps that aren't counted; auto: until they are stable"),
    Entry("measure.iterations", "measured steps; with until the least number of them"),
    Entry("measure.until", "go on until the 95% interval is this narrow: 1%, or auto"),
    Entry("measure.max_time", f"most time to measure a case: {TIME}no limit"),
    Entry("measure.timeout", f"a case is killed after this long, loading included: {TIME}10m"),
    Entry("measure.mode", "throughput: a GPU is synchronised around blocks of steps only", get_args(Mode)),
    Entry("measure.rounds", "how often all cases are run, in alternating order"),
    Entry("measure.aa", "the baseline once more: what two equal cases differ by", FLAG),
    Entry(
        "measure.retries",
        "how often a disturbed case is repeated",
        ("0", "1", "2"),
        unset="throttled ones twice",
    ),
    Entry("measure.caches", "shared: compile into one cache of the session", get_args(Caches)),
    Entry("measure.peaks", "what devices do at most, measured before the first case", FLAG),
    Entry("measure.baseline", "what others are compared with: precision=fp32, batch_size=1"),
    Entry("run.parallel", "cases on different GPUs side by side", FLAG),
    Entry("run.executor", "ray: on the nodes of a Ray cluster", get_args(ExecutorKind)),
    Entry("run.address", "of the Ray cluster: auto, host:port, ray://host:port"),
    Entry("run.place", "which nodes may be used, as axes.machine names them", unset="all"),
    Entry("run.lost", "repeat: a case whose node was lost, on another one", get_args(WhenLost)),
    Entry("run.repeat_on_each", "the baseline case on each of the nodes that share the cases", FLAG),
    Entry("train.accumulation", "batches whose gradients are added up in a step"),
    Entry("train.learning_rate", "of AdamW"),
    Entry("train.activation_checkpointing", "compute activations again in the backward pass", FLAG),
    Entry("generate.new_tokens", "tokens added to each prompt"),
    Entry("env", "environment variables of the measured processes: NAME=value, NAME=value"),
)


def all_entries() -> tuple[Entry, ...]:
    """A line for each entry that a sweep may have."""
    described = {entry.key: entry for entry in _DESCRIBED}
    return tuple(described.get(key) or Entry(key) for key in entries())


def unused(entry: Entry, sweep: Sweep) -> str | None:
    """Why the sweep's task doesn't look at an entry, or None where it does."""
    tasks = {"train": "lm-train", "generate": "generate"}
    task = tasks.get(entry.key.partition(".")[0])
    return f"of task {task} alone" if task and task != sweep.task else None


def values_of(entry: Entry, text: str) -> tuple[str, ...]:
    """The known values of an entry, and those that it has besides."""
    return tuple(dict.fromkeys((*entry.values, *chosen(entry, text)))) if entry.values else ()


def chosen(entry: Entry, text: str) -> tuple[str, ...]:
    """The values that an entry has at the moment."""
    if not entry.several:
        return (text,) if text else ()
    return tuple(part.strip(" []\"'") for part in text.split(",") if part.strip(" []\"'"))


def toggled(entry: Entry, text: str, value: str) -> str:
    """An entry with a value put on or off; of one that holds a single value, with this one."""
    if not entry.several:
        return value
    now = set(chosen(entry, text)) ^ {value}
    return ", ".join(each for each in values_of(entry, text) if each in now)


def shown(entry: Entry, texts: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """What an entry says, its default included; empty where it has none."""
    return texts.get(entry.key, defaults.get(entry.key, ""))
