"""Case execution: the worker process of a case, with node telemetry added to its result."""

import os
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from msgspec.structs import replace

from benchtui.engine.job import WorkerEvent
from benchtui.engine.node.energy import gpu_energy, processor_energy
from benchtui.engine.node.telemetry_window import WATCHED_COLUMNS, TelemetryWindow
from benchtui.engine.node.worker_processes import CaseProcess
from benchtui.engine.telemetry.gpu.reader import GpuReader
from benchtui.engine.telemetry.neighbors.processes import busiest, named, process_times
from benchtui.sessions.events import Answered, CaseFinished, CasePrepared, Outcome
from benchtui.sessions.payloads import GPU_ACTIVITY, Energy, Environment, Gpu, Host, Memory, Neighbor
from benchtui.sessions.stats.disturbance import contention_marks, disturbances, gpu_sharers, unwatched_marks

_PROCESSES_PERIOD_S = 1.0
"""Minimum interval between queries of the GPU's process list, because each query locks the driver."""

_AROUND_S = 1.0
"""Seconds around a short span from which the CPU use of others is taken. Single samples are 0.25 s apart."""
_OF_SEVERAL = "several cases took turns on the device, and its readings are of all"
_MIG = "the GPU is partitioned by MIG, and the driver reports the whole device instead of the instance"


