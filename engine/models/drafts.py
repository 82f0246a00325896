"""Assisted generation: a draft proposes tokens, and the model checks all of them in one pass."""

from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

from benchtui.engine.models import attention, loading, precision
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Config, Weights
from benchtui.sessions.sweep.options import LOOKUP


class Drafting:
    """Generation with a draft by transformers' ``generate``, and the number of accepted tokens.

    A hook counts the model's passes: each returns one token more than it accepts.
    """

    def __init__(self, network: Any, config: Config, weights: Weights) -> None:  # noqa: ANN401
        """Load the draft's model, if it has one. Raises CaseSkippedError if the model can't use a draft."""
        if not hasattr(network, "generate"):
            raise CaseSkippedError(f"draft {config.draft}: {type(network).__name__} has no method generate")
        self._network = network
        self._options = _options(config, weights, network)
        self._prompt = 0
        self._passes = self.drafted = self.accepted = 0
        network.register_forward_pre_hook(self._count_pass, with_kwargs=True)

    @property
    def acceptance(self) -> float | None:
        """Share of drafted tokens that were accepted, 0 to 1. None if none was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def ran(self) -> str:
        """Draft that proposed tokens, in the notation of the option; ``off`` if no token was drafted."""
        if not self.drafted:
            return "off"
        lookup = self._options.get("prompt_lookup_num_tokens")
        return f"{LOOKUP}{lookup}" if lookup else str(self._options["assistant_model"].name_or_path)

    def restart(self) -> None:
        """Reset the counts to zero."""
        self.drafted = self.accepted = 0

    def generate(self, ids: torch.Tensor, mask: torch.Tensor | None, new_tokens: int) -> torch.Tensor:
        """Return the new tokens of one prompt, with shape (1, new_tokens). No token ends generation early."""
        self._prompt, self._passes, drafted = ids.shape[1], 0, self.drafted
        whole: torch.Tensor = self._network.generate(
            ids,
            attention_mask=torch.ones_like(ids) if mask is None else mask,
            max_new_tokens=new_tokens,
            min_new_tokens=new_tokens,
            do_sample=False,
            eos_token_id=_end_token(self._network),
            pad_token_id=0,
            **self._options,
        )
        self.accepted += min(new_tokens - self._passes, self.drafted - drafted)
        self._prompt = 0  # passes without a draft don't count
        return whole[:, ids.shape[1] :]

    def _count_pass(self, _module: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        if self._prompt and ids is not None:
            already_there = self._prompt if self._passes == 0 else 1
            self.drafted += max(0, ids.shape[1] - already_there)
            self._passes += 1


def _end_token(network: Any) -> int | None:  # noqa: ANN401
    """Return no token, or one beyond the vocabulary for transformers 4, which needs one to look tokens up."""
    return network.config.vocab_size if int(transformers.__version__.partition(".")[0]) < 5 else None


def _options(config: Config, weights: Weights, network: Any) -> dict[str, Any]:  # noqa: ANN401
    if config.draft.startswith(LOOKUP):
        return {"prompt_lookup_num_tokens": int(config.draft.removeprefix(LOOKUP))}
    location = loading.locate(config.draft, "pretrained")
    if weights == "random":
        raise CaseSkippedError(f"draft {config.draft}: a model as draft needs trained weights; use lookup:N")
    stated = loading.load("configuration of the draft", location, AutoConfig.from_pretrained)
    attention.require_no_hub_kernel(config.draft, stated)
    assistant = loading.load("draft", location, AutoModelForCausalLM.from_pretrained)
    if assistant.config.vocab_size != network.config.vocab_size:
        raise CaseSkippedError(f"draft {config.draft} has a different vocabulary from {config.model}")
    dtype = precision.weights_dtype(config.precision)
    assistant.name_or_path = config.draft
    assistant = torch.nn.Module.to(assistant, device=network.device, dtype=dtype)
    return {"assistant_model": assistant.eval()}
