"""Option table: one row per case option, from which names, parsers, labels and forms are derived.

A new option is a row here, a field of ``Config`` and of ``Axes``, and the worker code that applies it.
"""

from dataclasses import dataclass

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16", "int8")
ATTENTIONS = ("auto", "eager", "sdpa", "flash")
COMPILE_MODES = ("off", "default", "reduce-overhead", "max-autotune")
PADDINGS = ("max", "longest")


@dataclass(frozen=True, slots=True)
class Option:
    """Case option, and what the rest of the code needs to know about it."""

    name: str
    """Field name in ``Config`` and ``Axes``, and key in TOML."""
    help: str
    """Meaning or allowed values, as the sweep editor shows them."""
    prefix: str = ""
    """Prefix of the value in short labels, such as ``bs=``."""
    values: tuple[str, ...] = ()
    """All allowed values; empty for a number or a name."""
    numeric: bool = False
    work: bool = False
    """Whether the value changes the work of a step; any other option changes how the same work is done."""
    label_covers: bool = True
    """Whether it is unknown for an imported case that has a label (``Config.label``)."""
    read_back: bool = False
    """Whether the worker reads back the value that was applied."""


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
"""All options in plan order, outermost axis first."""

AXES = tuple(option.name for option in OPTIONS)
"""Names of all axes, outermost first."""
BY_NAME = {option.name: option for option in OPTIONS}
CHOICES = tuple(option.name for option in OPTIONS if not option.work)
"""Options that change how the same work is done."""
NUMERIC = tuple(option.name for option in OPTIONS if option.numeric)
READ_BACK = tuple(option.name for option in OPTIONS if option.read_back)
COVERED_BY_LABEL = tuple(option.name for option in OPTIONS if option.label_covers)
"""Options that are unknown for an imported case with a label (``Config.label``)."""
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
"""All options in the order of case names and of the case table."""
