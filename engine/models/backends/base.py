"""Backend protocol: building an artifact of a network, and loading it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import torch

Inputs = tuple[torch.Tensor, ...]


class Request(msgspec.Struct, frozen=True):
    """Conditions under which a network runs."""

    precision: str
    threads: int
    device: torch.device
    profile: Path | None = None
    """Folder for files of the backend's own profile. None for a network that is measured."""


class Kernel(msgspec.Struct, frozen=True):
    """One run of an operation of the backend's graph."""

    kind: str
    """Type of the operation, such as ``MatMul``."""
    ms: float
    shape: str | None = None
    """Shapes and types of its inputs. None if the backend doesn't state them."""


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
    tf32: bool | None = None
    """Whether products of float32 are rounded to TF32. None on a processor."""
    kernels: Callable[[], list[Kernel]] | None = None
    """Everything that ran after the first call, for a request with a profile. None if the backend has none."""


class Backend(Protocol):
    """Runtime that executes an exported model."""

    packages: tuple[str, ...]
    """Packages of pip that it needs besides torch."""
    extra: str
    """Extra of benchtui that installs them; empty if it needs none."""
    fixed_threads: bool
    """Whether an artifact is for one number of threads, and one kind of GPU."""

    def build(self, program: Any, folder: Path, precision: str) -> None:  # noqa: ANN401  (torch.export's program)
        """Convert an exported program, and write the artifact into the folder."""

    def load(self, folder: Path, request: Request) -> Loaded:
        """Load the artifact. Raises CaseSkippedError if the installed runtime can't use the device."""
