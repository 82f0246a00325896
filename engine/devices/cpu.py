"""CPU device: host clock and resident memory."""

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter_ns
from typing import TypeVar

import torch

from benchtui.engine.devices import process_memory
from benchtui.engine.devices.base import Device, Lap, StepTime, sum_parts
from benchtui.sessions.payloads import Memory

Done = TypeVar("Done")


class Cpu(Device):
    """The CPU as a device. Steps have host time only."""

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")

    def time(self, step: Callable[[Lap], Done]) -> tuple[StepTime, Done]:
        """Time a step by the host clock."""
        parts: list[str] = []
        marks_ns: list[int] = []

        def lap(part: str) -> None:
            marks_ns.append(perf_counter_ns())
            parts.append(part)

        begin_ns = perf_counter_ns()
        done = step(lap)
        end_ns = perf_counter_ns()
        times_ms = [(after - before) / 1e6 for before, after in pairwise([begin_ns, *marks_ns])]
        return StepTime((end_ns - begin_ns) / 1e6, None, sum_parts(parts, times_ms)), done

    def time_block(self, step: Callable[[Lap], Done], steps: int) -> list[tuple[StepTime, Done]]:
        """Time steps one by one. A CPU needs no synchronization."""
        return [self.time(step) for _ in range(steps)]

    def reset_memory_peaks(self) -> None:
        """Reset the peak of resident memory."""
        process_memory.reset_peak()

    def memory_peaks(self) -> Memory:
        """Return the peak of resident memory. The CPU allocator records no peaks."""
        return Memory(peak_rss_mb=process_memory.peak_mb())
