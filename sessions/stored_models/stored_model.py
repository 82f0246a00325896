"""Stored model: size, task and shape of a model, read from its files."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from benchtui.sessions.stored_models.hub_cache import CONFIG
from benchtui.sessions.stored_models.hub_names import may_be_model
from benchtui.sessions.stored_models.measurable import (
    StatedTask,
    configuration,
    has_tokenizer,
    positions,
    stated_task,
    text_part,
)

WEIGHTS = (".safetensors", ".bin")
"""Endings of files of weights, the preferred one first."""
NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "scheduler.bin")
LARGEST = 10**9
"""Largest number of a configuration that is believed."""
_HALF = ("float16", "bfloat16")


class ModelShape(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of a transformer, from its configuration. One of encoder and decoder, if it has both."""

    layers: int
    hidden: int
    intermediate: int
    """Width inside the feed-forward layers."""
    key_values: int = 0
    """Numbers that the cache of keys and values keeps per layer and token; 0 for a model without attention."""
    vocabulary: int = 0

    @property
    def parameters(self) -> int:
        """Approximate number of parameters: attention, feed-forward layers and the embedding."""
        layer = self.hidden * (2 * self.hidden + self.key_values + 2 * self.intermediate)
        return self.layers * layer + self.vocabulary * self.hidden


class StoredModel(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a model from its files."""

    folder: Path
    weights_bytes: int = 0
    """Size of its weights; 0 without any."""
    task: StatedTask | None = None
    shape: ModelShape | None = None
    half: bool = False
    """Whether the weights are stored with 16 bits."""
    positions: int = 0
    """Longest text in tokens; 0 if the configuration doesn't say."""
    tokenizer: bool = False
    """Whether the files of a tokenizer are there."""

    @property
    def parameters(self) -> int | None:
        """Approximate number of parameters; None if neither weights nor the configuration say."""
        if self.weights_bytes:
            return self.weights_bytes // (2 if self.half else 4)
        return self.shape.parameters if self.shape else None


def read_model(folder: Path) -> StoredModel:
    """Read what a folder says about its model. What can't be read is unknown."""
    config = text_part(configuration(folder))
    return StoredModel(
        folder=folder,
        weights_bytes=weights_bytes(folder),
        task=stated_task(folder),
        shape=_shape(config),
        half=str(config.get("dtype", config.get("torch_dtype"))) in _HALF,
        positions=positions(config),
        tokenizer=has_tokenizer(folder),
    )


def holds_model(folder: Path) -> bool:
    """Return whether a folder holds a model: its configuration."""
    try:
        return (folder / CONFIG).is_file()
    except (OSError, ValueError):
        return False


def missing_reason(model: str, folder: Path | None) -> str:
    """Return why a model with files in this folder can't be loaded; empty if it can, or may be on the hub.

    A name with one slash may be a hub id, unless its first part is a folder here.
    """
    if folder is not None:
        return "" if holds_model(folder) else "no model in this folder: it has no config.json"
    beside_folder = "/" in model and os.path.isdir(model.partition("/")[0])
    return (
        "" if may_be_model(model) and not beside_folder else "no such folder, and not in the cache of the hub"
    )


def weights_bytes(folder: Path) -> int:
    """Return the size of the weights in a folder: of safetensors files, else of torch's own; 0 without any."""
    sizes = dict.fromkeys(WEIGHTS, 0)
    with suppress(OSError):
        for path in folder.iterdir():
            if path.suffix in sizes and path.name not in NOT_WEIGHTS:
                sizes[path.suffix] += path.stat().st_size
    return next(filter(None, sizes.values()), 0)


def _shape(config: Mapping[str, Any]) -> ModelShape | None:
    """Return the sizes that a configuration states under one of the names that transformers uses."""
    layers = _number(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers")
    hidden = _number(config, "hidden_size", "n_embd", "d_model", "dim")
    if not layers or not hidden:
        return None
    heads = _number(config, "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
    intermediate = _number(config, "intermediate_size", "n_inner", "d_ff", "hidden_dim", "encoder_ffn_dim")
    head = _number(config, "head_dim", "d_kv") or (hidden // heads if heads else 0)
    return ModelShape(
        layers=layers,
        hidden=hidden,
        intermediate=intermediate or 4 * hidden,
        key_values=2 * head * (_number(config, "num_key_value_heads") or heads),
        vocabulary=_number(config, "vocab_size"),
    )


def _number(config: Mapping[str, Any], *names: str) -> int:
    """Return the first positive whole number of these entries; 0 without one."""
    values = (config.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and 0 < value <= LARGEST), 0)
