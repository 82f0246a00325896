"""Embedding of texts: forward pass of an encoder or decoder, pooled to one vector per text."""

import inspect
import json
from typing import Any

import torch
from transformers import AutoModel

from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.exception_text import first_line
from benchtui.engine.models.loading import ModelLocation, optional_file
from benchtui.engine.models.network import Architecture
from benchtui.engine.workloads.transformer_task import NetworkTask, ProbeBatch, StepOutput
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.text.formatting import listed

POOLING_FILE = "1_Pooling/config.json"
"""File in which models of the library sentence-transformers declare their pooling."""
_STATED = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}
_REMEDY = "set pooling to cls, mean or last"


class Embed(NetworkTask):
    """Any transformers model with hidden states, which are pooled over the tokens of each text.

    Of a model of texts and images, such as CLIP, it is the text part.
    """

    auto = AutoModel
    probe_rows = 16
    output = "last_hidden_state"
    answer_kind = "embeddings"
    _pooling = "mean"

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device)
        taken = inspect.signature(self._network.forward).parameters
        self._options = {"use_cache": False} if "use_cache" in taken else {}

    def step(self, lap: Lap) -> StepOutput:
        """Embed the next batch."""
        mask, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            hidden = self._hidden_states(inputs)
            lap("forward")
            vectors = pool(hidden, inputs.get("attention_mask"), self._pooling)
        lap("pool")
        self._to_host(vectors)
        lap("result")
        return StepOutput((mask,))

    def _answer(self, batch: ProbeBatch) -> torch.Tensor:
        """Return the vectors of the first texts, with shape (texts, dimensions)."""
        hidden = self._hidden_states(batch.inputs)
        return pool(hidden, batch.inputs.get("attention_mask"), self._pooling)[: batch.rows].float()

    def _hidden_states(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        output = self._forward(**inputs, **self._options)
        hidden: torch.Tensor | None = getattr(output, self.output, None)
        if hidden is None:
            raise CaseSkippedError(f"embed: {self.model.architecture} returns no hidden states of texts")
        return hidden

    def _extend(self, network: Any) -> Any:  # noqa: ANN401  (a model of transformers)
        """Return the text part of a network that has one besides that for images or audio."""
        if not hasattr(network, "get_text_features") or not hasattr(network, "text_model"):
            return network
        self.marks = (*self.marks, f"only the text part of {self.model.architecture}")
        return network.text_model

    def _require_room(self, architecture: Architecture) -> None:
        super()._require_room(architecture)
        requested = self._config.pooling
        self._pooling = stated_pooling(architecture.location) if requested == "auto" else requested

    def _others(self) -> dict[str, str | int]:
        return {**super()._others(), "pooling": self._pooling}


def pool(hidden: torch.Tensor, mask: torch.Tensor | None, pooling: str) -> torch.Tensor:
    """Return a vector per text, with shape (batch, dimensions), from hidden states (batch, length, dimensions).

    ``mean`` is over the tokens without padding, ``cls`` the first token and ``last`` the last one before any
    padding. The mask has shape (batch, length); None without padding.
    """
    if pooling == "cls":
        return hidden[:, 0]
    if mask is None:
        return hidden[:, -1] if pooling == "last" else hidden.mean(1)
    if pooling == "last":
        return hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(1) - 1]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1)


def stated_pooling(location: ModelLocation) -> str:
    """Return the pooling that the model declares for sentence-transformers, or ``mean`` if it declares none.

    Raises:
        BenchtuiError: If the file of the declaration can't be read.
        CaseSkippedError: If it declares a mode that this task lacks, or several, which are concatenated.
    """
    path = optional_file(location, POOLING_FILE)
    if path is None:
        return "mean"
    try:
        stated: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: can't be read: {first_line(error)}; {_REMEDY}") from error
    if not isinstance(stated, dict):
        raise BenchtuiError(f"{path}: not a JSON object; {_REMEDY}")
    modes = [key for key, value in stated.items() if key.startswith("pooling_mode_") and value is True]
    if not modes:
        return "mean"
    if len(modes) > 1 or modes[0] not in _STATED:
        raise CaseSkippedError(f"embed: {location.name} declares {listed(modes)}, not supported; {_REMEDY}")
    return _STATED[modes[0]]
