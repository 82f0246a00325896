"""What a task has to offer: how it prepares, and what one step of it is."""

from dataclasses import dataclass
from typing import Any, Protocol

from benchtui.engine.devices.base import Lap
from benchtui.sessions.payloads import Data, Effective, Model


@dataclass(frozen=True, slots=True)
class StepCounts:
    """What a step got done; None where the task has no such thing."""

    tokens: int | None = None
    """Real tokens, generated ones included."""
    padded_tokens: int | None = None
    """Tokens with the padding."""
    loss: float | None = None
    """May be no finite number."""


class Workload(Protocol):
    """A task made ready on a device for one case."""

    model: Model
    data: Data | None
    effective: Effective
    samples: int
    """Samples that a step handles."""
    new_tokens: int | None
    """Tokens generated for each sample."""
    kv_cache_mb: float | None
    """Keys and values of a batch at the end of a step, in units of 10**6 bytes; None before the first."""
    marks: tuple[str, ...]
    """What a reader must know before believing the row; asked for again after measuring."""

    def read_back(self) -> Effective:
        """What is in force by now: asked for again after measuring, when compiling has happened or hasn't."""
        ...

    def step(self, lap: Lap) -> Any:  # noqa: ANN401  (each task its own; only ``count`` looks at it)
        """Do one step, calling ``lap(part)`` at the end of each part; gives what ``count`` counts in."""
        ...

    def count(self, done: Any) -> StepCounts:  # noqa: ANN401  (as above)
        """What the step that gave this got done; asked for outside the timed span."""
        ...
