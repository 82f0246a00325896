"""Options of a case, as passed to a user's step. Importable without torch, for the annotation of that step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from benchtui.engine.devices.base import Lap
    from benchtui.sessions.sweep.named_values import Scalar


@dataclass(frozen=True, slots=True)
class OwnCase:
    """Options of the case, passed to the user's function. The step must apply them itself."""

    device: str
    """``cpu`` or ``cuda:N``."""
    torch_device: "torch.device"
    precision: str
    attention: str
    compile: str
    threads: int
    """Already applied; 0 is torch's default."""
    tokenizer_threads: int
    """Already applied to tokenizers of the tokenizers library; 0 is as many as ``threads``."""
    padding: str
    parameters: "Mapping[str, Scalar]"
    """Parameters of the case (``axes.parameters``). One that is never read is marked as not applied."""
    batch_size: int
    sequence_length: int
    model: str
    weights: str
    dataset: str
    """Model, weights and dataset as named in the sweep. None of them is loaded."""
    lap: "Lap"
    """Steps with parts call it with the part's name at the end of each part."""
