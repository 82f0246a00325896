"""Forward pass of a causal language model. A sample is a sequence; its logits stay on the device."""

import torch
from transformers import AutoModelForCausalLM

from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.workloads.transformer_task import NetworkTask, StepOutput
from benchtui.sessions.sweep import Config, Sweep


class LmForward(NetworkTask):
    """Logits for every position of a batch of sequences."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device, AutoModelForCausalLM)

    def step(self, lap: Lap) -> StepOutput:
        """Run one pass over the next batch."""
        mask, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            self._forward(**inputs, use_cache=False)
        lap("forward")
        return StepOutput((mask,))
