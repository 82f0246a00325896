"""An NVIDIA GPU through CUDA; touched in the worker alone, never before the fork."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from time import perf_counter_ns
from typing import Any, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile

from benchtui.engine.devices import process_memory
from benchtui.engine.devices.base import Lap, StepTime, add_up
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Memory


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union of spans, each from its begin to its end: what runs at once counts once."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


Done = TypeVar("Done")


class _Laps:
    """The device events of one step."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._events: list[torch.cuda.Event] = []

    def __call__(self, part: str) -> None:
        self.mark()
        self._parts.append(part)

    def mark(self) -> None:
        """Note the moment on the device's own clock."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._events.append(event)

    def until(self, next_step: "_Laps") -> float:
        """Milliseconds from the begin of this step to that of the next one."""
        between_ms: float = self._events[0].elapsed_time(next_step._events[0])
        return between_ms

    def time(self, wall_ms: float) -> StepTime:
        """The times of the step, once the device has come to its end."""
        times_ms = [before.elapsed_time(after) for before, after in pairwise(self._events)]
        device_ms = self._events[0].elapsed_time(self._events[-1])
        return StepTime(wall_ms, device_ms, add_up(self._parts, times_ms))


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
        return self.time_block(step, 1)[0]

    def time_block(self, step: Callable[[Lap], Done], steps: int) -> list[tuple[StepTime, Done]]:
        """Time steps by events, with the device synchronised before the first and after the last."""
        laps, done = [_Laps() for _ in range(steps)], []
        torch.cuda.synchronize(self.torch_device)
        begin_ns = perf_counter_ns()
        for each in laps:
            each.mark()
            done.append(step(each))
        torch.cuda.synchronize(self.torch_device)
        whole_ms = (perf_counter_ns() - begin_ns) / 1e6
        walls_ms = [one.until(following) for one, following in pairwise(laps)]
        walls_ms.append(max(0.0, whole_ms - sum(walls_ms)))
        return [(each.time(wall_ms), what) for each, wall_ms, what in zip(laps, walls_ms, done, strict=True)]

    def reset_peaks(self) -> None:
        """Begin anew with the peaks of the allocator and of resident memory."""
        torch.cuda.reset_peak_memory_stats(self.torch_device)
        process_memory.reset_peak()

    def peaks(self) -> Memory:
        """Peaks of torch's caching allocator on the device, and of resident memory of the process."""
        return Memory(
            peak_allocated_mb=torch.cuda.max_memory_allocated(self.torch_device) / 1e6,
            peak_reserved_mb=torch.cuda.max_memory_reserved(self.torch_device) / 1e6,
            peak_rss_mb=process_memory.peak_mb(),
        )

    def busy_ms(self, step: Callable[[Lap], object], steps: int) -> float | None:
        """Time of kernels and copies in one of so many steps, what ran at once counted once."""
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(steps):
                step(_no_lap)
            torch.cuda.synchronize(self.torch_device)
        spans = [_span_us(event) for event in profiler.events() or () if _is_work(event)]
        if not spans:
            raise BenchtuiError("the profiler saw no work on the device")
        return covered(spans) / 1000 / steps

    def _uuid(self) -> str | None:
        # torch gives the bare UUID, NVML writes it with this prefix
        uuid = getattr(torch.cuda.get_device_properties(self.torch_device), "uuid", None)
        return f"GPU-{uuid}" if uuid else None


def _is_work(event: Any) -> bool:  # noqa: ANN401  (torch.autograd.profiler_util.FunctionEvent, which has no types)
    """Whether the profiler saw this on the device, and it is no name that somebody gave to a span of time."""
    named = getattr(event, "is_user_annotation", False)
    return event.device_type.name == "CUDA" and not named


def _span_us(event: Any) -> tuple[float, float]:  # noqa: ANN401
    return event.time_range.start, event.time_range.end


def _no_lap(part: str) -> None:
    """Parts of a step aren't timed while a profiler looks on."""
