"""Case options: the table with one row per option, and the records with a field per option.

A new option is a row of ``OPTIONS`` and a field of ``Config`` here, and the worker code that applies it and
reports the actual value (``Effective.others``). Everything else is derived from the table: the other records,
parsers, names, labels, forms, columns, and the check of whether the option was applied.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import msgspec
from msgspec.structs import replace

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16", "int8")
QUANTIZATIONS = (
    *("off", "bnb-int8", "bnb-nf4", "torchao-int8", "torchao-int8-dynamic", "torchao-int4", "torchao-fp8"),
    *("checkpoint",),
)
FOUR_BITS = ("bnb-nf4", "torchao-int4")
"""Values of ``quantization`` that store weights in 4 bits."""
ATTENTIONS = (
    *("auto", "eager", "sdpa", "sdpa-math", "sdpa-flash", "sdpa-efficient", "sdpa-cudnn", "flash"),
    *("flash3", "flex"),
)
KERNEL = "kernel:"
"""Prefix of an attention kernel from the hub: ``kernel:ORG/NAME@REVISION``."""
LOOKUP = "lookup:"
"""Prefix of a draft that is looked up in the prompt: ``lookup:N`` for N tokens."""
GPU_QUANTIZATIONS = ("torchao-int4", "torchao-fp8")
GPU_ATTENTIONS = ("sdpa-efficient", "sdpa-cudnn", "flash", "flash3")
FLASH = ("flash", "flash3")
"""Values of ``attention`` that need the package flash-attn, or the package kernels to fetch a build."""
BACKENDS = ("torch", "aoti", "onnxruntime", "onnxruntime-tensorrt", "openvino")
COMPILE_MODES = ("off", "default", "reduce-overhead", "max-autotune")
KV_CACHES = ("dynamic", "static")
PADDINGS = ("max", "longest", "packed")
LORA = ("off", "r8", "r16")
POOLINGS = ("auto", "mean", "cls", "last")
OPTIMIZERS = ("auto", "adamw", "adamw-fused", "adamw-foreach", "adamw-8bit", "sgd")
SWITCH = ("off", "on")
"""Values of an option that is on or off. TOML's ``false`` and ``true`` mean the same."""
GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Compile modes that replay CUDA graphs."""
UNKNOWN = "unknown"
"""Value of an option that an imported case's source doesn't state."""

LARGEST = 10**9
"""Largest value of a numeric option; anything larger is rejected as a likely typo."""
MOST_THREADS = 4096

Size = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
"""Integer of at least 1."""
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class Option(msgspec.Struct, frozen=True):
    """Case option, and what the rest of the code needs to know about it."""

    name: str
    """Field name in ``Config`` and ``Axes``, and key in TOML."""
    help: str
    """Meaning or allowed values, as the sweep editor and the export schema show them."""
    prefix: str = ""
    """Prefix of the value in case names and short labels, such as ``bs=``."""
    values: tuple[str, ...] = ()
    """All allowed values; empty for a number or a name."""
    pattern: str = ""
    """Regular expression for further values."""
    pattern_help: str = ""
    """Form of these values, such as ``lookup:N``."""
    work: bool = False
    """Whether the value changes the work of a step; any other option changes how the same work is done."""
    named: bool = False
    """Whether every case name includes it. Other options are included only if their value isn't the default."""
    label_covers: bool = True
    """Whether it is unknown for an imported case whose label (``Config.label``) doesn't name its value."""
    read_back: bool = True
    """Whether the worker reads back the value that was applied."""
    own_fields: bool = False
    """Whether ``Effective`` has separate fields for that value; otherwise it is in ``Effective.others``."""
    of_texts: bool = False
    """Whether it has no effect on synthetic tokens."""
    tasks: tuple[str, ...] = ()
    """Tasks on which it has an effect; empty for all tasks."""
    entry: str = ""
    """Entry of the sweep that the default refers to, such as ``train.accumulation``."""
    named_values: bool = False
    """Whether a value is a set of ``name=value`` pairs (``named_values``), and the axis a table of lists."""
    rare: bool = False
    """Whether few sweeps set it, so that a form may hide it at first."""

    @property
    def default(self) -> str | int:
        """Default value. A case always states its device; the default of a sweep is ``cpu``."""
        return "cpu" if self.name == "device" else _FIELDS[self.name].default

    @property
    def kind(self) -> Any:  # noqa: ANN401  (a type)
        """Type of its field in ``Config``: text, or an integer with its bounds."""
        return _FIELDS[self.name].type

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return isinstance(self.default, int)

    @property
    def free(self) -> bool:
        """Whether the default leaves the choice to a library, so that any actual value agrees with it."""
        return self.default in ("auto", 0)


