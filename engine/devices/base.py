"""Device: step timing, memory peaks and busy time."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import torch

from benchtui.sessions.payloads import Memory

Lap = Callable[[str], None]
"""Called at the end of each part of a step with the part's name. The last part ends with the step."""

Done = TypeVar("Done")


def no_lap(part: str) -> None:
    """Ignore the ends of parts, for steps whose parts aren't timed."""


class StepTime(msgspec.Struct, frozen=True):
    """Times of one step, in milliseconds."""

    wall_ms: float
    """Host time, with the device synchronized at both ends. For all but the last step of a block: time
    until the next step begins on the device."""
    device_ms: float | None
    """Time between device events around the step. None if the device has no events."""
    parts_ms: dict[str, float]
    host_ms: float | None = None
    """Host time until the step returned, including waits inside the step. None if the host is the device."""

    @property
    def device_or_host_ms(self) -> float:
        """Time on the device, or the host's if the device has no events."""
        return self.wall_ms if self.device_ms is None else self.device_ms


class ProfiledSteps(msgspec.Struct, frozen=True):
    """Device work of several steps, as recorded by a profiler."""

    busy_ms: float
    """Mean time per step in which the device was busy."""
    functions: frozenset[str]
    """Names of the kernels and copies."""


def sum_parts(parts: Sequence[str], times_ms: Sequence[float]) -> dict[str, float]:
    """Return the time of each part of a step. The times of a repeated part are summed."""
    total_ms: dict[str, float] = {}
    for part, time_ms in zip(parts, times_ms, strict=True):
        total_ms[part] = total_ms.get(part, 0.0) + time_ms
    return total_ms


class Device:
    """Device that a case runs on."""

    torch_device: torch.device
    uuid: str | None = None
    """UUID reported by the driver, used to find the device's readings. None if unknown."""
    uuid_absent: str | None = None
    """Why a GPU's UUID is unknown. None for a CPU."""

    def time(self, step: Callable[[Lap], Done]) -> tuple[StepTime, Done]:
        """Run one step. Return its times and its result."""
        raise NotImplementedError

    def time_block(self, step: Callable[[Lap], Done], steps: int) -> list[tuple[StepTime, Done]]:
        """Run steps, synchronizing the device only before the first and after the last.

        Host time only covers launching a step, so a step is timed from its start on the device to the start of
        the next step. The last step gets the rest of the block's host time.
        """
        raise NotImplementedError

    def reset_memory_peaks(self) -> None:
        """Reset the memory peaks."""

    def memory_peaks(self) -> Memory:
        """Return the memory peaks since the last reset."""
        raise NotImplementedError

    def waits(self, step: Callable[[Lap], object]) -> int | None:
        """Return how often the host waits for the device in a step, as reported by torch. None on a CPU."""
        return None

    def profile_steps(self, step: Callable[[Lap], object], steps: int) -> ProfiledSteps | None:
        """Profile ``steps`` steps, after unprofiled ones that raise the device's clock again. None on a CPU.

        A profiler slows the host, so it isn't used while measuring. Raises BenchtuiError if it records no work.
        """
        return None
