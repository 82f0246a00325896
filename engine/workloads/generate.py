"""Greedy generation: prefill (one pass over the prompts), then decode (one token per pass)."""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from msgspec.structs import replace
from transformers import AutoModelForCausalLM, StaticCache

from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.models import drafts
from benchtui.engine.workloads.inputs.batches import Side
from benchtui.engine.workloads.transformer_task import LONGEST_ANSWER_S, NetworkTask, ProbeBatch, StepOutput
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.payloads import Effective
from benchtui.sessions.sweep import Config, Sweep

Padding = dict[str, torch.Tensor]
"""Inputs that describe the padding to the network: mask (batch, length) and, if accepted, positions."""
CACHES = ("past_key_values", "cache_params", "state")
"""Names of keys and values, and of the state of a model without them, as inputs and outputs of transformers."""
LAST_LOGITS = ("logits_to_keep", "num_logits_to_keep")
"""Names, across transformers versions, of the option to compute only the last positions' logits."""


class Generate(NetworkTask):
    """Generation of a fixed number of tokens per prompt. The loop is explicit, and nothing ends it early.

    With a static cache only decoding is compiled, as in transformers' own ``generate``: all its passes have the
    same shape, while prompts may differ in length.
    """

    auto = AutoModelForCausalLM
    padding_side: Side = "left"
    generates = True
    answer_kind = "tokens"
    _cache_type: str | None = None
    _drafting: drafts.Drafting | None = None
    _generated_tokens = 0
    _probe_tokens = 1
    """Tokens generated for each prompt of the probe."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device)
        self._drafting = (
            None if config.draft == "off" else drafts.Drafting(self._network, config, sweep.weights)
        )
        self._static_cache = self._make_static_cache() if config.cache == "static" else None
        taken = inspect.signature(self._network.forward).parameters
        self._cache_name = next((name for name in CACHES if name in taken), CACHES[0])
        self._takes_positions = "position_ids" in taken
        self._prefill_options = {name: 1 for name in LAST_LOGITS if name in taken}
        self._measured_shape: tuple[int, ...] | None = None

    def step(self, lap: Lap) -> StepOutput:
        """Generate tokens for the next batch of prompts and copy them back."""
        mask, inputs = self._next(lap)
        if self._drafting:
            return self._draft(self._drafting, mask, inputs, lap)
        with torch.inference_mode(), self._autocast():
            tokens, cache = self._generate(inputs["input_ids"], inputs.get("attention_mask"), lap)
        self._to_host(tokens)
        lap("result")
        self._generated_tokens = tokens.shape[1]
        self._note_cache(mask.shape, cache)
        return StepOutput((mask,))

    def _answer(self, batch: ProbeBatch) -> torch.Tensor:
        """Return the tokens for the first rows, with shape (rows, new tokens), using the draft if any."""
        ids, mask = batch.inputs["input_ids"], batch.inputs.get("attention_mask")
        if self._drafting:
            return self._drafting.generate(ids, mask, self._probe_tokens)[: batch.rows]
        return self._generate(ids, mask, no_lap, self._probe_tokens)[0][: batch.rows]

    def _begin_probe(self, step_s: float) -> int:
        """Generate fewer tokens if all tokens of the smallest part of a batch would take too long."""
        wanted = self.new_tokens or 1
        least_s = step_s / self._config.batch_size if self._can_split else step_s
        share = min(1.0, LONGEST_ANSWER_S / least_s) if least_s else 1.0
        self._probe_tokens = max(1, int(wanted * share))
        rows = super()._begin_probe(step_s * self._probe_tokens / wanted)
        if self._probe_tokens < wanted:
            tokens = f"{self._probe_tokens} of {wanted} new tokens"
            self._shortened = f"{tokens} for {rows} of {self.probe_rows} inputs"
        return rows

    @property
    def _can_split(self) -> bool:
        return super()._can_split and self._static_cache is None

    def begin_measuring(self) -> None:
        """Return to the first batch, and count drafted tokens from here on."""
        super().begin_measuring()
        if self._drafting:
            self._drafting.restart()

    def end_measuring(self) -> None:
        """Mark the case if its draft changes the tokens of the first batch."""
        if self._drafting is None:
            return
        self._batches.rewind()
        _, inputs = self._next(no_lap)
        ids, mask = inputs["input_ids"], inputs.get("attention_mask")
        counted = self._drafting.drafted, self._drafting.accepted
        with torch.inference_mode(), self._autocast():
            plain, _ = self._generate(ids, mask, no_lap)
            drafted = self._drafting.generate(ids, mask, plain.shape[1])
        self._drafting.drafted, self._drafting.accepted = counted
        differ = (plain != drafted).any(0).nonzero()
        if len(differ):
            self.marks = (*self.marks, f"the draft changes the output from new token {int(differ[0]) + 1} on")

    def read_back(self) -> Effective:
        """Read the applied options back, including the share of accepted draft tokens."""
        effective = super().read_back()
        return replace(effective, draft_acceptance=self._drafting.acceptance) if self._drafting else effective

    def _draft(
        self, drafting: drafts.Drafting, mask: torch.Tensor, inputs: dict[str, torch.Tensor], lap: Lap
    ) -> StepOutput:
        """Generate tokens for a prompt with a draft. Prefill and decoding aren't timed separately."""
        with torch.inference_mode(), self._autocast():
            tokens = drafting.generate(inputs["input_ids"], inputs.get("attention_mask"), self.new_tokens or 1)
        lap("generate")
        self._to_host(tokens)
        lap("result")
        self._generated_tokens, self._cache_type = tokens.shape[1], "dynamic"
        return StepOutput((mask,))

    def _generate(
        self, ids: torch.Tensor, mask: torch.Tensor | None, lap: Lap, new_tokens: int | None = None
    ) -> tuple[torch.Tensor, Any]:
        """Return the new tokens (batch, new_tokens) and the KV cache. Without padding the mask is None."""
        padding = self._padding_inputs(mask)
        output = self._prefill(ids, padding)
        tokens = [_likeliest(output)]
        lap("prefill")
        for following in self._decode_inputs(ids, padding, (new_tokens or self.new_tokens or 1) - 1):
            if self._config.uses_cuda_graphs:  # the pass may overwrite what the last replay returned
                torch.compiler.cudagraph_mark_step_begin()
            output = self._forward(
                input_ids=tokens[-1], use_cache=True, **{self._cache_name: self._cache_of(output)}, **following
            )
            tokens.append(_likeliest(output))
        lap("decode")
        return torch.cat(tokens, 1), self._cache_of(output)

    def _prefill(self, ids: torch.Tensor, padding: Padding) -> Any:  # noqa: ANN401  (classes of transformers)
        """Pass the prompts through the network, which is uncompiled with a static cache."""
        inputs = {"input_ids": ids, **padding, **self._prefill_options}
        if self._static_cache is None:
            return self._forward(use_cache=True, **inputs)
        self._static_cache.reset()
        return self._network(past_key_values=self._static_cache, use_cache=True, **inputs)

    def _cache_of(self, output: Any) -> Any:  # noqa: ANN401
        """Return keys and values, or the state, after a pass."""
        return getattr(output, self._cache_name)

    def _decode_inputs(self, ids: torch.Tensor, padding: Padding, passes: int) -> Iterator[Padding]:
        if self._static_cache is None:
            return _growing(padding, passes)
        mask = padding.get("attention_mask", torch.ones_like(ids))
        return self._of_one_shape(mask, passes)

    def _of_one_shape(self, mask: torch.Tensor, passes: int) -> Iterator[Padding]:
        """Yield a mask as wide as the static cache, with 0 for positions that are still empty."""
        width, positions = mask.shape[1], mask.sum(1, keepdim=True)
        whole = torch.nn.functional.pad(mask, (0, self._cache_length - width))
        for column in range(width, width + passes):
            whole[:, column] = 1
            yield {"attention_mask": whole, **({"position_ids": positions} if self._takes_positions else {})}
            positions = positions + 1

    def _padding_inputs(self, mask: torch.Tensor | None) -> Padding:
        if mask is None:
            return {}
        positions = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0)} if self._takes_positions else {}
        return {"attention_mask": mask, **positions}

    @property
    def _cache_length(self) -> int:
        """Positions of a static cache. The last new token needs none: it is never fed back."""
        return self._config.sequence_length + (self.new_tokens or 1) - 1

    def _make_static_cache(self) -> Any:  # noqa: ANN401
        """Return the only static cache of the case, because a recorded CUDA graph uses fixed addresses."""
        if int(transformers.__version__.partition(".")[0]) < 5:
            version = transformers.__version__
            raise CaseSkippedError(f"cache=static needs transformers 5 or later; {version} is installed")
        if not getattr(self._network, "_can_compile_fullgraph", False):
            name = type(self._network).__name__
            raise CaseSkippedError(f"cache=static: transformers doesn't support a static cache for {name}")
        return StaticCache(config=self._network.config, max_cache_len=self._cache_length)

    def _others(self) -> dict[str, str | int]:
        if self._cache_type is None:
            return super()._others()
        draft = self._drafting.ran if self._drafting else "off"
        ran: dict[str, str | int] = {"cache": self._cache_type, "draft": draft}
        return {**super()._others(), **ran, "new_tokens": self._generated_tokens}

    def _note_cache(self, shape: tuple[int, ...], cache: Any) -> None:  # noqa: ANN401
        self._cache_type = "static" if isinstance(cache, StaticCache) else "dynamic"
        if shape != self._measured_shape:
            largest = max(self.kv_cache_mb or 0.0, cache_mb(cache))
            self.kv_cache_mb, self._measured_shape = largest, shape


def cache_mb(cache: Any) -> float:  # noqa: ANN401  (one of three layouts, by transformers version)
    """Size of all keys and values in a KV cache, in units of 10**6 bytes. Layers without any add nothing."""
    if hasattr(cache, "layers"):  # linear attention has neither; layers that share a cache have None
        columns = [getattr(layer, name, None) for layer in cache.layers for name in ("keys", "values")]
        tensors = [tensor for tensor in columns if tensor is not None]
    elif hasattr(cache, "key_cache"):
        tensors = [*cache.key_cache, *cache.value_cache]
    else:
        tensors = [tensor for layer in cache for tensor in layer]
    return float(sum(tensor.numel() * tensor.element_size() for tensor in tensors) / 1e6)


def _growing(padding: Padding, passes: int) -> Iterator[Padding]:
    """Yield the padding inputs of each pass with a dynamic cache, one token longer than the last."""
    for _ in range(passes):
        padding = _for_next_token(padding)
        yield padding


def _for_next_token(padding: Padding) -> Padding:
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
