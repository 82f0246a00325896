"""Training probe: the first steps of training from the initial weights, on the same batches each time."""

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

import torch

SEEDS = 3
"""Number of seeds for dropout. The spread between them is the noise that a difference is compared with."""
STEPS = 6
FEWEST_STEPS = 2
"""Fewest steps that show an update of the weights."""
MOST_SKIPPED = 32
"""Steps that a gradient scaler may skip before one counts."""


class TrainingProbe:
    """Short runs of training, with the loss, the gradient norm and the trained weights of each step."""

    def __init__(
        self,
        step: Callable[[], torch.Tensor],
        optimizer: torch.optim.Optimizer,
        parameters: Sequence[torch.nn.Parameter],
        initial: Sequence[torch.Tensor],
    ) -> None:
        """``step`` trains one step and returns its loss; ``initial`` are the values to start from."""
        self._step = step
        self._optimizer = optimizer
        self._parameters = parameters
        self._initial = initial
        self._recorded: list[tuple[float, int]] = []
        """Norm of the gradients of a step, and number of weights that have one."""

    def answer(self, seeds: int, steps: int) -> torch.Tensor:
        """Return loss, gradient norm and number of trained weights, with shape (seeds, steps, 3)."""
        hook = self._optimizer.register_step_pre_hook(self._record_gradients)
        try:
            first = self._train(0, steps)
            if seeds > 1 and torch.equal(self._train(1, 1), first[:1]):  # nothing is drawn
                return first.expand(seeds, -1, -1)
            return torch.stack([first, *(self._train(seed, steps) for seed in range(1, seeds))])
        finally:
            hook.remove()

    def _train(self, seed: int, steps: int) -> torch.Tensor:
        """Train from the initial weights, with a new state of the optimizer."""
        with torch.no_grad():
            for parameter, values in zip(self._parameters, self._initial, strict=True):
                parameter.copy_(values)
        self._optimizer.state.clear()
        torch.manual_seed(seed)
        return torch.tensor([self._train_step() for _ in range(steps)], dtype=torch.float64)

    def _train_step(self) -> tuple[float, float, float]:
        """Train until the scaler doesn't skip a step. NaN if it skips all."""
        self._recorded.clear()
        for _ in range(MOST_SKIPPED):
            loss = self._step()
            if self._recorded:
                return loss.item(), *self._recorded.pop()
        return nan, nan, 0

    def _record_gradients(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        groups: list[dict[str, Any]] = optimizer.param_groups
        parameters = [parameter for group in groups for parameter in group["params"]]
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        norms = [torch.linalg.vector_norm(gradient, dtype=torch.float32) for gradient in gradients]
        norm = torch.linalg.vector_norm(torch.stack(norms)).item() if norms else 0.0
        scale = getattr(optimizer, "grad_scale", None)  # a fused optimizer unscales the gradients itself
        amount = sum(gradient.numel() for gradient in gradients)
        self._recorded.append((norm if scale is None else norm / float(scale), amount))
