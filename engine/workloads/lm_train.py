"""Training of a causal language model: forward with labels, backward, one AdamW step."""

from math import isfinite

import torch
from transformers import AutoModelForCausalLM

from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.workloads.base import StepCounts
from benchtui.engine.workloads.transformer_task import NetworkTask, StepOutput
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Config, Sweep

IGNORED = -100
"""Label that the loss in transformers ignores. Used for padding."""


class LmTrain(NetworkTask):
    """One optimizer step on the gradients of one batch or of several accumulated ones.

    With ``amp-fp16``, gradients are scaled (``torch.amp.GradScaler``). Unscaling is timed as part of
    ``optimizer``, and a step whose gradients overflow leaves the weights unchanged.
    """

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device, AutoModelForCausalLM)
        self._accumulation = sweep.train.accumulation
        self.samples = config.batch_size * self._accumulation
        self._batches_per_step = self._accumulation
        self._network.train()
        if sweep.train.activation_checkpointing:
            self._checkpoint_activations()
        self._keep_gradients = self._accumulation > 1 and config.uses_cuda_graphs
        if self._keep_gradients:
            # otherwise the first ones would lie in memory that the CUDA graph overwrites
            for parameter in self._network.parameters():
                parameter.grad = torch.zeros_like(parameter)
        self._optimizer = torch.optim.AdamW(self._network.parameters(), lr=sweep.train.learning_rate)
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=config.precision == "amp-fp16")

    def step(self, lap: Lap) -> StepOutput:
        """Train on the next batches. The output has their mean loss."""
        masks, losses = [], []
        for _ in range(self._accumulation):
            mask, inputs = self._next(lap)
            labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, IGNORED)
            with self._autocast():
                loss = self._forward(**inputs, labels=labels, use_cache=False).loss / self._accumulation
            lap("forward")
            self._scaler.scale(loss).backward()
            lap("backward")
            masks.append(mask)
            losses.append(loss.detach())
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._optimizer.zero_grad(set_to_none=not self._keep_gradients)
        lap("optimizer")
        return StepOutput(tuple(masks), sum(losses[1:], start=losses[0]))

    def count(self, done: StepOutput) -> StepCounts:
        """Count tokens and read the loss. A non-finite loss adds a mark to the case."""
        counted = super().count(done)
        if counted.loss is not None and not isfinite(counted.loss):
            self.marks = tuple(dict.fromkeys((*self.marks, "loss not finite")))
        return counted

    def _checkpoint_activations(self) -> None:
        if not self._network.supports_gradient_checkpointing:
            raise CaseSkippedError(f"activation_checkpointing: not supported by {self.model.architecture}")
        # transformers 5 renamed it, and warns about the old name
        renamed = getattr(self._network, "activation_checkpointing_enable", None)
        enable = renamed or self._network.gradient_checkpointing_enable
        enable({"use_reentrant": False})
