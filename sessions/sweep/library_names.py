"""Names of torch, transformers and other libraries: for entries and values of a sweep, and what they load."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from benchtui.sessions.sweep.options import BY_NAME, OPTIONS, Option
from benchtui.sessions.sweep.ranges import Words, nearest

WEIGHTS_DTYPES = {"fp16": "float16", "bf16": "bfloat16"}
"""Torch's dtype of the weights by precision; any other precision has ``float32`` weights."""
AUTOCAST_DTYPES = {"amp-fp16": "float16", "amp-bf16": "bfloat16"}
"""Torch's dtype of autocast by precision."""

IMPLEMENTATIONS = {
    "auto": None,
    "flash": "flash_attention_2",
    "flash3": "flash_attention_3",
    "flex": "flex_attention",
}
"""Transformers' names of implementations, where they differ. None leaves the choice to transformers."""
SDPA_KERNELS = {
    "sdpa-math": "math",
    "sdpa-flash": "flash",
    "sdpa-efficient": "mem_efficient",
    "sdpa-cudnn": "cudnn",
}
"""Torch's names of the kernels of ``scaled_dot_product_attention``."""

TORCHAO_CONFIGS: dict[str, tuple[str, dict[str, int]]] = {
    "torchao-int8": ("Int8WeightOnlyConfig", {}),
    "torchao-int8-dynamic": ("Int8DynamicActivationInt8WeightConfig", {}),
    "torchao-int4": ("Int4WeightOnlyConfig", {"group_size": 128}),
    "torchao-fp8": ("Float8DynamicActivationFloat8WeightConfig", {}),
}
"""Torchao's configuration class with its arguments by quantization."""

AUTO_CLASSES = {
    "classify": "AutoModelForSequenceClassification",
    "lm-forward": "AutoModelForCausalLM",
    "lm-train": "AutoModelForCausalLM",
    "generate": "AutoModelForCausalLM",
    "embed": "AutoModel",
    "image": "AutoModelForImageClassification",
}
"""Transformers' class that loads the model of a task."""

ADAMW_ARGUMENTS: dict[str, dict[str, Any]] = {
    "adamw": {"fused": False, "foreach": False},
    "adamw-fused": {"fused": True},
    "adamw-foreach": {"foreach": True},
}
"""Arguments of torch's AdamW by optimizer."""


def lora_arguments(rank: str) -> dict[str, int | str]:
    """Return the arguments of peft's ``LoraConfig`` for a rank such as ``r8``."""
    size = int(rank.removeprefix("r"))
    return {"r": size, "lora_alpha": 2 * size, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}


