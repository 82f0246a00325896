"""Telemetry window: readings kept while cases run, for lookups over a case's measured span."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, TypeVar

from benchtui.engine.telemetry.sampler import StoppedWorkers
from benchtui.sessions.events import Idle, Telemetry
from benchtui.sessions.payloads import GpuReadings

MIN_STOP_S = 1.0
"""Shortest stop of a worker that is reported, in seconds."""
WATCHED_COLUMNS = {"clock": "graphics_clock_mhz", "power": "power_w"}
"""GPU readings that the measured span of a case should contain: columns by the words for them."""

T = TypeVar("T")
Points = list[tuple[float, T]]
"""Pairs of session time and reading."""


class TelemetryWindow:
    """Samples taken since the start of the oldest running case."""

    def __init__(self, flush: Callable[[], object] = lambda: None) -> None:
        """``flush`` makes the sampler emit its pending samples."""
        self.flush = flush
        """Flush the sampler, so that samples up to now are included."""
        self._events: list[Telemetry] = []
        self._workers: list[tuple[float, int]] = [(0.0, 0)]
        """Pairs of session time and the number of running workers from then on."""
        self._best_clocks: dict[int, float] = {}
        """Highest mean graphics clock of each GPU among its load spans so far, in MHz."""
        self._absent: dict[int, dict[str, str]] = {}
        """Reasons for missing readings by GPU index and name."""
        self._read: set[tuple[int, str]] = set()
        """GPU index and name of the watched readings that have ever succeeded."""
        self.idle: Idle | None = None
        """Readings of the machine before the first case; None if none were wanted."""
        self.stops = StoppedWorkers(MIN_STOP_S)

    def drop_before(self, before_s: float) -> None:
        """Drop readings from before this session time."""
        old = sum(event.t < before_s for event in self._events)
        del self._events[:old]  # in place, because the sampler's thread may append at the same time
        begun = [at_s for at_s, _ in self._workers if at_s <= before_s]
        self._workers = self._workers[max(len(begun) - 1, 0) :]

    def set_worker_count(self, count: int, now_s: float) -> None:
        """Set the number of running workers from now on."""
        if count != self._workers[-1][1]:
            self._workers.append((now_s, count))

    def most_workers(self, begin_s: float, end_s: float) -> int:
        """Maximum number of concurrent workers within a span of session time."""
        ends = [at_s for at_s, _ in self._workers[1:]] + [end_s]
        spans = zip(self._workers, ends, strict=True)
        return max(
            (count for (at_s, count), until_s in spans if at_s <= end_s and until_s >= begin_s), default=0
        )

    def add(self, event: Telemetry) -> None:
        """Append an event. Called from the sampler's thread."""
        self._events.append(event)
        for gpu in event.gpus:
            self._absent[gpu.index] = self._absent.get(gpu.index, {}) | gpu.reasons
            self._read |= {
                (gpu.index, name)
                for name in WATCHED_COLUMNS.values()
                if any(value is not None for value in getattr(gpu, name))
            }

    def host(self, name: str, begin_s: float, end_s: float) -> Points[float]:
        """Return a column of host readings over a span of session time."""
        columns = [(event.at_s, getattr(event.host, name)) for event in self._events]
        return [point for column in columns for point in _within(*column, begin_s, end_s)]

    def gpu(self, index: int, name: str, begin_s: float, end_s: float) -> Points[Any]:
        """Return a column of GPU readings over a span of session time."""
        columns = [(event.at_s, getattr(gpu, name)) for event, gpu in self._of(index)]
        return [point for column in columns for point in _within(*column, begin_s, end_s)]

    def best_clock_mhz(self, index: int, begin_s: float, end_s: float) -> float | None:
        """Return the highest mean graphics clock of a GPU under load, in this span and earlier ones."""
        clocks = [mhz for _, mhz in self.gpu(index, "graphics_clock_mhz", begin_s, end_s)]
        if clocks:
            self._best_clocks[index] = max(round(fmean(clocks), 1), self._best_clocks.get(index, 0.0))
        return self._best_clocks.get(index)

    def gpu_absent(self, index: int, name: str) -> str | None:
        """Return why a GPU, or one of its readings, is missing. None if no reason is known."""
        reasons = self._absent.get(index, {})
        return reasons.get("gpu") or reasons.get(name)

    def is_unsupported(self, index: int, name: str) -> bool:
        """Whether a watched reading of a GPU has a reason for being missing and has never succeeded."""
        return name in self._absent.get(index, {}) and (index, name) not in self._read

    def power_averaged(self, index: int) -> bool:
        """Whether the driver averages the power of a GPU over a second, according to the latest event."""
        return next((gpu.power_averaged for _, gpu in reversed(self._of(index))), False)

    def stood_still_s(self, begin_s: float, end_s: float) -> float | None:
        """Seconds the engine could not run within a span of session time. None if it always could."""
        stops = [(event.t, event.stood_still_s) for event in self._events if event.stood_still_s]
        return sum(for_s for until_s, for_s in stops if until_s - for_s <= end_s and until_s >= begin_s) or None

    def worker_stopped_s(self, pid: int, begin_s: float, end_s: float) -> float | None:
        """Seconds only this worker was stopped within a span of session time. None if less than 1 s."""
        stopped_s = self.stops.stopped_s(pid, begin_s, end_s)
        return round(stopped_s, 4) if stopped_s >= MIN_STOP_S else None

    def throttle(self, index: int, begin_s: float, end_s: float) -> tuple[str, ...]:
        """Return all throttle reasons of a GPU over a span of session time."""
        points = self.gpu(index, "throttle", begin_s, end_s)
        return tuple(dict.fromkeys(name for _, reasons in points for name in reasons.split("+") if name))

    def performance_states(self, index: int, begin_s: float, end_s: float) -> tuple[int, ...]:
        """Return all performance states of a GPU over a span of session time, the fastest first."""
        points = self.gpu(index, "performance_state", begin_s, end_s)
        return tuple(sorted({state for _, state in points}))

    def power_limit_w(self, index: int) -> float | None:
        """Latest power limit of a GPU; None if unknown."""
        return next((gpu.power_limit_w for _, gpu in reversed(self._of(index))), None)

    def _of(self, index: int) -> list[tuple[Telemetry, GpuReadings]]:
        return [(event, gpu) for event in list(self._events) for gpu in event.gpus if gpu.index == index]


def _within(at_s: Sequence[float], column: Sequence[T | None], begin_s: float, end_s: float) -> Points[T]:
    pairs = zip(at_s, column, strict=False)
    return [(at, value) for at, value in pairs if value is not None and begin_s <= at <= end_s]