class CaseRun:
    """A running case and the node's telemetry about it."""

    def __init__(
        self,
        process: CaseProcess,
        gpus: GpuReader | None,
        host: Host,
        readings: TelemetryWindow,
        begun_s: float,
        on_end: Callable[["CaseRun"], None],
        *,
        device: str,
        workers: Callable[[], frozenset[int]] = frozenset,
    ) -> None:
        """``workers`` returns the process ids of the sweep's workers on the device: two if they take turns."""
        self.begun_s = begun_s
        """Session time of the start; earlier readings aren't needed."""
        self._process = process
        self._on_end = on_end
        self._gpu_reader = gpus
        self._host = host
        self._readings = readings
        self.device = device
        self._workers = workers
        self.on_gpu = device != "cpu"
        """Whether the case runs on a GPU."""
        self._gpu_uuid: str | None = None
        self._uuid_absent: str | None = None
        self._device_mb: float | None = None
        self._other_processes: int | None = None
        self._other_pids: set[int] = set()
        """Other processes on the GPU that are visible under the driver's IDs."""
        self._begin_processes = process_times()
        self._queried_s = float("-inf")
        """Session time of the latest query of the GPU's process list."""
        self._processes_read_s: list[float] = []
        """Session times of the successful ones."""

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def sources(self) -> list[int]:
        """File descriptors that become readable when there is something to collect."""
        return self._process.sources

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if nothing becomes readable."""
        return self._process.left_s

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Yield pending events. The last one, ``CaseFinished``, gets the node's telemetry added."""
        for event in self._process.collect(now_s):
            if not isinstance(event, Answered):  # the probe isn't part of the memory that the case needs
                self._read_processes(now_s)
            if isinstance(event, CasePrepared):
                self._gpu_uuid, self._uuid_absent = event.gpu_uuid, event.gpu_absent
            if isinstance(event, CaseFinished):
                event = self._complete(event)
                self._on_end(self)
            yield event

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case."""
        self._process.end(outcome, reason, now_s)

    def _read_processes(self, now_s: float) -> None:
        due = now_s - self._queried_s >= _PROCESSES_PERIOD_S
        if not self._gpu_reader or not self._gpu_uuid or not due or self.gpu is None:
            return
        self._queried_s = now_s
        processes = self._gpu_reader.processes(self._gpu_uuid)
        if processes is None:
            return
        self._processes_read_s.append(now_s)
        used_mb = processes.get(self.pid)
        if used_mb is not None:
            self._device_mb = max(used_mb, self._device_mb or 0.0)
        workers = self._workers() | {self.pid}
        self._other_processes = max(count_other_gpu_processes(processes, workers), self._other_processes or 0)
        if self.pid in processes:
            self._other_pids |= processes.keys() - workers

    def _complete(self, event: CaseFinished) -> CaseFinished:
        if event.outcome != "ok" or event.measured_s is None:
            return event
        begin_s, end_s = event.measured_s
        self._readings.flush()
        turns = len(event.turns.partners) if event.turns else 0
        environment = self._environment(event.environment or Environment(), begin_s, end_s, turns=turns)
        if contention_marks(environment, end_s - begin_s):
            environment = replace(environment, neighbors=self._neighbors(environment, event.t))
        return replace(
            event,
            memory=replace(event.memory or Memory(), peak_device_mb=self._device_mb),
            energy=Energy(absent=_OF_SEVERAL) if turns else self._energy(begin_s, end_s),
            environment=environment,
            marks=(
                *event.marks,
                *disturbances(environment, end_s - begin_s),
                *(self._unread() or unwatched_marks(self._missing(begin_s, end_s), end_s - begin_s)),
            ),
        )

    def _neighbors(self, seen: Environment, now_s: float) -> tuple[Neighbor, ...]:
        """Return the other processes on a shared GPU, or else those that were busy since the case started."""
        on_gpu = named(self._other_pids) if gpu_sharers(seen) else ()
        span_s = now_s - self.begun_s
        return on_gpu or busiest(self._begin_processes, process_times(), span_s, os.getpid())

    def _missing(self, begin_s: float, end_s: float) -> list[str]:
        """Return the kinds of GPU readings that the driver supports but that are missing in a span.

        Empty for a case on a CPU.
        """
        gpu = self.gpu
        if gpu is None:
            return []
        kinds = [
            kind
            for kind, name in WATCHED_COLUMNS.items()
            if not self._readings.is_unsupported(gpu.index, name)
            and not self._readings.gpu(gpu.index, name, begin_s, end_s)
        ]
        read_s = self._processes_read_s
        unlisted = bool(read_s) and not any(begin_s <= at_s <= end_s for at_s in read_s)
        return [*kinds, "other processes"] if unlisted else kinds

    def _energy(self, begin_s: float, end_s: float) -> Energy:
        if not self.on_gpu:
            reason = self._host.absent.get("rapl")
            return Energy(absent=reason) if reason else processor_energy(self._readings, begin_s, end_s)
        gpu = self.gpu
        if gpu is None:
            return Energy(absent=self._gpu_absent())
        return gpu_energy(self._readings, gpu.index, begin_s, end_s)

    def _environment(self, seen: Environment, begin_s: float, end_s: float, *, turns: int = 0) -> Environment:
        """Complete the worker's readings with those of the GPU.

        ``others_cpu_percent`` is corrected for the engine and concurrent cases. The number of cases that took
        turns with this one, which never run at the same time, isn't counted as running beside it.
        """
        beside = max(0, self._readings.most_workers(begin_s, end_s) - 1)
        others_percent = self._others_percent(seen, beside, begin_s, end_s)
        still_s, idle = self._stood_still_s(begin_s, end_s), self._readings.idle
        seen = replace(
            seen,
            beside=max(0, beside - turns),
            others_cpu_percent=others_percent,
            idle_others_cpu_percent=idle.others_cpu_percent if idle else None,
            idle_run_delay_percent=idle.run_delay_percent if idle else None,
            stood_still_s=still_s,
            processor_mhz=_mean(self._host_readings("processor_mhz", begin_s, end_s)),
        )
        gpu = self.gpu
        return seen if gpu is None else self._with_gpu(seen, gpu, begin_s, end_s)

    def _host_readings(self, name: str, begin_s: float, end_s: float) -> list[float]:
        return [value for _, value in self._readings.host(name, begin_s, end_s)]

    def _stood_still_s(self, begin_s: float, end_s: float) -> float | None:
        """Seconds in which everything, or only the worker, was stopped. None if there were none."""
        everything_s = self._readings.stood_still_s(begin_s, end_s)
        alone_s = self._readings.worker_stopped_s(self.pid, begin_s, end_s)
        return everything_s if alone_s is None else (everything_s or 0.0) + alone_s

    def _others_percent(self, seen: Environment, beside: int, begin_s: float, end_s: float) -> float | None:
        """CPU use by processes outside the sweep, in percent of one processor.

        That of the second around a span too short for the kernel's ticks. None if this or the part used by
        concurrent cases could not be read.
        """
        if seen.others_cpu_percent is None:
            around = begin_s - _AROUND_S / 2, end_s + _AROUND_S / 2
            return _mean(self._host_readings("others_cpu_percent", *around))
        engine, workers = (
            self._host_readings(name, begin_s, end_s) for name in ("engine_cpu_percent", "worker_cpu_percent")
        )
        ours = fmean(engine) if engine else 0.0
        if beside:
            if not workers or seen.worker_cpu is None:
                return None
            ours += max(0.0, fmean(workers) - 100 * seen.worker_cpu)
        return round(max(0.0, seen.others_cpu_percent - ours), 1)

    def _with_gpu(self, seen: Environment, gpu: Gpu, begin_s: float, end_s: float) -> Environment:
        def readings(name: str) -> list[float]:
            return [value for _, value in self._readings.gpu(gpu.index, name, begin_s, end_s)]

        idle, clocks = self._readings.idle, readings("graphics_clock_mhz")
        return replace(
            seen,
            graphics_clock_mhz=_mean(clocks),
            graphics_clock_least_mhz=min(clocks, default=None),
            graphics_clock_default_mhz=gpu.graphics_clock_mhz,
            graphics_clock_default_is_highest=gpu.graphics_clock_is_highest,
            graphics_clock_best_mhz=self._readings.best_clock_mhz(gpu.index, begin_s, end_s),
            memory_clock_mhz=_mean(readings("memory_clock_mhz")),
            memory_clock_highest_mhz=gpu.memory_clock_mhz,
            performance_states=self._readings.performance_states(gpu.index, begin_s, end_s),
            throttle=self._readings.throttle(gpu.index, begin_s, end_s),
            temperature_c=max(readings("temperature_c"), default=None),
            power_limit_w=self._readings.power_limit_w(gpu.index),
            gpu_processes=self._other_processes,
            idle_gpu_processes=idle.gpu_processes.get(f"gpu {gpu.index}", 0) if idle else 0,
            **{name: _mean(readings(name)) for name in GPU_ACTIVITY},
        )

    def _unread(self) -> tuple[str, ...]:
        """Return a mark if the case ran on a GPU that the driver's readings can't be matched to."""
        return (f"GPU not read: {self._gpu_absent()}",) if self.on_gpu and self.gpu is None else ()

    def _gpu_absent(self) -> str:
        """Return why the driver's readings can't be matched to the case's GPU."""
        unlisted = "the driver doesn't list the device that torch uses"
        reason = self._uuid_absent or self._host.absent.get("gpu")
        return reason or (_MIG if any(gpu.mig for gpu in self._host.gpus) else unlisted)

    @property
    def gpu(self) -> Gpu | None:
        """GPU of the case. None if it is unknown, or if its readings are those of a whole MIG device."""
        gpus = (gpu for gpu in self._host.gpus if gpu.uuid is not None and not gpu.mig)
        own = (gpu for gpu in gpus if gpu.uuid == self._gpu_uuid)
        return next(own, None)


def _mean(readings: Sequence[float]) -> float | None:
    """Return the mean of readings, rounded. None without readings."""
    return round(fmean(readings), 1) if readings else None


def count_other_gpu_processes(processes: dict[int, float | None], workers: frozenset[int]) -> int:
    """Count the processes other than the sweep's workers that compute on a GPU.

    In a container with its own PID namespace the driver lists workers under unknown pids; as many of the
    listed processes are then assumed to be the workers.
    """
    listed = processes.keys() & workers
    return len(processes.keys() - workers) if listed else max(len(processes) - len(workers), 0)
