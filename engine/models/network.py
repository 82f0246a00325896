"""Network: a transformers model on its device, with marks about its weights."""

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from transformers.utils.import_utils import is_flash_attn_2_available, is_flash_attn_3_available

from benchtui.engine.models import attention, precision
from benchtui.engine.models import loading as models
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.payloads import Model
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.options import FLASH


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded network, in evaluation mode."""

    module: Any
    model: Model
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """Configuration and location of a model."""

    location: models.ModelLocation
    config: Any

    @property
    def vocabulary(self) -> int:
        """Vocabulary size of the model."""
        return int(self.config.get_text_config().vocab_size)

    def require_room(self, length: int, needed: str) -> None:
        """Raise CaseSkippedError if a sequence of this length exceeds the model's positions."""
        most = getattr(self.config, "max_position_embeddings", None)
        if most and length > most:
            raise CaseSkippedError(f"{needed}: {self.location.name} supports at most {most} positions")


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
    implementation = attention.IMPLEMENTATIONS.get(config.attention, config.attention)
    options = {} if implementation is None else {"attn_implementation": implementation}
    make = _random if sweep.weights == "random" else _pretrained
    module, marks = make(auto, architecture, options)
    module = module.to(device=device, dtype=precision.weights_dtype(config.precision)).eval()
    model = _describe(module, architecture.location, sweep)
    if config.precision == "int8":
        marks = (*marks, precision.quantize(module))
    return Network(module, model, marks)


def _random(auto: Any, architecture: Architecture, options: dict[str, str]) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401
    with models.random_weights() as fill:
        module = auto.from_config(architecture.config, **options)
    fill(module)
    return module, ("random weights",)


def _pretrained(auto: Any, architecture: Architecture, options: dict[str, str]) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401
    load = partial(auto.from_pretrained, output_loading_info=True, **options)
    module, loading = models.load("model", architecture.location, load)
    missing = ", ".join(sorted(loading["missing_keys"]))
    return module, ((f"random weights for {missing}: not in the checkpoint",) if missing else ())


def _has_flash(version: str) -> bool:
    """Whether flash attention is available: its package, or ``kernels``, which fetches it from the hub."""
    available = is_flash_attn_2_available if version == "flash" else is_flash_attn_3_available
    return available() or find_spec("kernels") is not None


def _describe(module: Any, location: models.ModelLocation, sweep: Sweep) -> Model:  # noqa: ANN401
    config = module.config
    return Model(
        name=location.name,
        architecture=type(module).__name__,
        parameters=sum(parameter.numel() for parameter in module.parameters()),
        hidden_size=getattr(config, "hidden_size", None),
        hidden_layers=getattr(config, "num_hidden_layers", None),
        attention_heads=getattr(config, "num_attention_heads", None),
        weights=sweep.weights,
        source=location.source,
    )
