"""Quantized weights: applied to a loaded network, and read back from its modules."""

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torch

from benchtui.engine.exception_text import described
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep.library_names import TORCHAO_CONFIGS

CHECKPOINT, DEQUANTIZED = "checkpoint", "dequantized"

_EXTRA = "pip install 'benchtui[quantization]'"
_REFUSALS = (ImportError, NotImplementedError, AssertionError, RuntimeError, ValueError, TypeError)
"""Exceptions that the libraries raise for an unsupported device, dtype or layer."""


def quantize(network: Any, kind: str, device: torch.device) -> str:  # noqa: ANN401  (a model of transformers)
    """Quantize every linear layer except the output layer. Return a mark with the share of quantized weights.

    Both libraries also skip the output layer when transformers loads a model with them. ``Conv1D`` layers,
    GPT-2's linear layers, are converted to linear layers first. Raises CaseSkippedError if the library is
    missing, or doesn't support this machine or network.
    """
    _linearize(network)
    before = sum(parameter.numel() for parameter in network.parameters())
    layers = list(_linear_layers(network))
    if not layers:
        raise CaseSkippedError(
            f"quantization {kind}: {type(network).__name__} has no linear layers to quantize"
        )
    inside = sum(layer.weight.numel() for _, layer in layers)
    apply = _quantize_bnb if kind.startswith("bnb-") else _quantize_torchao
    try:
        apply(network, kind, device)
    except _REFUSALS as error:
        raise CaseSkippedError(f"quantization {kind}: {described(error)}") from error
    return f"{kind} in {inside / before:.0%} of the weights"


def read_back(network: torch.nn.Module) -> str:
    """Return how the network's weights are quantized, according to the classes of its layers and weights.

    A checkpoint that declares a quantization but has floating-point weights is ``dequantized``.
    """
    kinds = Counter(filter(None, map(_kind_of, network.modules())))
    stated = getattr(getattr(network, "config", None), "quantization_config", None)
    if stated is not None:
        return CHECKPOINT if kinds or _has_small_weights(network) else DEQUANTIZED
    return kinds.most_common(1)[0][0] if kinds else "off"


def stated_method(network: Any) -> str | None:  # noqa: ANN401  (a model of transformers)
    """Return the quantization declared by the checkpoint, such as ``fp8``; None without one."""
    stated = getattr(network.config, "quantization_config", None)
    method = stated.get("quant_method") if isinstance(stated, dict) else getattr(stated, "quant_method", None)
    return None if stated is None else str(getattr(method, "value", method) or "unknown")


def weights_mb(network: torch.nn.Module) -> float:
    """Return the memory of all weights and buffers, including their scales, in units of 10**6 bytes."""
    tensors = {id(tensor): tensor for tensor in (*network.parameters(), *network.buffers())}
    inner = {
        piece.untyped_storage().data_ptr(): piece for whole in tensors.values() for piece in _pieces(whole)
    }
    return sum(piece.numel() * piece.element_size() for piece in inner.values()) / 1e6


def layer_classes(network: torch.nn.Module) -> dict[str, int]:
    """Return the number of linear layers by class, which includes the class of quantized weights."""
    return dict(Counter(_layer_class(layer) for layer in network.modules() if _is_linear(layer)))


def _linearize(network: Any) -> None:  # noqa: ANN401
    for name, layer in list(network.named_modules()):
        if type(layer).__name__ == "Conv1D":
            inputs, outputs = layer.weight.shape
            linear = torch.nn.Linear(inputs, outputs, device="meta")
            linear.weight = torch.nn.Parameter(layer.weight.data.t().contiguous(), requires_grad=False)
            linear.bias = layer.bias
            network.set_submodule(name, linear)


def _quantize_torchao(network: Any, kind: str, device: torch.device) -> None:  # noqa: ANN401
    ao = _package("torchao.quantization", kind)
    name, arguments = TORCHAO_CONFIGS[kind]
    config, kept = getattr(ao, name)(**arguments), network.get_output_embeddings()
    ao.quantize_(network, config, lambda layer, _: type(layer) is torch.nn.Linear and layer is not kept)


