"""Precision of a case: dtype of the weights, autocast, TF32, and dynamic quantization."""

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from benchtui.engine.device_support import has_instructions
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep.library_names import AUTOCAST_DTYPES, WEIGHTS_DTYPES


def weights_dtype(precision: str) -> torch.dtype:
    """Return the dtype of the weights."""
    dtype: torch.dtype = getattr(torch, WEIGHTS_DTYPES.get(precision, "float32"))
    return dtype


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Return the context of a forward pass: autocast for ``amp-`` precisions, else none."""
    name = AUTOCAST_DTYPES.get(precision)
    return torch.autocast(device.type, dtype=getattr(torch, name)) if name else nullcontext()


def emulation_marks(precision: str, device: torch.device) -> tuple[str, ...]:
    """Return a mark if the processor that computes in fp16 or bf16 has no instructions for it."""
    dtype = precision.removeprefix("amp-")
    if device.type != "cpu" or dtype not in ("fp16", "bf16") or has_instructions(dtype) is not False:
        return ()
    return (f"{dtype} is emulated: the processor has no instructions for it",)


def set_tf32(precision: str) -> None:
    """Allow TF32 matrix products for ``tf32`` only, whatever the machine's default.

    From torch 2.9 on, both of torch's interfaces must be set. If only the newer one is set, reading the older
    one raises, and Inductor reads it. If only the older one is set, reading it raises once a step uses the
    newer one.
    """
    allowed = precision == "tf32"
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    torch.backends.cudnn.allow_tf32 = allowed
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        cudnn: Any = torch.backends.cudnn
        for operation in (torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn):
            operation.fp32_precision = "tf32" if allowed else "ieee"


def computed_dtype(model: torch.nn.Module, precision: str, device: torch.device) -> torch.dtype | None:
    """Output dtype of the model's first linear layer, from a probe. None if there is no such layer."""
    linear = next((module for module in model.modules() if isinstance(module, torch.nn.Linear)), None)
    if linear is None:
        return None
    stored = linear.weight.dtype if isinstance(linear.weight, torch.Tensor) else torch.float32
    dtype = stored if stored.is_floating_point else weights_dtype(precision)  # quantized weights
    probe = torch.zeros(1, linear.in_features, dtype=dtype, device=device)
    with torch.inference_mode(), autocast(precision, device):
        output: torch.Tensor = linear(probe)
    return output.dtype


def rounds_to_tf32(device: torch.device) -> bool | None:
    """Whether float32 products round to TF32's 10-bit mantissa, according to a probe.

    None on a CPU, or if the probe's result matches neither.
    """
    if device.type == "cpu":
        return None
    exact = 1 + 2**-12
    product = torch.full((256, 256), exact, device=device) @ torch.eye(256, device=device)
    return {exact: False, 1.0: True}.get(product[0, 0].item())


def quantize(model: torch.nn.Module) -> str:
    """Quantize every linear layer dynamically to 8-bit weights.

    Return a mark with the share of quantized weights. Raises CaseSkippedError if this torch build can't do it.
    """
    try:
        from torch.ao.quantization import quantize_dynamic  # deprecated; a later torch may lack it
    except ImportError as error:
        raise CaseSkippedError(f"int8: torch {torch.__version__} has no dynamic quantization") from error
    if torch.backends.quantized.engine == "none":
        raise CaseSkippedError(
            f"int8: torch {torch.__version__} has no quantized matrix products for this processor"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecation warning, which users can't fix
        quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8, inplace=True)
        inside = sum(module.weight().numel() for module in _quantized(model))
    outside = sum(parameter.numel() for parameter in model.parameters())
    return f"int8 in {inside / (inside + outside):.0%} of the weights"


def stored_dtype(model: torch.nn.Module) -> torch.dtype:
    """Return the dtype of the model's quantized weights if there are any, else of its weights."""
    return torch.qint8 if _quantized(model) else next(model.parameters()).dtype


def _quantized(model: torch.nn.Module) -> list[Any]:
    dynamic = "torch.ao.nn.quantized.dynamic"
    return [module for module in model.modules() if type(module).__module__.startswith(dynamic)]
