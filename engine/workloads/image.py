"""Image classification: process a batch of images, copy it to the device, forward pass, copy logits back."""

import torch
from transformers import AutoModelForImageClassification

from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.models.network import Architecture
from benchtui.engine.workloads.base import Output
from benchtui.engine.workloads.inputs.signals import SignalBatches, image_batches
from benchtui.engine.workloads.transformer_task import NetworkTask, StepOutput
from benchtui.sessions.sweep import Config, Sweep


class Image(NetworkTask):
    """A transformers image-classification model, fed with random images."""

    probe_rows = 16

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device, AutoModelForImageClassification)

    def step(self, lap: Lap) -> StepOutput:
        """Classify the next batch."""
        _, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            logits = self._forward(**inputs).logits
        lap("forward")
        self._to_host(logits)
        lap("result")
        return StepOutput(())

    def answer(self, step_s: float) -> Output:
        """Return the logits of the first images, with shape (images, classes)."""
        logits = []
        for batch in self._probe(step_s):
            with torch.inference_mode(), self._autocast():
                logits.append(self._forward(**batch.inputs).logits[: batch.rows].float().cpu())
        return Output("logits", torch.cat(logits))

    def _make_batches(self, sweep: Sweep, architecture: Architecture) -> SignalBatches:
        return image_batches(architecture.location, architecture.config, self._config.batch_size)
