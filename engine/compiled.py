"""Compiling a network, and whether that really happened."""

from typing import Any

import torch


def network(module: torch.nn.Module, mode: str) -> Any:  # noqa: ANN401  (a compiled module is called as the plain one)
    """The module as it is to be called: compiled in this mode of ``torch.compile``, or as it is for ``off``."""
    if mode == "off":
        return module
    return torch.compile(module, mode=None if mode == "default" else mode)


def graphs() -> int:
    """How many graphs torch has compiled in this process."""
    from torch._dynamo.utils import (
        counters,  # a second that other cases need not spend
    )

    return int(counters["stats"]["unique_graphs"])
