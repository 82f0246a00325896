"""What a task has to offer: how it prepares, and what one step of it is."""

from typing import Protocol

import torch

from benchtui.engine.devices import Lap
from benchtui.sessions.events import Data, Effective, Model


class Workload(Protocol):
    """A task made ready on a device for one case."""

    model: Model
    data: Data
    effective: Effective
    marks: tuple[str, ...]

    def read_back(self) -> Effective:
        """What is in force by now: asked for again after measuring, when compiling has happened or hasn't."""
        ...

    def step(self, lap: Lap) -> torch.Tensor:
        """Do one step, calling ``lap(part)`` at the end of each part; gives what ``tokens`` counts in."""
        ...

    def tokens(self, done: torch.Tensor) -> int:
        """Real tokens of the step that gave this; asked for outside the timed span."""
        ...
