"""Precision of a case: dtype of the weights, autocast, and TF32."""

from contextlib import AbstractContextManager, nullcontext

import torch

_WEIGHTS = {"fp16": torch.float16, "bf16": torch.bfloat16}
_AUTOCAST = {"amp-fp16": torch.float16, "amp-bf16": torch.bfloat16}


def weights_dtype(precision: str) -> torch.dtype:
    """The dtype in which the weights are kept."""
    return _WEIGHTS.get(precision, torch.float32)


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """The context in which a forward pass runs: autocast for the ``amp-`` precisions, else nothing."""
    dtype = _AUTOCAST.get(precision)
    return torch.autocast(device.type, dtype=dtype) if dtype else nullcontext()


def set_tf32(precision: str) -> None:
    """Let matrix products round to TF32 for ``tf32`` alone, whatever the machine's default."""
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def computed_dtype(model: torch.nn.Module, precision: str, device: torch.device) -> torch.dtype | None:
    """The dtype in which the model's first linear layer computes, seen in its output; None without one."""
    linear = next((module for module in model.modules() if isinstance(module, torch.nn.Linear)), None)
    if linear is None:
        return None
    probe = torch.zeros(1, linear.in_features, dtype=linear.weight.dtype, device=device)
    with torch.inference_mode(), autocast(precision, device):
        output: torch.Tensor = linear(probe)
    return output.dtype
