"""Network: a transformers model on its device, with marks about its weights."""

from functools import partial
from importlib.util import find_spec
from typing import Any

import msgspec
import torch
from msgspec.structs import replace
from transformers.utils import import_utils

from benchtui.engine.models import attention, precision, quantization
from benchtui.engine.models import loading as models
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.payloads import Model
from benchtui.sessions.stored_models.measurable import room_reason
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.options import FLASH


class Network(msgspec.Struct, frozen=True):
    """A loaded network, in evaluation mode."""

    module: Any
    model: Model
    marks: tuple[str, ...]


class Architecture(msgspec.Struct, frozen=True):
    """Configuration and location of a model."""

    location: models.ModelLocation
    config: Any

    @property
    def vocabulary(self) -> int:
        """Vocabulary size of the model. Raises CaseSkippedError if it has none."""
        size = getattr(self.config.get_text_config(), "vocab_size", None)
        if size is None:
            raise CaseSkippedError(f"{self.location.name} states no vocab_size, which random tokens need")
        return int(size)

    def require_room(self, length: int, new_tokens: int) -> None:
        """Raise CaseSkippedError if texts of this length, and new tokens, exceed the model's positions."""
        if reason := room_reason(self.config.to_dict(), self.location.name, length, new_tokens):
            raise CaseSkippedError(reason)


def load_network(
    auto: Any,  # noqa: ANN401  (one of transformers' Auto classes)
    architecture: Architecture,
    sweep: Sweep,
    config: Config,
    device: torch.device,
) -> Network:
    """Load a network in the case's precision. Raises BenchtuiError if that's impossible."""
    if config.attention in FLASH and not _has_flash(config.attention):
        package = "flash-attn" if config.attention == "flash" else "flash-attn-3"
        raise CaseSkippedError(
            f"{config.attention} attention needs the package {package}, built for this version of torch,"
            " or the package kernels"
        )
    implementation = attention.select(config.attention)
    options: dict[str, Any] = {} if implementation is None else {"attn_implementation": implementation}
    if implementation is None:
        attention.require_no_hub_kernel(architecture.location.name, architecture.config)
    make = _random if sweep.weights == "random" else _pretrained
    try:
        module, marks, digest = make(auto, architecture, options)
    except (BenchtuiError, ValueError) as error:
        if reason := attention.unsupported_reason(config.attention, error):
            raise CaseSkippedError(reason) from error
        if "Unrecognized configuration class" in str(error):
            kind = architecture.config.model_type
            raise CaseSkippedError(
                f"{sweep.task}: transformers has no such model of the type {kind}"
            ) from error
        raise
    if quantization.stated_method(module) is None:
        module = module.to(dtype=precision.weights_dtype(config.precision))
    module = module.to(device=device).eval()
    model = replace(_describe(module, architecture.location, sweep), random_weights=digest)
    emulated = precision.emulation_marks(config.precision, device)
    return Network(module, model, (*marks, *_quantize(module, config, device), *emulated))


def _quantize(module: Any, config: Config, device: torch.device) -> tuple[str, ...]:  # noqa: ANN401
    """Quantize the network as requested, and return marks about it."""
    stated = quantization.stated_method(module)
    if config.quantization == quantization.CHECKPOINT and stated is None:
        raise CaseSkippedError("quantization checkpoint: the weights of this model aren't stored quantized")
    if stated is not None:
        lost = quantization.read_back(module) == quantization.DEQUANTIZED
        return (f"{stated} checkpoint was dequantized to {precision.stored_dtype(module)}",) if lost else ()
    if config.precision == "int8" and config.backend == "torch":
        return (precision.quantize(module),)
    if config.quantization != "off":
        return (quantization.quantize(module, config.quantization, device),)
    return ()


Loaded = tuple[Any, tuple[str, ...], str | None]
"""A module, marks about its weights, and the digest of random ones."""


def _random(auto: Any, architecture: Architecture, options: dict[str, Any]) -> Loaded:  # noqa: ANN401
    with models.random_weights() as fill:
        module = auto.from_config(architecture.config, trust_remote_code=False, **options)
    return module, ("random weights",), fill(module)


def _pretrained(auto: Any, architecture: Architecture, options: dict[str, Any]) -> Loaded:  # noqa: ANN401
    load = partial(auto.from_pretrained, output_loading_info=True, **options)
    module, loading = models.load("model", architecture.location, load)
    missing = ", ".join(sorted(loading["missing_keys"]))
    return module, ((f"random weights for {missing}: not in the checkpoint",) if missing else ()), None


def _has_flash(version: str) -> bool:
    """Whether flash attention is available: its package, or ``kernels``, which fetches it from the hub."""
    name = "is_flash_attn_2_available" if version == "flash" else "is_flash_attn_3_available"
    is_available = getattr(import_utils, name, None)  # older transformers don't know FlashAttention 3
    return bool(is_available and is_available()) or find_spec("kernels") is not None


def _describe(module: Any, location: models.ModelLocation, sweep: Sweep) -> Model:  # noqa: ANN401
    sizes = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    values = (getattr(module.config, name, None) for name in sizes)
    # some types state a list: one for each stage
    width, layers, heads = (value if isinstance(value, int) else None for value in values)
    return Model(
        name=location.name,
        architecture=type(module).__name__,
        parameters=sum(parameter.numel() for parameter in module.parameters()),
        hidden_size=width,
        hidden_layers=layers,
        attention_heads=heads,
        weights=sweep.weights,
        source=location.source,
        revision=location.revision,
    )
