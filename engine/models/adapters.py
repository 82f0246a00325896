"""Low-rank adapters (LoRA) for training, and Liger layers."""

from importlib import import_module
from typing import Any

from benchtui.engine.exception_text import described
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep.library_names import lora_arguments


def add_lora(network: Any, rank: str) -> Any:  # noqa: ANN401  (a model of transformers)
    """Add adapters of a rank, such as ``r8``, to every linear layer except the output layer.

    Only the adapters are trained. Raises CaseSkippedError if the package peft isn't installed.
    """
    try:
        peft: Any = import_module("peft")
    except ImportError as error:
        raise CaseSkippedError(f"lora {rank} needs the package peft: pip install 'benchtui[lora]'") from error
    options = peft.LoraConfig(**lora_arguments(rank))
    try:
        return peft.get_peft_model(network, options)
    except ValueError as error:
        raise CaseSkippedError(f"lora {rank}: {described(error)}") from error


def lora_rank(network: Any) -> str:  # noqa: ANN401
    """Return the rank of the network's adapters, in the notation of the option ``lora``, or ``off``."""
    ranks = {
        layer.out_features
        for module in network.modules()
        for layer in getattr(module, "lora_A", {}).values()
        if layer.weight.requires_grad
    }
    return "+".join(f"r{rank}" for rank in sorted(ranks)) or "off"


def trained_share(network: Any) -> float:  # noqa: ANN401
    """Return the share of trained weights, 0 to 1."""
    parameters = list(network.parameters())
    trained = sum(int(parameter.numel()) for parameter in parameters if parameter.requires_grad)
    return trained / sum(int(parameter.numel()) for parameter in parameters)


def apply_liger(network: Any) -> None:  # noqa: ANN401
    """Replace layers of the network with Liger layers. Raises CaseSkippedError if that's impossible."""
    try:
        liger: Any = import_module("liger_kernel.transformers")
    except ImportError as error:
        raise CaseSkippedError("liger needs the package liger-kernel") from error
    liger._apply_liger_kernel_to_instance(model=network)
    if not uses_liger(network):
        raise CaseSkippedError(f"liger has no layers for {type(network).__name__}")


def uses_liger(network: Any) -> bool:  # noqa: ANN401
    """Return whether any layer of the network runs Liger code."""
    forwards = (getattr(module, "forward", None) for module in network.modules())
    return any("liger_kernel" in (getattr(forward, "__module__", None) or "") for forward in forwards)
