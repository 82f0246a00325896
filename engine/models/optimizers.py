"""Optimizers of a training step, by the names of the option ``optimizer``."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import torch

from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep.library_names import ADAMW_ARGUMENTS

Parameters = Iterable[torch.nn.Parameter]
EIGHT_BIT = "adamw-8bit"


def make(
    name: str, parameters: Parameters, learning_rate: float, device: torch.device
) -> torch.optim.Optimizer:
    """Create an optimizer for the trained parameters. Raises CaseSkippedError if unavailable."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if name == "auto":
        name = "adamw" if device.type == "cpu" else "adamw-fused"
    if name == "sgd":
        return torch.optim.SGD(trained, lr=learning_rate)
    if name == EIGHT_BIT:
        return _adamw_8bit(trained, learning_rate)
    try:
        return torch.optim.AdamW(trained, lr=learning_rate, **ADAMW_ARGUMENTS[name])
    except RuntimeError as error:
        raise CaseSkippedError(f"optimizer {name}: {error}") from error


def name_of(optimizer: torch.optim.Optimizer) -> str:
    """Return the name of an optimizer, read back from its class, its options and its state."""
    group = optimizer.param_groups[0]
    if isinstance(optimizer, torch.optim.SGD):
        return "sgd"
    if isinstance(optimizer, torch.optim.AdamW):
        return "adamw-fused" if group["fused"] else "adamw-foreach" if group["foreach"] else "adamw"
    # bitsandbytes keeps the state of small tensors in 32 bits
    states = [state["state1"].dtype for state in optimizer.state.values() if "state1" in state]
    return "adamw-32bit" if states and torch.uint8 not in states else EIGHT_BIT


class UpdateCounter:
    """Number of steps in which an optimizer has changed the weights."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._runs = 0
        optimizer.register_step_post_hook(self._ran)

    @property
    def count(self) -> int:
        """Steps counted by the optimizer, or else its calls.

        An optimizer without a count isn't called in skipped steps.
        """
        counted = [int(state["step"]) for state in self._optimizer.state.values() if "step" in state]
        return max(counted, default=self._runs)

    def _ran(self, *_: object) -> None:
        self._runs += 1


def _adamw_8bit(parameters: list[torch.nn.Parameter], lr: float) -> torch.optim.Optimizer:
    try:
        package: Any = import_module("bitsandbytes")
    except ImportError as error:
        raise CaseSkippedError(
            f"optimizer {EIGHT_BIT} needs the package bitsandbytes: pip install 'benchtui[quantization]'"
        ) from error
    optimizer: torch.optim.Optimizer = package.optim.AdamW8bit(parameters, lr=lr)
    return optimizer
