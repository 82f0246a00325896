"""Classification of texts or images: prepare a batch, copy it to the device, forward pass, copy logits back."""

from typing import Any, ClassVar

import torch
from transformers import AutoModelForImageClassification, AutoModelForSequenceClassification

from benchtui.engine.devices.base import Lap
from benchtui.engine.models.network import Architecture
from benchtui.engine.workloads.inputs.signals import SignalBatches, image_batches
from benchtui.engine.workloads.transformer_task import NetworkTask, StepOutput
from benchtui.sessions.sweep import Sweep, task_named


class Classify(NetworkTask):
    """A transformers sequence-classification model."""

    auto: ClassVar[Any] = AutoModelForSequenceClassification
    probe_rows = 16

    def step(self, lap: Lap) -> StepOutput:
        """Classify the next batch."""
        mask, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            logits = self._forward(**inputs).logits
        lap("forward")
        self._to_host(logits)
        lap("result")
        return StepOutput((mask,))

    def _extend(self, network: Any) -> Any:  # noqa: ANN401  (a model of transformers)
        """Let the end-of-text token pad if the network of texts has no padding token."""
        stated: Any = network.config.get_text_config()
        if task_named(self._task).texts and getattr(stated, "pad_token_id", None) is None and self.samples > 1:
            ending = getattr(stated, "eos_token_id", None)
            ending = ending[0] if isinstance(ending, list) else ending
            stated.pad_token_id = network.config.pad_token_id = ending or 0
            self.marks = (*self.marks, "no padding token configured: the end-of-text token pads")
        return network


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
