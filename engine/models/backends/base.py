"""Backend protocol: building an artifact of a network, and loading it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import torch

Inputs = tuple[torch.Tensor, ...]


class Loaded(msgspec.Struct, frozen=True):
    """Network that a backend has loaded, and what the backend states about it."""

    run: Callable[[Inputs], torch.Tensor]
    threads: int
    """Threads within one operation."""
    weights_dtype: str
    """Dtype of most weights, in torch's notation."""
    computed_dtype: str
    """Dtype in which matrix products are computed."""
    runtime: dict[str, str]
    """What else the backend states, such as its providers, by name."""
    marks: tuple[str, ...] = ()


class Backend(Protocol):
    """Runtime that executes an exported model."""

    packages: tuple[str, ...]
    """Packages of pip that it needs besides torch."""
    extra: str
    """Extra of benchtui that installs them; empty if it needs none."""
    fixed_threads: bool
    """Whether an artifact is for one number of threads."""

    def build(self, program: Any, folder: Path, precision: str) -> None:  # noqa: ANN401  (torch.export's program)
        """Convert an exported program, and write the artifact into the folder."""
        ...

    def load(self, folder: Path, precision: str, threads: int) -> Loaded:
        """Load the artifact for this number of threads."""
        ...
