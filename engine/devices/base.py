"""What a device has to offer: one small interface."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from benchtui.sessions.payloads import Memory

Lap = Callable[[str], None]
"""Called at the end of each part of a step with the part's name; the last part ends where the step does."""

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class StepTime:
    """The times of one step, in milliseconds."""

    wall_ms: float
    """Host time, the device synchronised at both ends; for all but the last step of a block the time until the
    next step begins on the device."""
    device_ms: float | None
    """Time between device events around the step; None where the device has none."""
    parts_ms: dict[str, float]


def add_up(parts: Sequence[str], times_ms: Sequence[float]) -> dict[str, float]:
    """The time of each part of a step; one that came several times has the sum of its times."""
    total_ms: dict[str, float] = {}
    for part, time_ms in zip(parts, times_ms, strict=True):
        total_ms[part] = total_ms.get(part, 0.0) + time_ms
    return total_ms


class Device(Protocol):
    """Where a case computes."""

    torch_device: torch.device
    uuid: str | None
    """The device as its driver names it, to find its readings."""

    def time(self, step: Callable[[Lap], Done]) -> tuple[StepTime, Done]:
        """Run one step and time it and its parts; gives what the step gave, too."""
        ...

    def time_block(self, step: Callable[[Lap], Done], steps: int) -> list[tuple[StepTime, Done]]:
        """Run steps with the device synchronised before the first and after the last of them alone.

        How long the host takes to hand over a step says nothing of the step: its time goes from its begin on
        the device to that of the next one, and the last step has what is left of the block's host time.
        """
        ...

    def reset_peaks(self) -> None:
        """Begin anew with the peaks of memory."""
        ...

    def peaks(self) -> Memory:
        """Peaks of memory since the last reset."""
        ...

    def busy_ms(self, step: Callable[[Lap], object], steps: int) -> float | None:
        """Time in which the device was at work in one of so many steps; None where the host is the device.

        A profiler looks on, so this is no part of measuring. Raises BenchtuiError where it sees nothing.
        """
        ...
