"""Workload: a task prepared for one case, its steps and their counts."""

from typing import Any

import msgspec
import torch

from benchtui.engine.devices.base import Lap
from benchtui.engine.models.backends.opening import Opened
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import AnswerKind, Data, Effective, Model, RequestTimes


class StepCounts(msgspec.Struct, frozen=True):
    """Tokens, loss and requests of a step. None if the task has none."""

    tokens: int | None = None
    """Tokens without padding, including generated ones."""
    padded_tokens: int | None = None
    """Tokens including padding."""
    loss: float | None = None
    """May be infinite or NaN."""
    requests: RequestTimes | None = None


MOST_VALUES = 6_500_000
"""Maximum number of values in an output: logits of 128 positions over GPT-2's vocabulary, 26 MB."""


class Output(msgspec.Struct, frozen=True):
    """Output of a case for the probe."""

    kind: AnswerKind
    values: torch.Tensor
    """On the host; shapes are those of ``sessions.analysis.answers.Values``."""
    shortened: str | None = None
    """What the probe consisted of if the step is too slow for all of it."""
    probe: int = 1
    """Version of the probe. Answers to other versions can't be compared."""


class Workload:
    """A task prepared on a device for one case."""

    model: Model
    data: Data | None = None
    effective: Effective
    samples: int
    """Samples per step."""
    accumulated = 1
    """Batches whose gradients a step accumulates; 1 if it accumulates none."""
    new_tokens: int | None = None
    """Tokens generated per sample. None if the task generates none."""
    kv_cache_mb: float | None = None
    """KV cache of a batch at the end of a step, in units of 10**6 bytes. None before the first step."""
    opened: Opened | None = None
    """Network in a backend other than torch."""
    marks: tuple[str, ...] = ()
    """Caveats that a reader of the results must know. Read again after ``end_measuring``."""

    def read_back(self) -> Effective:
        """Return the applied options. Called again after measuring, once it is known whether torch compiled."""
        raise NotImplementedError

    def begin_warmup(self) -> None:
        """Prepare for the first warm-up step, so that the device isn't idle between warm-up and measuring."""

    def begin_measuring(self) -> None:
        """Prepare for the first measured step. Every case measures the same batches, whatever its warm-up."""

    def end_measuring(self) -> None:
        """Complete ``marks`` after the last measured step."""

    def step(self, lap: Lap) -> Any:  # noqa: ANN401  (differs by task; only ``count`` reads it)
        """Run one step, calling ``lap(part)`` at the end of each part. Return what ``count`` needs."""
        raise NotImplementedError

    def partial_step(self, lap: Lap, batches: int) -> Any:  # noqa: ANN401  (as above)
        """Run a step that accumulates only this many batches."""
        raise NotImplementedError

    def repeat_step(self, padded_tokens: int, *, one_batch: bool = False) -> int | None:
        """Repeat the batches of a step with about this many tokens in all further steps.

        With ``one_batch``, all batches of a step are the same. Return the number of tokens in a step, including
        padding; None if the task doesn't choose its batches. Raises BenchtuiError if the operations of a step
        can't be counted.
        """
        return None

    def count(self, done: Any) -> StepCounts:  # noqa: ANN401  (as above)
        """Return the counts of a step from its return value. Called outside the timed span."""
        raise NotImplementedError

    def answer(self, step_s: float) -> Output:
        """Answer the probe, the same input for every case of this sequence length, whatever its batch size.

        Called after the last measured step, and possibly never. ``step_s`` is the mean time of a step.
        Raises BenchtuiError if the task has no answer, or if it would take too long.
        """
        raise BenchtuiError("this task has no answer to compare")
