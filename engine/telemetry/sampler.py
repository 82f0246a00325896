"""Sampler: a thread that reads GPUs, host and workers periodically and emits the samples as columns."""

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from benchtui.engine.process_tree import is_stopped
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpuSample
from benchtui.engine.telemetry.host import HostReader, HostSample
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import FILE_NAMES, GPU_ACTIVITY, GpuReadings, HostReadings

PERIOD_S, BATCH = 0.25, 2
"""Seconds between two samples, and number of samples per event."""
REST_TICKS = 8
"""Minimum number of samples between two readings of a GPU without a case. Each reading locks the driver."""
_COLUMNS = (
    "power_w",
    "memory_used_mb",
    "utilization_percent",
    "temperature_c",
    "graphics_clock_mhz",
    "throttle",
    "energy_j",
)
_OPTIONAL_COLUMNS = ("memory_clock_mhz", "performance_state", *GPU_ACTIVITY)
"""Columns that are omitted if no sample has them."""
_STOP_S = 5.0
# a driver that hangs on a lost GPU must not keep the session from closing
STOOD_STILL_S = 1.0
"""A wait that ends this many seconds late means that the machine was suspended or the engine stopped."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# Linux's monotonic clock stops while the machine is suspended, this one doesn't (clock_gettime(2))


class _Sample(msgspec.Struct, frozen=True):
    at_s: float
    gpus: tuple[GpuSample, ...]
    host: HostSample


class GpuSelection:
    """GPUs to read for each sample: those with a running case, and occasionally all.

    The others are read for the last sample of an event, so that the newest entry of each column is a reading.
    """

    def __init__(self, measured: Callable[[], Collection[int] | None]) -> None:
        """``measured`` returns the indices of GPUs with a case; None if any GPU may have one."""
        self._measured = measured
        self._wanted: frozenset[int] | None = None
        self._unread = 0

    def indices(self, *, first: bool, last: bool) -> frozenset[int] | None:
        """Return the indices for the next sample, which may be first or last in its event. None for all."""
        measured = self._measured()
        if measured is None or (self._wanted is None and not first):
            self._wanted = None
        else:
            # a GPU is dropped only between two events
            self._wanted = frozenset(measured) | (frozenset() if first else self._wanted or frozenset())
        self._unread += 1
        if self._wanted is None or (last and self._unread >= REST_TICKS):
            self._unread = 0
            return None
        return self._wanted


class StoppedWorkers:
    """Spans in which workers were found stopped while the engine ran, which would look like a long step."""

    def __init__(self, longest_s: float) -> None:
        """Two polls ``longest_s`` or more apart mean that the engine was stopped too."""
        self._longest_s = longest_s
        self._since_s: dict[int, float] = {}
        """Session time of the last poll, by pid of the workers that it found stopped."""
        self._spans: dict[int, list[tuple[float, float]]] = {}

    def poll(self, at_s: float, pids: Iterable[int]) -> None:
        """Poll the running workers at this session time. Called from the sampler's thread."""
        stopped = [pid for pid in pids if is_stopped(pid)]
        for pid in stopped:
            since_s = self._since_s.get(pid)
            if since_s is not None and at_s - since_s < self._longest_s:
                self._spans.setdefault(pid, []).append((since_s, at_s))
        self._since_s = dict.fromkeys(stopped, at_s)

    def stopped_s(self, pid: int, begin_s: float, end_s: float) -> float:
        """Seconds a worker was stopped within a span of session time."""
        spans = self._spans.get(pid, [])
        return sum(max(0.0, min(to_s, end_s) - max(from_s, begin_s)) for from_s, to_s in list(spans))

    def forget(self, pid: int) -> None:
        """Drop the record of a worker that has exited."""
        self._spans.pop(pid, None)