def _quantize_bnb(network: Any, kind: str, device: torch.device) -> None:  # noqa: ANN401
    bnb = _package("bitsandbytes", kind)
    for name, layer in list(_linear_layers(network)):
        network.set_submodule(name, _bnb_layer(bnb, kind, layer).to(device))


def _bnb_layer(bnb: Any, kind: str, layer: torch.nn.Linear) -> Any:  # noqa: ANN401
    """Return a replacement for the layer. Its weights are quantized when they are moved to a device."""
    size, weight = (layer.in_features, layer.out_features, layer.bias is not None), layer.weight.data
    if kind == "bnb-nf4":
        new = bnb.nn.Linear4bit(*size, compute_dtype=weight.dtype, quant_type="nf4")
        new.weight = bnb.nn.Params4bit(weight, requires_grad=False, quant_type="nf4")
    else:
        new = bnb.nn.Linear8bitLt(*size, has_fp16_weights=False)
        new.weight = bnb.nn.Int8Params(weight, requires_grad=False, has_fp16_weights=False)
    new.bias = layer.bias
    return new


def _package(name: str, kind: str) -> Any:  # noqa: ANN401  (a module of an optional package)
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise CaseSkippedError(f"quantization {kind} needs the package {package}: {_EXTRA}") from error


def _linear_layers(network: Any) -> Iterator[tuple[str, torch.nn.Linear]]:  # noqa: ANN401
    """Yield the linear layers with their names, without the output layer."""
    kept = network.get_output_embeddings()
    for name, layer in network.named_modules():
        if type(layer) is torch.nn.Linear and layer is not kept:
            yield name, layer


def _is_linear(layer: torch.nn.Module) -> bool:
    return isinstance(layer, torch.nn.Linear) or type(layer).__name__ in (
        "Conv1D",
        "NonDynamicallyQuantizableLinear",
    )


def _layer_class(layer: torch.nn.Module) -> str:
    weight = getattr(layer, "weight", None)
    plain = callable(weight) or type(weight) in (torch.nn.Parameter, torch.Tensor)
    return type(layer).__name__ if plain else f"{type(layer).__name__} of {type(weight).__name__}"


def _kind_of(layer: torch.nn.Module) -> str | None:
    """Return how a layer's weights are quantized, in the notation of the option; None if they aren't."""
    weight: Any = getattr(layer, "weight", None)
    match type(layer).__name__, type(weight).__name__:
        case "Linear8bitLt", _:
            return "bnb-int8" if weight.dtype == torch.int8 else None
        case "Linear4bit", _:
            state = getattr(weight, "quant_state", None)
            return f"bnb-{state.quant_type}" if state is not None else None
        case _, "Int8Tensor":
            return "torchao-int8" if weight.act_quant_kwargs is None else "torchao-int8-dynamic"
        case _, "Float8Tensor":
            return "torchao-fp8"
        case _, name if name.startswith("Int4"):
            return "torchao-int4"
    return None


def _has_small_weights(network: torch.nn.Module) -> bool:
    """Return whether any weight matrix is stored in less than 16 bits."""
    tensors = (*network.parameters(), *network.buffers())
    return any(
        tensor.dim() > 1 and tensor.element_size() == 1 for tensor in tensors if tensor.dtype != torch.bool
    )


def _pieces(tensor: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401  (a tensor, or a subclass that contains others)
    """Yield the plain tensors that a tensor consists of."""
    if hasattr(tensor, "__tensor_flatten__"):
        for name in tensor.__tensor_flatten__()[0]:
            yield from _pieces(getattr(tensor, name))
        return
    yield tensor
    state = getattr(tensor, "quant_state", None)
    scales = (getattr(state, "absmax", None), getattr(state, "code", None), getattr(tensor, "SCB", None))
    yield from (scale for scale in scales if isinstance(scale, torch.Tensor))