_TRAINS, _GENERATES = ("lm-train",), ("generate",)
OPTIONS = (
    Option(
        "machine",
        "nodes of a cluster: H100, zone=a, a resource, * for every kind",
        label_covers=False,
        read_back=False,
        rare=True,
    ),
    Option("model", "each with its own tokenizer", entry="model", work=True, read_back=False),
    Option("device", "cpu, cuda:N, cuda:* for all GPUs", named=True, label_covers=False, read_back=False),
    Option("precision", "int8 only on cpu, tf32 only on cuda", values=PRECISIONS, named=True, own_fields=True),
    Option(
        "quantization", "of the weights after loading; checkpoint: as they are stored", "quant=", QUANTIZATIONS
    ),
    Option(
        "attention",
        "auto: transformers chooses; sdpa-…: a single kernel of torch's; kernel:…: from the hub",
        "attn=",
        ATTENTIONS,
        pattern=r"kernel:[\w.-]+/[\w.-]+(@[\w./-]+)?",
        pattern_help="kernel:ORG/NAME@REVISION",
        own_fields=True,
    ),
    Option(
        "compile", "off, or a mode of torch.compile", "compile=", COMPILE_MODES, named=True, own_fields=True
    ),
    Option(
        "backend",
        "runtime that executes the model; aoti: compiled ahead of time by torch",
        "backend=",
        BACKENDS,
        tasks=("classify", "lm-forward", "embed", "image"),
    ),
    Option(
        "cache",
        "KV cache of task generate; static: full size from the start, as CUDA graphs need",
        "cache=",
        KV_CACHES,
        tasks=_GENERATES,
        rare=True,
    ),
    Option(
        "draft",
        "drafted tokens of task generate: lookup:N takes them from the prompt, a name from that model",
        "draft=",
        ("off",),
        pattern=r"lookup:[1-9]\d{0,2}|(?!lookup:)[\w./~@-]+",
        pattern_help="lookup:N, or a model",
        tasks=_GENERATES,
        rare=True,
    ),
    Option(
        "lora",
        "adapters that task lm-train trains instead of the weights",
        "lora=",
        LORA,
        tasks=_TRAINS,
        rare=True,
    ),
    Option(
        "liger",
        "layers of the package liger-kernel in task lm-train",
        "liger=",
        SWITCH,
        tasks=_TRAINS,
        rare=True,
    ),
    Option(
        "optimizer",
        "of task lm-train; auto: train.optimizer, or AdamW fused on a GPU",
        "opt=",
        OPTIMIZERS,
        tasks=_TRAINS,
        entry="train.optimizer",
        rare=True,
    ),
    Option(
        "activation_checkpointing",
        "recompute activations in the backward pass of task lm-train; auto: train.activation_checkpointing",
        "ckpt=",
        ("auto", *SWITCH),
        tasks=_TRAINS,
        entry="train.activation_checkpointing",
        rare=True,
    ),
    Option(
        "accumulation",
        "batches of gradients per step of task lm-train; 0: train.accumulation",
        "acc=",
        tasks=_TRAINS,
        entry="train.accumulation",
        rare=True,
    ),
    Option(
        "pooling",
        "of task embed: how token vectors become that of a text; auto: as the model states, or mean",
        "pool=",
        POOLINGS,
        tasks=("embed",),
    ),
    Option(
        "env",
        "environment variables of a case: a table of names, each with its values",
        named_values=True,
        rare=True,
    ),
    Option(
        "parameters",
        "of your own step: a table of names, each with its values",
        label_covers=False,
        named_values=True,
    ),
    Option(
        "threads",
        "threads of torch within one operation; 0: torch chooses",
        "threads=",
        own_fields=True,
        rare=True,
    ),
    Option(
        "tokenizer_threads", "threads of the tokenizer; 0: as many as torch's", "tok=", of_texts=True, rare=True
    ),
    Option(
        "padding",
        "longest: to the batch's longest sample; packed: all samples in one row",
        "pad=",
        PADDINGS,
        own_fields=True,
        of_texts=True,
        rare=True,
    ),
    Option(
        "new_tokens",
        "tokens that are generated for each sample; 0: generate.new_tokens",
        "new=",
        work=True,
        tasks=("generate", "serve-batch", "speech"),
        entry="generate.new_tokens",
    ),
    Option(
        "audio_seconds",
        "length of the audio clips of task speech",
        "audio=",
        work=True,
        read_back=False,
        tasks=("speech",),
    ),
    Option("sequence_length", "tokens per sample", "seq=", work=True, named=True, read_back=False),
    Option(
        "batch_size",
        "samples per step; auto: the largest that fits",
        "bs=",
        work=True,
        named=True,
        read_back=False,
    ),
)
"""All options in plan order, outermost axis first."""

