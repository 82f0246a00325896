"""Greedy generation: prefill (one pass over the prompts), then decode (one token per pass)."""

import inspect
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.models.network import Architecture
from benchtui.engine.workloads.batches import Side
from benchtui.engine.workloads.transformer_task import NetworkTask, StepOutput
from benchtui.sessions.sweep import Config, Sweep

LAST_LOGITS = ("logits_to_keep", "num_logits_to_keep")
"""Names, across transformers versions, of the option to compute only the last positions' logits."""


class Generate(NetworkTask):
    """Generation of a fixed number of tokens per prompt. The loop is explicit, and nothing ends it early."""

    padding_side: Side = "left"

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device, AutoModelForCausalLM)
        taken = inspect.signature(self._network.forward).parameters
        self._takes_positions = "position_ids" in taken
        self._prefill_options = {name: 1 for name in LAST_LOGITS if name in taken}
        self._measured_shape: tuple[int, ...] | None = None

    def step(self, lap: Lap) -> StepOutput:
        """Generate tokens for the next batch of prompts and copy them back."""
        mask, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            tokens, cache = self._generate(inputs["input_ids"], inputs.get("attention_mask"), lap)
        self._to_host(tokens)
        lap("result")
        self._note_cache(mask.shape, cache)
        return StepOutput((mask,))

    def _generate(self, ids: torch.Tensor, mask: torch.Tensor | None, lap: Lap) -> tuple[torch.Tensor, Any]:
        """Return the new tokens (batch, new_tokens) and the KV cache. Without padding the mask is None."""
        padding = self._padding_inputs(mask)
        output = self._pass(ids, None, **padding, **self._prefill_options)
        tokens = [_likeliest(output)]
        lap("prefill")
        for _ in range(1, self.new_tokens or 1):
            padding = _for_next_token(padding)
            output = self._pass(tokens[-1], output.past_key_values, **padding)
            tokens.append(_likeliest(output))
        lap("decode")
        return torch.cat(tokens, 1), output.past_key_values

    def _padding_inputs(self, mask: torch.Tensor | None) -> dict[str, torch.Tensor]:
        """Return the inputs that tell the network about padding, if there is any."""
        if mask is None:
            return {}
        positions = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0)} if self._takes_positions else {}
        return {"attention_mask": mask, **positions}

    def _pass(self, ids: torch.Tensor, cache: Any, **inputs: object) -> Any:  # noqa: ANN401  (classes of transformers)
        return self._forward(input_ids=ids, past_key_values=cache, use_cache=True, **inputs)

    def _new_tokens(self, sweep: Sweep) -> int | None:
        return sweep.generate.new_tokens

    def _require_room(self, architecture: Architecture) -> None:
        prompt, new = self._config.sequence_length, self.new_tokens or 0
        architecture.require_room(prompt + new, f"sequence_length {prompt} and {new} new tokens")

    def _note_cache(self, shape: tuple[int, ...], cache: Any) -> None:  # noqa: ANN401
        if shape != self._measured_shape:
            largest = max(self.kv_cache_mb or 0.0, cache_mb(cache))
            self.kv_cache_mb, self._measured_shape = largest, shape


def cache_mb(cache: Any) -> float:  # noqa: ANN401  (one of three layouts, by transformers version)
    """Size of all keys and values in a KV cache, in units of 10**6 bytes."""
    if hasattr(cache, "layers"):
        tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    elif hasattr(cache, "key_cache"):
        tensors = [*cache.key_cache, *cache.value_cache]
    else:
        tensors = [tensor for layer in cache for tensor in layer]
    return float(sum(tensor.numel() * tensor.element_size() for tensor in tensors) / 1e6)


def _for_next_token(padding: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Extend the padding inputs of a pass by the token that it generated."""
    if not padding:
        return {}
    mask = padding["attention_mask"]
    following = {"attention_mask": torch.cat((mask, mask.new_ones(len(mask), 1)), 1)}
    if "position_ids" in padding:
        following["position_ids"] = padding["position_ids"][:, -1:] + 1
    return following


def _likeliest(output: Any) -> torch.Tensor:  # noqa: ANN401
    token: torch.Tensor = output.logits[:, -1].argmax(-1, keepdim=True)
    return token