class Sampler:
    """Thread that samples every ``period_s`` seconds and emits every ``batch`` samples.

    ``clock`` returns session time in seconds. ``emit`` must not raise. ``measured_gpus`` returns the indices of
    the GPUs with a running case, or None; the others are read less often.
    """

    def __init__(
        self,
        gpus: GpuReader | None,
        *,
        clock: Callable[[], float],
        emit: Callable[[Telemetry], None],
        period_s: float = PERIOD_S,
        batch: int = BATCH,
        host: HostReader | None = None,
        stops: StoppedWorkers | None = None,
        measured_gpus: Callable[[], Collection[int] | None] = lambda: None,
    ) -> None:
        self._gpu_reader = gpus
        self._selection = GpuSelection(measured_gpus)
        self._clock = clock
        self._emit = emit
        self._period_s = period_s
        self._batch = batch
        self._host = host or HostReader()
        self._stops = stops
        self._worker_pids: tuple[int, ...] = ()
        self._samples: list[_Sample] = []
        self._reported: dict[int, dict[str, str]] = {}
        self._stopped = threading.Event()
        self._flush_lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def watch(self, pids: Iterable[int]) -> None:
        """Read the workers with these pids from the next sample on."""
        self._worker_pids = tuple(pids)

    def start(self) -> None:
        """Start sampling. Call it only once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling and emit pending samples. ``emit`` is not called afterwards."""
        self._stopped.set()
        self._thread.join(_STOP_S)
        self.flush()

    def flush(self) -> None:
        """Emit pending samples at once. May be called from another thread."""
        with self._flush_lock:
            samples, self._samples = self._samples, []
            if samples:
                self._emit(self._event(samples))

    def _run(self) -> None:
        due_s = self._clock()
        while not self._wait(due_s - self._clock()):
            sample = self._sample()
            with self._flush_lock:
                self._samples.append(sample)
            if len(self._samples) >= self._batch and not self._stopped.is_set():
                self.flush()
            due_s = next_due_s(due_s, self._clock(), self._period_s)

    def _wait(self, seconds: float) -> bool:
        """Wait, and emit an event at once if the wait was far too long. Return whether sampling ends."""
        began_s = time.clock_gettime(_CLOCK)
        ended = self._stopped.wait(seconds)
        still_s = time.clock_gettime(_CLOCK) - began_s - max(seconds, 0.0)
        if still_s >= STOOD_STILL_S and not ended:
            self._emit(Telemetry(t=_rounded(self._clock()), at_s=[], stood_still_s=_rounded(still_s)))
        return ended

    def _sample(self) -> _Sample:
        at_s = self._clock()
        host = self._host.read(at_s, self._worker_pids)
        if self._stops:
            self._stops.poll(at_s, self._worker_pids)
        return _Sample(at_s, self._gpu_samples(), host)

    def _gpu_samples(self) -> tuple[GpuSample, ...]:
        if self._gpu_reader is None:
            return ()
        pending = len(self._samples)
        return self._gpu_reader.sample(
            self._selection.indices(first=not pending, last=pending + 1 >= self._batch)
        )

    def _event(self, samples: Sequence[_Sample]) -> Telemetry:
        return Telemetry(
            t=_rounded(self._clock()),
            at_s=[_rounded(sample.at_s) for sample in samples],
            gpus=self._gpus([{gpu.index: gpu for gpu in sample.gpus} for sample in samples]),
            host=_host_readings([sample.host for sample in samples]),
        )

    def _gpus(self, samples: Sequence[Mapping[int, GpuSample]]) -> tuple[GpuReadings, ...]:
        """Return the columns of each GPU that was read, with None for the samples in which it wasn't."""
        indices = dict.fromkeys(index for sample in samples for index in sample)
        return tuple(self._gpu([sample.get(index) for sample in samples]) for index in indices)

    def _gpu(self, column: Sequence[GpuSample | None]) -> GpuReadings:
        read = [sample for sample in column if sample is not None]
        last = read[-1]
        columns = {name: [getattr(sample, name, None) for sample in column] for name in _COLUMNS}
        return GpuReadings(
            index=last.index,
            power_averaged=last.power_averaged,
            power_limit_w=last.power_limit_w,
            memory_total_mb=last.memory_total_mb,
            absent=self._new_reasons(last.index, read),
            **columns,
            **{name: _if_any([getattr(sample, name, None) for sample in column]) for name in _OPTIONAL_COLUMNS},
        )

    def _new_reasons(self, index: int, column: Sequence[GpuSample]) -> dict[str, str]:
        """Return the reasons for missing readings, by their names in the file. Each is emitted once."""
        reported = self._reported.setdefault(index, {})
        reasons = {
            FILE_NAMES.get(name, name): reason for sample in column for name, reason in sample.absent.items()
        }
        new = {name: reason for name, reason in reasons.items() if reported.get(name) != reason}
        reported |= new
        return new


def _host_readings(samples: Sequence[HostSample]) -> HostReadings:
    names = HostSample.__struct_fields__
    columns = {name: [getattr(sample, name) for sample in samples] for name in names}
    optional = names[-len(HostSample.__struct_defaults__) :]
    return HostReadings(**columns | {name: _if_any(columns[name]) for name in optional})


def _if_any(column: list[Any]) -> list[Any]:
    """Return the column, or an empty one if no sample has the reading, as on most machines."""
    return [] if all(value is None for value in column) else column


def next_due_s(due_s: float, now_s: float, period_s: float) -> float:
    """Return the first tick after ``now_s`` on the grid of ``due_s``. Missed ticks are skipped."""
    return due_s + period_s * (math.floor((now_s - due_s) / period_s) + 1)


def _rounded(at_s: float) -> float:
    """Round to 0.1 ms. More digits would only enlarge the journal."""
    return round(at_s, 4)