AXES = tuple(option.name for option in OPTIONS)
"""Names of all axes, outermost first."""
BY_NAME = {option.name: option for option in OPTIONS}
CHOICES = tuple(option.name for option in OPTIONS if not option.work)
"""Options that change how the same work is done."""
READ_BACK = tuple(option.name for option in OPTIONS if option.read_back)
_FIRST_SHOWN = ("machine", "model", "device", "precision", "compile")
SHOWN = (*_FIRST_SHOWN, *(name for name in AXES if name not in _FIRST_SHOWN))
"""All options in the order of the case table."""
_SIZES = ("batch_size", "sequence_length")
IN_NAMES = (*(name for name in SHOWN if name not in _SIZES), *_SIZES)
"""All options in the order of case names: in files, reports, commands, and on the screen."""
_FIRST_IN_BASELINE = ("machine", "model", "device", "precision", "batch_size", "sequence_length")
_IN_BASELINE = dict.fromkeys((*_FIRST_IN_BASELINE, *AXES))


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base class of all data sent between processes or written to disk.

    Option records override ``omit_defaults``, so that a version with other defaults reads the same values.
    """


class Work(NamedTuple):
    """Work of a step. Cases of different work aren't alternatives to each other, and no ratio compares them."""

    sequence_length: int
    model: str = ""
    """Model of the case; empty if the sweep has only one."""
    new_tokens: int = 0
    """Tokens generated per sample; 0 if the sweep has one number for all cases."""
    group: str = ""
    """``Config.group``."""
    audio_seconds: int = 0
    """Length of the audio clips of task ``speech``; 0 for other tasks."""

    def __str__(self) -> str:
        sizes = {"{:,} tokens": self.sequence_length, "{:,} new": self.new_tokens, "{} s": self.audio_seconds}
        named = (self.model, *(text.format(size) for text, size in sizes.items() if size))
        return self.group or ", ".join(filter(None, named))


def value_text(value: object) -> str:
    """Return the value of an option as text; 0 and empty leave the choice to a library."""
    return str(value or "default")


def distinct_works(works: Iterable[Work]) -> list[Work]:
    """Return each work once: models and groups in the given order, shortest samples first."""
    distinct = list(dict.fromkeys(works))
    places = {model: place for place, model in enumerate(dict.fromkeys(work.model for work in distinct))}
    return sorted(
        distinct,
        key=lambda work: (places[work.model], work.sequence_length, work.new_tokens, work.audio_seconds),
    )


