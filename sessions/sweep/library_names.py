"""Names and arguments of torch, transformers and other libraries for the values of options."""

from typing import Any

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