def _by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Return what each name stands for. ``names`` has all names of each thing, separated by spaces."""
    return {name: meant for meant, of_one in names.items() for name in of_one.split()}


_PRINTED = {
    prefix: option.name for option in OPTIONS if (prefix := option.prefix[:-1]) not in ("", option.name)
}
"""Options by their abbreviations in case names, such as ``bs``."""
_ENTRIES = _PRINTED | _by_name(
    {
        "precision": "dtype torch_dtype",
        "attention": "attn_implementation",
        "compile": "torch_compile compile_mode",
        "quantization": "quantization_config",
        "cache": "cache_implementation",
        "draft": "assistant_model",
        "optimizer": "optim",
        "learning_rate": "lr",
        "activation_checkpointing": "gradient_checkpointing",
        "accumulation": "gradient_accumulation_steps",
        "new_tokens": "max_new_tokens",
        "liger": "use_liger_kernel",
        "batch_size": "batch batchsize per_device_train_batch_size per_device_eval_batch_size",
        "sequence_length": "max_length max_seq_length max_seq_len seq_len seq_length seqlen",
        "threads": "num_threads",
        "model": "model_id model_name model_name_or_path pretrained_model_name_or_path",
        "dataset": "dataset_name",
        "parameters": "params",
        "env": "environment",
        "iterations": "iters num_iterations max_steps steps",
        "rounds": "repeats repetitions",
        "warmup": "warmup_steps",
    }
)
"""Entries of a sweep by the names that other libraries and tools have for them."""
_HINTS = _by_name(
    {
        'write precision = "fp16"': "fp16",
        'write precision = "bf16"': "bf16",
        'write precision = "tf32"': "tf32",
        'write precision = "int8" or quantization = "bnb-int8"': "int8",
        'write quantization = "bnb-int8"': "load_in_8bit",
        'write quantization = "bnb-nf4"': "load_in_4bit",
        'write draft = "lookup:N"': "prompt_lookup_num_tokens",
        'write device = "cuda:0"': "device_map gpu",
        'write device = "cuda:*"': "gpus num_gpus",
        'write weights = "pretrained"': "pretrained",
        'write weights = "random"': "random_weights",
        'write precision = "amp-bf16"': "amp autocast",
        "generation always uses a cache; cache sets its kind": "use_cache",
        "generation is greedy": "do_sample temperature num_beams",
        "write a key of parameters, for your own step": "num_workers dataloader_num_workers",
        'write lora = "r8"': "lora_r peft",
        "write iterations, a number of steps": "epochs num_train_epochs",
        "inputs and random weights have a fixed seed": "seed",
    }
)
"""What to write for names that stand for a value of an entry, or for no entry at all."""

ALIASES = {
    "precision": {
        "float32": "fp32",
        "float": "fp32",
        "float16": "fp16",
        "half": "fp16",
        "f16": "fp16",
        "f32": "fp32",
        "bfloat16": "bf16",
        "bfloat": "bf16",
        "torch.float32": "fp32",
        "torch.float16": "fp16",
        "torch.bfloat16": "bf16",
        "amp": "amp-bf16",
        "autocast": "amp-bf16",
    },
    "attention": {
        "flash2": "flash",
        "flash_attention_2": "flash",
        "flash_attention_3": "flash3",
        "flex_attention": "flex",
    },
    "quantization": {"nf4": "bnb-nf4", "fp8": "torchao-fp8", "int4": "torchao-int4"},
    "optimizer": {
        "fused": "adamw-fused",
        "foreach": "adamw-foreach",
        "adamw_torch": "adamw",
        "adamw_torch_fused": "adamw-fused",
        "adamw_8bit": "adamw-8bit",
        "adamw_bnb_8bit": "adamw-8bit",
    },
    "padding": {"max_length": "max"},
    "pooling": {"cls_token": "cls", "lasttoken": "last", "mean_tokens": "mean"},
}
"""Further names of the values of options, by option."""
TASK_ALIASES = _by_name(
    {
        "classify": "text-classification sentiment-analysis classification",
        "embed": "feature-extraction sentence-similarity embedding embeddings",
        "generate": "text-generation generation",
        "lm-train": "train training",
        "lm-forward": "forward",
        "image": "image-classification",
        "speech": "automatic-speech-recognition asr",
    }
)
"""Tasks by their names on the Hugging Face hub and by common ones."""


_VALUE_HINTS = {
    ("quantization", "int8"): 'of the weights: bnb-int8 or torchao-int8; dynamic on a CPU: precision = "int8"',
    ("precision", "int4"): 'write quantization = "torchao-int4" or "bnb-nf4"',
    ("precision", "fp8"): 'write quantization = "torchao-fp8"',
    ("precision", "nf4"): 'write quantization = "bnb-nf4"',
}
_FLAGS = {"compile": {False: "off", True: "default"}, "padding": {True: "longest"}}
"""Values that ``false`` and ``true`` stand for, other than ``off`` and ``on``."""

_YES = {False: "no", True: "yes"}


def entry_named(key: str, entries: Container[str]) -> str:
    """Return the entry that a name stands for, in any spelling; the name as it is if there is none."""
    name = _plain(key)
    return next((entry for entry in (key, name, _ENTRIES.get(name, "")) if entry in entries), key)


def entry_hint(key: str, entries: Iterable[str]) -> str:
    """Return what to write instead of an unknown name, by its meaning or its letters; empty if unknown."""
    if hint := _HINTS.get(_plain(key)):
        return f" ({hint})"
    names = set(entries)
    return nearest(key, names, {name: entry for name, entry in _ENTRIES.items() if entry in names})


def value_names(option: Option) -> Words:
    """Return the values of an option, with their further names and hints for others."""
    words = {
        word: value
        for flag, value in flags(option).items()
        for word in (str(flag), str(flag).lower(), _YES[flag])
    }
    nothing = {"None": "off", "none": "off"} if "off" in option.values else {}
    hints = {value: hint for (name, value), hint in _VALUE_HINTS.items() if name == option.name}
    return Words(option.values, ALIASES.get(option.name, {}) | words | nothing, hints)


def value_named(option: str, text: str) -> str:
    """Return the value of an option that a name stands for, in any case; the text as it is if there is none."""
    return value_names(BY_NAME[option]).aliases.get(text.lower(), text)


def flags(option: Option) -> dict[bool, str]:
    """Return the values that ``false`` and ``true`` stand for."""
    values = _FLAGS.get(option.name, {False: "off", True: "on"})
    return {flag: value for flag, value in values.items() if value in option.values}


def _plain(key: str) -> str:
    return key.strip().lower().replace("-", "_")
