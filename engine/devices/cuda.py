"""CUDA device: event timing and memory peaks. Used in workers only, never before the fork."""

import warnings
from collections.abc import Callable, Iterable
from itertools import pairwise
from time import monotonic, perf_counter_ns
from typing import Any, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from benchtui.engine.devices import process_memory
from benchtui.engine.devices.base import Device, Lap, ProfiledSteps, StepTime, no_lap, sum_parts
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Memory
from benchtui.sessions.sweep.plan import missing_device_reason

_WAITED = "called a synchronizing CUDA operation"
"""Text of torch's warning about an operation that makes the host wait."""
PLAIN_STEPS, PLAIN_S = 2, 0.3
"""Minimum number of steps, and minimum seconds, before the profiled steps. The GPU's clock drops while the
profiler starts."""


def union_length(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of (begin, end) spans. Overlaps count once."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


Done = TypeVar("Done")


class _Laps:
    """Device events of one step."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._events: list[torch.cuda.Event] = []

    def __call__(self, part: str) -> None:
        self.mark()
        self._parts.append(part)

    def mark(self) -> None:
        """Record an event on the device's clock."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._events.append(event)

    def until(self, next_step: "_Laps") -> float:
        """Return the milliseconds from the start of this step to that of the next."""
        return _elapsed_ms(self._events[0], next_step._events[0])

    def time(self, wall_ms: float, host_ms: float) -> StepTime:
        """Return the times of the step. The device must have finished it."""
        times_ms = [_elapsed_ms(before, after) for before, after in pairwise(self._events)]
        device_ms = _elapsed_ms(self._events[0], self._events[-1])
        return StepTime(wall_ms, device_ms, sum_parts(self._parts, times_ms), host_ms)


def _elapsed_ms(before: torch.cuda.Event, after: torch.cuda.Event) -> float:
    """Return the time between two events to 0.1 µs. Their resolution is 0.5 µs (CUDA Runtime API)."""
    elapsed_ms: float = before.elapsed_time(after)
    return round(elapsed_ms, 4)


class Cuda(Device):
    """One GPU. Steps are timed by device events and by the host clock."""

    def __init__(self, name: str) -> None:
        """Select the device. Raises BenchtuiError if torch doesn't see it."""
        self.torch_device = torch.device(name)
        count = torch.cuda.device_count()
        if (self.torch_device.index or 0) >= count:
            seen = f"torch {torch.__version__} sees {count} CUDA devices"
            raise BenchtuiError(missing_device_reason(name, "this machine", seen))
        torch.cuda.set_device(self.torch_device)
        uuid = getattr(torch.cuda.get_device_properties(self.torch_device), "uuid", None)
        self.uuid = f"GPU-{uuid}" if uuid else None
        unknown = f"torch {torch.__version__} doesn't report the GPU's UUID"
        self.uuid_absent = None if self.uuid else unknown

    def time(self, step: Callable[[Lap], Done]) -> tuple[StepTime, Done]:
        """Time a step by events, with the device synchronized at both ends."""
        return self.time_block(step, 1)[0]

    def time_block(self, step: Callable[[Lap], Done], steps: int) -> list[tuple[StepTime, Done]]:
        """Time steps by events, synchronizing the device before the first and after the last."""
        laps, done = [_Laps() for _ in range(steps)], []
        torch.cuda.synchronize(self.torch_device)
        begin_ns = perf_counter_ns()
        marks_ns = [begin_ns]
        for step_laps in laps:
            step_laps.mark()
            done.append(step(step_laps))
            marks_ns.append(perf_counter_ns())
        torch.cuda.synchronize(self.torch_device)
        whole_ms = (perf_counter_ns() - begin_ns) / 1e6
        walls_ms = [one.until(following) for one, following in pairwise(laps)]
        walls_ms.append(max(0.0, whole_ms - sum(walls_ms)))
        hosts_ms = [(after - before) / 1e6 for before, after in pairwise(marks_ns)]
        rows = zip(laps, walls_ms, hosts_ms, done, strict=True)
        return [(step_laps.time(wall_ms, host_ms), what) for step_laps, wall_ms, host_ms, what in rows]

    def reset_memory_peaks(self) -> None:
        """Reset the peaks of the allocator and of resident memory."""
        torch.cuda.reset_peak_memory_stats(self.torch_device)
        process_memory.reset_peak()

    def memory_peaks(self) -> Memory:
        """Return the peaks of torch's caching allocator and of resident memory."""
        return Memory(
            peak_allocated_mb=torch.cuda.max_memory_allocated(self.torch_device) / 1e6,
            peak_reserved_mb=torch.cuda.max_memory_reserved(self.torch_device) / 1e6,
            peak_rss_mb=process_memory.peak_mb(),
        )

    def waits(self, step: Callable[[Lap], object]) -> int | None:
        """Run a step with torch's warnings about synchronizing operations, and return their number.

        Torch reports only its own waits, not those of other libraries that call the driver.
        """
        before = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                step(no_lap)
            finally:
                torch.cuda.set_sync_debug_mode(before)
        return sum(_WAITED in str(warning.message) for warning in seen)

    def profile_steps(self, step: Callable[[Lap], object], steps: int) -> ProfiledSteps | None:
        """Return the busy time per step and the names of kernels and copies. Overlaps count once."""
        plain_then_recorded = schedule(wait=0, warmup=1, active=1, repeat=1)
        with profile(activities=[ProfilerActivity.CUDA], schedule=plain_then_recorded) as profiler:
            self._run_plain(step)
            profiler.step()
            for _ in range(steps):
                step(no_lap)
            torch.cuda.synchronize(self.torch_device)
        work = [event for event in profiler.events() or () if _is_work(event)]
        if not work:
            raise BenchtuiError("the profiler recorded no work on the device")
        busy_us = union_length((event.time_range.start, event.time_range.end) for event in work)
        return ProfiledSteps(busy_us / 1000 / steps, frozenset(event.name for event in work))

    def _run_plain(self, step: Callable[[Lap], object]) -> None:
        """Run steps without recording them."""
        done, until_s = 0, monotonic() + PLAIN_S
        while done < PLAIN_STEPS or monotonic() < until_s:
            step(no_lap)
            torch.cuda.synchronize(self.torch_device)
            done += 1


def _is_work(event: Any) -> bool:  # noqa: ANN401  (torch.autograd.profiler_util.FunctionEvent, which has no types)
    """Return whether the event is work on the device and not a user annotation."""
    named = getattr(event, "is_user_annotation", False)
    return event.device_type.name == "CUDA" and not named
