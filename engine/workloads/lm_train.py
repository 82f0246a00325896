"""Training of a causal language model: forward with labels, backward, one optimizer step."""

from itertools import cycle
from math import isfinite
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.models import adapters, optimizers
from benchtui.engine.workloads.base import Output, StepCounts
from benchtui.engine.workloads.training_probe import FEWEST_STEPS, SEEDS, STEPS, TrainingProbe
from benchtui.engine.workloads.transformer_task import LONGEST_ANSWER_S, NetworkTask, StepOutput
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.options import SWITCH

PROBE = 2
"""Version of the probe. Before, the answer was the losses of the first steps of the case."""
SEED = 0
"""Seed of the adapters, and of the first step: adapters draw numbers that other cases don't."""
IGNORED = -100
"""Label that the loss in transformers ignores. Used for padding."""


class LmTrain(NetworkTask):
    """One optimizer step on the gradients of one batch or of several accumulated ones.

    With ``amp-fp16``, gradients are scaled (``torch.amp.GradScaler``). Unscaling is timed as part of
    ``optimizer``, and a step whose gradients overflow leaves the weights unchanged.
    """

    auto = AutoModelForCausalLM
    _ready = False
    """Whether there is an optimizer. The base class reads the options back before it is created."""
    _adapters: list[torch.Tensor] | None = None
    """Initial values of the adapters, if only these are trained."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device)
        config = self._config
        self.accumulated = config.accumulation
        self.samples = config.batch_size * self.accumulated
        self._network.train()
        if config.activation_checkpointing == "on":
            self._checkpoint_activations()
        self._keep_gradients = self.accumulated > 1 and config.uses_cuda_graphs
        if self._keep_gradients:
            # otherwise the first gradients would be in memory that the CUDA graph overwrites
            for parameter in self._network.parameters():
                parameter.grad = torch.zeros_like(parameter)
        self._optimizer = optimizers.make(
            config.optimizer, self._network.parameters(), sweep.train.learning_rate, self._device
        )
        self._update_counter = optimizers.UpdateCounter(self._optimizer)
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=config.precision == "amp-fp16")
        self._measured_steps = self._updates_before = 0
        self._step_batches = self.accumulated
        self._ready = True
        self.effective = self.read_back()

    def _extend(self, network: Any) -> Any:  # noqa: ANN401  (a model of transformers)
        """Add Liger layers and adapters. If there are adapters, only they are trained."""
        if self._config.liger == "on":
            adapters.apply_liger(network)
        if self._config.lora == "off":
            return network
        torch.manual_seed(SEED)
        extended = adapters.add_lora(network, self._config.lora)
        self._adapters = [values.detach().clone() for _, values in _trained(extended)]
        self.marks = (*self.marks, f"{adapters.trained_share(extended):.1%} of the weights are trained")
        return extended

    def begin_warmup(self) -> None:
        """Pin memory, and reseed, so that dropout draws the same numbers in every case."""
        super().begin_warmup()
        torch.manual_seed(SEED)

    def begin_measuring(self) -> None:
        """Return to the first batch, and count steps and updates of the weights from here on."""
        super().begin_measuring()
        self._measured_steps, self._updates_before = 0, self._updates()

    def step(self, lap: Lap) -> StepOutput:
        """Train on the next batches. The output has their mean loss."""
        return self.partial_step(lap, self.accumulated)

    def partial_step(self, lap: Lap, batches: int) -> StepOutput:
        """Train on this many of the next batches."""
        self._step_batches = batches
        masks, losses = [], []
        for _ in range(batches):
            mask, inputs = self._next(lap)
            labels = _labels(inputs)
            with self._autocast():
                loss = self._forward(**inputs, labels=labels, use_cache=False).loss / batches
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
        self._measured_steps += 1
        counted = super().count(done)
        if counted.loss is not None and not isfinite(counted.loss):
            self.marks = tuple(dict.fromkeys((*self.marks, "loss not finite")))
        return counted

    def end_measuring(self) -> None:
        """Mark the case if the scaler skipped measured steps."""
        skipped = self._measured_steps - (self._updates() - self._updates_before)
        if self._scaler.is_enabled() and skipped:
            mark = f"gradient scaler skipped {skipped} of {self._measured_steps} steps"
            self.marks = (*self.marks, mark)

    def answer(self, step_s: float) -> Output:
        """Train from the initial weights again; shape (seeds, steps, 3), as ``TrainingProbe`` returns it."""
        seeds, steps = self._affordable(step_s)
        names, parameters = zip(*_trained(self._network), strict=True)
        if (initial := self._adapters) is None:
            loaded = dict(self._load(torch.device("cpu")).module.named_parameters())
            initial = [loaded[name].detach() for name in names]
        self._batches.rewind()
        repeated = cycle([self._batches.draw(no_lap) for _ in range(self.accumulated)])
        self._draw = lambda lap: next(repeated)
        probe = TrainingProbe(self._loss, self._optimizer, parameters, initial)
        return Output("losses", probe.answer(seeds, steps), self._shortened, PROBE)

    def _loss(self) -> torch.Tensor:
        loss = self.step(no_lap).loss
        if loss is None:
            raise AssertionError("a training step has a loss")
        return loss

    def _affordable(self, step_s: float) -> tuple[int, int]:
        """Return the seeds and steps that there is time for. Raises BenchtuiError if there isn't for any."""
        most = int(LONGEST_ANSWER_S / step_s) if step_s > LONGEST_ANSWER_S / (SEEDS * STEPS) else SEEDS * STEPS
        seeds = SEEDS if most >= SEEDS * FEWEST_STEPS else 1
        steps = max(FEWEST_STEPS, min(STEPS, most // seeds))
        self._require_time(seeds * steps * step_s)
        if (seeds, steps) != (SEEDS, STEPS):
            self._shortened = f"{steps} of {STEPS} steps with {seeds} of {SEEDS} seeds"
        return seeds, steps

    def _updates(self) -> int:
        """Number of steps that changed the weights, without those that the scaler skipped."""
        return self._update_counter.count

    def _others(self) -> dict[str, str | int]:
        if not self._ready:
            return super()._others()
        return {
            **super()._others(),
            "optimizer": optimizers.name_of(self._optimizer),
            "lora": adapters.lora_rank(self._network),
            "liger": SWITCH[adapters.uses_liger(self._network)],
            "accumulation": self._step_batches,
            "activation_checkpointing": SWITCH[
                any(getattr(module, "gradient_checkpointing", False) for module in self._network.modules())
            ],
        }

    def _checkpoint_activations(self) -> None:
        if not self._network.supports_gradient_checkpointing:
            raise CaseSkippedError(f"activation_checkpointing: not supported by {self.model.architecture}")
        # transformers 5 renamed it, and warns about the old name
        renamed = getattr(self._network, "activation_checkpointing_enable", None)
        enable = renamed or self._network.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def _trained(network: Any) -> list[tuple[str, torch.nn.Parameter]]:  # noqa: ANN401  (a model of transformers)
    return [(name, value) for name, value in network.named_parameters() if value.requires_grad]


def _labels(inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the tokens to predict, with shape (batch, length); padding is ignored."""
    ids, mask = inputs["input_ids"], inputs.get("attention_mask")
    if "position_ids" in inputs:  # packed: no sample predicts the first token of the next one
        return ids.masked_fill(inputs["position_ids"] == 0, IGNORED)
    return ids if mask is None else ids.masked_fill(mask == 0, IGNORED)
