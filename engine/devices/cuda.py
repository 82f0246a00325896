"""An NVIDIA GPU through CUDA; touched in the worker alone, never before the fork."""

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter_ns
from typing import TypeVar

import torch

from benchtui.engine.devices import rss
from benchtui.engine.devices.base import Lap, StepTime, add_up
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Memory

Done = TypeVar("Done")


class Cuda:
    """Steps on one GPU, timed by device events and by the host's clock."""

    def __init__(self, name: str) -> None:
        """Take the device into use; raises BenchtuiError where torch doesn't see it."""
        self.torch_device = torch.device(name)
        count = torch.cuda.device_count()
        if (self.torch_device.index or 0) >= count:
            raise BenchtuiError(f"{name}: no such device; torch {torch.__version__} sees {count} CUDA devices")
        torch.cuda.set_device(self.torch_device)
        self.uuid = self._uuid()

    def time(self, step: Callable[[Lap], Done]) -> tuple[StepTime, Done]:
        """Time a step by events, with the device synchronised at both ends."""
        parts: list[str] = []
        events = [self._event()]

        def lap(part: str) -> None:
            event = self._event()
            event.record()
            events.append(event)
            parts.append(part)

        torch.cuda.synchronize(self.torch_device)
        begin_ns = perf_counter_ns()
        events[0].record()
        done = step(lap)
        torch.cuda.synchronize(self.torch_device)
        end_ns = perf_counter_ns()
        times_ms = [before.elapsed_time(after) for before, after in pairwise(events)]
        parts_ms = add_up(parts, times_ms)
        return StepTime((end_ns - begin_ns) / 1e6, events[0].elapsed_time(events[-1]), parts_ms), done

    def reset_peaks(self) -> None:
        """Begin anew with the peaks of the allocator and of resident memory."""
        torch.cuda.reset_peak_memory_stats(self.torch_device)
        rss.reset_peak()

    def peaks(self) -> Memory:
        """Peaks of torch's caching allocator on the device, and of resident memory of the process."""
        return Memory(
            peak_allocated_mb=torch.cuda.max_memory_allocated(self.torch_device) / 1e6,
            peak_reserved_mb=torch.cuda.max_memory_reserved(self.torch_device) / 1e6,
            peak_rss_mb=rss.peak_mb(),
        )

    def out_of_memory(self, error: BaseException) -> str | None:
        """Recognise CUDA's out-of-memory, however it reached us."""
        if isinstance(error, torch.cuda.OutOfMemoryError) or "CUDA out of memory" in str(error):
            return f"out of memory on {self.torch_device}: {str(error).splitlines()[0]}"
        if isinstance(error, MemoryError):
            return "out of memory on the host"
        return None

    def _event(self) -> torch.cuda.Event:
        return torch.cuda.Event(enable_timing=True)

    def _uuid(self) -> str | None:
        # torch gives the bare UUID, NVML writes it with this prefix
        uuid = getattr(torch.cuda.get_device_properties(self.torch_device), "uuid", None)
        return f"GPU-{uuid}" if uuid else None
