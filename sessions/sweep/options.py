"""Options of a case: one row per option, which names, parsers, labels and forms are derived from.

A new option is a row here, a field of ``Config`` and of ``Axes``, and the code of the worker that applies it.
"""

from dataclasses import dataclass

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16", "int8")
ATTENTIONS = ("auto", "eager", "sdpa", "flash")
COMPILE_MODES = ("off", "default", "reduce-overhead", "max-autotune")
PADDINGS = ("max", "longest")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a case."""

    name: str
    """Its field in ``Config`` and in ``Axes``, and its key in TOML."""
    help: str
    """What it means, or which values it has, in the words of the editor."""
    prefix: str = ""
    """What precedes its value in short labels, such as ``bs=``."""
    values: tuple[str, ...] = ()
    """All values that it may have; empty for a number or a name."""
    numeric: bool = False
    work: bool = False
    """Whether another value makes a step other work. Any other option is a choice of how to do the same."""
    label_covers: bool = True
    """Whether it is unknown for a case of another tool that is described by a label."""
    read_back: bool = False
    """Whether the worker reads back if the option was applied."""


OPTIONS = (
    Option("machine", "nodes of a cluster: H100, zone=a, a resource, * for every kind", label_covers=False),
    Option("device", "cpu, cuda:N, cuda:* for all GPUs", label_covers=False),
    Option("precision", "int8 on cpu alone, tf32 on cuda alone", values=PRECISIONS, read_back=True),
    Option("attention", "auto: transformers chooses", "attn=", ATTENTIONS, read_back=True),
    Option("compile", "off, or a mode of torch.compile", "compile=", COMPILE_MODES, read_back=True),
    Option(
        "threads", "of torch inside one operation, 0: torch chooses", "threads=", numeric=True, read_back=True
    ),
    Option("padding", "longest: to the batch's longest sample", "pad=", PADDINGS, read_back=True),
    Option("sequence_length", "tokens a sample", "seq=", numeric=True, work=True),
    Option("batch_size", "samples a step; auto: the largest that fits", "bs=", numeric=True, work=True),
)
"""All options in the order of a plan, from the outermost axis to the innermost."""

AXES = tuple(option.name for option in OPTIONS)
"""Every axis, from the outermost to the innermost."""
BY_NAME = {option.name: option for option in OPTIONS}
CHOICES = tuple(option.name for option in OPTIONS if not option.work)
"""Options that say how the same work is done."""
NUMERIC = tuple(option.name for option in OPTIONS if option.numeric)
READ_BACK = tuple(option.name for option in OPTIONS if option.read_back)
COVERED_BY_LABEL = tuple(option.name for option in OPTIONS if option.label_covers)
"""Options that say nothing about a case that another tool describes in words of its own (``Config.label``)."""
SHOWN = (
    "machine",
    "device",
    "precision",
    "compile",
    "attention",
    "threads",
    "padding",
    "sequence_length",
    "batch_size",
)
"""All options in the order in which a case's name and the case table show them."""
