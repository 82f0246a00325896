"""Forward pass of a causal language model. A sample is a sequence; its logits stay on the device."""

import torch
from transformers import AutoModelForCausalLM

from benchtui.engine.devices.base import Lap
from benchtui.engine.workloads.base import MOST_VALUES
from benchtui.engine.workloads.transformer_task import NetworkTask, ProbeBatch, StepOutput

POSITIONS = 128
"""Positions of the probe whose logits are compared, over all rows. At least 100, for a 99th percentile; fewer
only if the vocabulary is large."""


class LmForward(NetworkTask):
    """Logits for every position of a batch of sequences."""

    auto = AutoModelForCausalLM

    def step(self, lap: Lap) -> StepOutput:
        """Run one pass over the next batch."""
        mask, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            self._forward(**inputs, use_cache=False)
        lap("forward")
        return StepOutput((mask,))

    def _answer(self, batch: ProbeBatch) -> torch.Tensor:
        """Return logits of evenly spaced positions of the first rows, with shape (positions, vocabulary)."""
        whole = self._forward(**batch.inputs, use_cache=False).logits
        per_row = max(1, min(POSITIONS, MOST_VALUES // whole.shape[-1]) // self.probe_rows)
        return torch.cat([whole[row, spaced(mask, per_row)].float() for row, mask in batch.samples])


def spaced(mask: torch.Tensor, count: int) -> list[int]:
    """Return up to this many evenly spaced positions of a row, from its first to its last real token."""
    real = mask.nonzero().flatten().tolist()
    if len(real) <= count:
        return real
    last = len(real) - 1
    return [real[round(place * last / max(count - 1, 1))] for place in range(count)]