class Config(Record, frozen=True, kw_only=True, omit_defaults=False, gc=False):
    """One cell of a sweep: the requested options of a case."""

    machine: str = ""
    """Cluster nodes that may run the case: a kind (``H100``), a label (``zone=a``), a resource, or one node's
    name. Empty for any node, and for this machine."""
    model: str = ""
    """Model of the case if the sweep has several; empty for the sweep's only one."""
    device: str
    """``cpu`` or ``cuda:N``."""
    precision: str = "fp32"
    batch_size: Size = 1
    """Samples per step."""
    sequence_length: Count = 128
    """Tokens per sample, after truncation and padding; 0 for tasks whose samples aren't texts."""
    quantization: str = "off"
    """Quantization of the weights after loading; ``checkpoint`` for weights that are stored quantized."""
    attention: str = "auto"
    """Attention implementation; ``auto`` lets transformers choose."""
    compile: str = "off"
    """``off`` or a mode of ``torch.compile``."""
    backend: str = "torch"
    """Runtime that executes the model: ``torch``, or one that loads an exported model."""
    cache: str = "dynamic"
    """KV cache of task ``generate``: ``dynamic`` grows with each token, ``static`` starts at full size."""
    draft: str = "off"
    """Draft of task ``generate``: ``lookup:N`` tokens from the prompt, or a smaller model's name."""
    lora: str = "off"
    """Rank of the adapters that task ``lm-train`` trains, such as ``r8``."""
    liger: str = "off"
    """Whether task ``lm-train`` uses layers of Liger, ``on`` or ``off``."""
    optimizer: str = "auto"
    """Optimizer of task ``lm-train``; ``auto`` is the sweep's ``train.optimizer``."""
    activation_checkpointing: str = "auto"
    """``on`` or ``off``; ``auto`` is the sweep's ``train.activation_checkpointing``."""
    accumulation: Count = 0
    """Batches whose gradients a step of task ``lm-train`` accumulates; 0 is ``train.accumulation``."""
    new_tokens: Count = 0
    """Tokens generated per sample, such as by task ``generate``; 0 is ``generate.new_tokens``."""
    pooling: str = "auto"
    """Pooling of task ``embed``; ``auto`` leaves it to the model."""
    audio_seconds: Count = 0
    """Length of the audio clips of task ``speech``; 0 for other tasks."""
    env: str = ""
    """Environment variables of the case, such as ``MALLOC_ARENA_MAX=2``, quoted as in a shell."""
    parameters: str = ""
    """Parameters of a user-defined step, such as ``block=64 layout=rows``, quoted as in a shell."""
    repeat: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    """1 for the second case of an A/A pair: the same case under another name."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=MOST_THREADS)] = 0
    """Torch threads within one operation; 0 lets torch choose."""
    tokenizer_threads: Annotated[int, msgspec.Meta(ge=0, le=MOST_THREADS)] = 0
    """Threads of the tokenizer; 0 for as many as ``threads``, 1 to tokenize one text after another."""
    padding: str = "max"
    """Padding of a batch: to the sequence length (``max``), to its ``longest`` sample, or none (``packed``)."""
    label: str = ""
    """Name of an imported case in its tool's terms, if that tool has different options. The options here are
    then meaningless, except for the device."""
    group: str = ""
    """Work of a labeled case in its tool's terms, such as ``pp512``; empty if that tool compares all cases."""
    unset: tuple[str, ...] = ()
    """``Axes.unset``."""

    @property
    def work(self) -> Work:
        """Work of a step: a case is only compared with others of the same work."""
        return Work(self.sequence_length, self.model, self.new_tokens, self.group, self.audio_seconds)

    @property
    def name(self) -> str:
        """One-line name of the case, such as ``cuda:0 fp16 compile=off bs=32 seq=128``.

        Options that aren't always named appear only if their value isn't the default.
        """
        if self.label:
            labeled = f"{self.label} {self.parameters}".rstrip()
            return labeled if self.device == UNKNOWN else f"{self.device} {labeled}"
        again = " again" if self.repeat else ""
        return f"{self._choices}{self._batch}{self._length}{again}"

    @property
    def uses_cuda_graphs(self) -> bool:
        """Whether its compile mode replays CUDA graphs, whose tensors have their own memory."""
        return self.device != "cpu" and self.compile in GRAPH_MODES

    @property
    def family(self) -> str:
        """One-line name shared by cases that differ only in batch size."""
        return f"{self._choices}{self._length}"

    @property
    def size(self) -> int:
        """Size of a step, roughly proportional to its time and memory: samples times their length."""
        return self.batch_size * max(self.sequence_length, self.audio_seconds, 1)

    @property
    def without_sizes(self) -> Self:
        """The options that the case shares with those of other sizes."""
        return replace(self, batch_size=1, sequence_length=1, repeat=0)

    def names(self, option: str) -> bool:
        """Return whether a name of the case includes an option that every case has."""
        value = getattr(self, option)
        return value != UNKNOWN and (option not in self.unset or value != BY_NAME[option].default)

    @property
    def _batch(self) -> str:
        return f" bs={self.batch_size}" if self.names("batch_size") else ""

    @property
    def _length(self) -> str:
        return f" seq={self.sequence_length}" if self.sequence_length and self.names("sequence_length") else ""

    @property
    def _choices(self) -> str:
        return " ".join(
            f"{prefix}{value}"
            for name, prefix, default in _NAMED
            if (value := getattr(self, name)) != default and self.names(name)
        )


