"""Names of torch, transformers and other libraries: for entries and values of a sweep, and what they load."""

from collections.abc import Container, Iterable
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


_PRINTED = {
    prefix: option.name for option in OPTIONS if (prefix := option.prefix[:-1]) not in ("", option.name)
}
"""Options by their abbreviations in case names, such as ``bs``."""
_ENTRIES = _PRINTED | {
    "dtype": "precision",
    "torch_dtype": "precision",
    "attn_implementation": "attention",
    "torch_compile": "compile",
    "compile_mode": "compile",
    "quantization_config": "quantization",
    "cache_implementation": "cache",
    "assistant_model": "draft",
    "optim": "optimizer",
    "lr": "learning_rate",
    "gradient_checkpointing": "activation_checkpointing",
    "gradient_accumulation_steps": "accumulation",
    "max_new_tokens": "new_tokens",
    "use_liger_kernel": "liger",
    "batch": "batch_size",
    "batchsize": "batch_size",
    "per_device_train_batch_size": "batch_size",
    "per_device_eval_batch_size": "batch_size",
    "max_length": "sequence_length",
    "max_seq_length": "sequence_length",
    "max_seq_len": "sequence_length",
    "seq_len": "sequence_length",
    "seq_length": "sequence_length",
    "seqlen": "sequence_length",
    "num_threads": "threads",
    "model_id": "model",
    "model_name": "model",
    "model_name_or_path": "model",
    "pretrained_model_name_or_path": "model",
    "dataset_name": "dataset",
    "params": "parameters",
    "environment": "env",
    "iters": "iterations",
    "num_iterations": "iterations",
    "max_steps": "iterations",
    "steps": "iterations",
    "repeats": "rounds",
    "repetitions": "rounds",
    "warmup_steps": "warmup",
}
"""Entries of a sweep by the names that other libraries and tools have for them."""
_HINTS = {
    "fp16": 'write precision = "fp16"',
    "bf16": 'write precision = "bf16"',
    "tf32": 'write precision = "tf32"',
    "int8": 'write precision = "int8" or quantization = "bnb-int8"',
    "load_in_8bit": 'write quantization = "bnb-int8"',
    "load_in_4bit": 'write quantization = "bnb-nf4"',
    "prompt_lookup_num_tokens": 'write draft = "lookup:N"',
    "device_map": 'write device = "cuda:0"',
    "gpu": 'write device = "cuda:0"',
    "gpus": 'write device = "cuda:*"',
    "num_gpus": 'write device = "cuda:*"',
    "pretrained": 'write weights = "pretrained"',
    "random_weights": 'write weights = "random"',
    "amp": 'write precision = "amp-bf16"',
    "autocast": 'write precision = "amp-bf16"',
    "use_cache": "generation always uses a cache; cache sets its kind",
    "do_sample": "generation is greedy",
    "temperature": "generation is greedy",
    "num_beams": "generation is greedy",
    "num_workers": "write a key of parameters, for your own step",
    "dataloader_num_workers": "write a key of parameters, for your own step",
    "lora_r": 'write lora = "r8"',
    "peft": 'write lora = "r8"',
    "epochs": "write iterations, a number of steps",
    "num_train_epochs": "write iterations, a number of steps",
    "seed": "inputs and random weights have a fixed seed",
}
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
TASK_ALIASES = {
    "text-classification": "classify",
    "sentiment-analysis": "classify",
    "classification": "classify",
    "feature-extraction": "embed",
    "sentence-similarity": "embed",
    "embedding": "embed",
    "embeddings": "embed",
    "text-generation": "generate",
    "generation": "generate",
    "train": "lm-train",
    "training": "lm-train",
    "forward": "lm-forward",
    "image-classification": "image",
    "automatic-speech-recognition": "speech",
    "asr": "speech",
}
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
