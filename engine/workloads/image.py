"""Image classification: process a batch of images, copy it to the device, forward pass, copy logits back."""

from transformers import AutoModelForImageClassification

from benchtui.engine.devices.base import Lap
from benchtui.engine.models.network import Architecture
from benchtui.engine.workloads.classify import Classify
from benchtui.engine.workloads.inputs.signals import SignalBatches, image_batches
from benchtui.engine.workloads.transformer_task import StepOutput
from benchtui.sessions.sweep import Sweep


class Image(Classify):
    """A transformers image-classification model, fed with random images."""

    auto = AutoModelForImageClassification

    def step(self, lap: Lap) -> StepOutput:
        """Classify the next batch."""
        super().step(lap)
        return StepOutput(())  # an image has no tokens to count

    def _require_room(self, architecture: Architecture) -> None:
        """Do nothing: images have no sequence length."""

    def _make_batches(self, sweep: Sweep, architecture: Architecture) -> SignalBatches:
        return image_batches(architecture.location, architecture.config, self._config.batch_size)