_FIELDS = {field.name: field for field in msgspec.structs.fields(Config)}
NUMERIC = tuple(option.name for option in OPTIONS if option.numeric)


def _axis(option: Option) -> tuple[str, object, object]:
    kind: Any = option.kind
    return option.name, tuple[kind, ...], (option.default,)


def _selected(name: str) -> tuple[str, object, object]:
    return name, (int if name in NUMERIC else str) | None, None


if TYPE_CHECKING:  # a type checker can't infer fields from a table

    class _AxisFields(Record, frozen=True, kw_only=True):
        def __getattr__(self, option: str) -> tuple[Any, ...]: ...

    class _SelectedFields(Record, frozen=True, kw_only=True):
        def __init__(self, **options: str | int | None) -> None: ...
        def __getattr__(self, option: str) -> Any: ...  # noqa: ANN401
else:
    _AxisFields = msgspec.defstruct(
        "_AxisFields", map(_axis, OPTIONS), bases=(Record,), frozen=True, kw_only=True, omit_defaults=False
    )
    _SelectedFields = msgspec.defstruct(
        "_SelectedFields", map(_selected, _IN_BASELINE), bases=(Record,), frozen=True, kw_only=True
    )


class Axes(_AxisFields, frozen=True, kw_only=True, omit_defaults=False):
    """Expanded values of every axis; each combination is a case.

    Each option has a field with all its values. Those of ``env`` and ``parameters`` are all combinations.
    """

    if TYPE_CHECKING:

        def __init__(self, **axes: Any) -> None: ...  # noqa: ANN401

    batch_size_auto: bool = False
    """Whether each combination of the other axes searches for the largest batch size that fits, from 1."""
    batch_size_most: Size | None = None
    """Largest batch size that the search may try; null for no limit."""
    unset: tuple[str, ...] = ()
    """Options that the sweep of a user-defined step doesn't set. The names of its cases leave them out."""

    @property
    def count(self) -> int:
        """Number of cases that the axes span; a batch size search counts as its first case."""
        total = 1
        for axis in AXES:
            total *= len(getattr(self, axis))
        return total


class Baseline(_SelectedFields, frozen=True, kw_only=True):
    """Options that select the baseline case; an omitted option matches any value."""

    @classmethod
    def like(cls, config: Config) -> Self:
        """Return the options of a case, except those that define its workload."""
        names = set(cls.__struct_fields__) - set(Work._fields)
        return cls(**{name: getattr(config, name) for name in names})

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


_NAMED = tuple(
    (name, BY_NAME[name].prefix, None if BY_NAME[name].named else BY_NAME[name].default)
    for name in IN_NAMES
    if name not in _SIZES
)
"""Options in a case name, before its size: field, prefix, and the value that isn't shown."""
