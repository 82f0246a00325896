"""Idle readings: what a machine does without the sweep, between two moments before the first case."""

import os
import time
from collections.abc import Collection
from time import monotonic

import msgspec

from benchtui.engine.telemetry.gpu.reader import GpuReader
from benchtui.engine.telemetry.host import none_on_error, use_percent
from benchtui.engine.telemetry.neighbors import processes, run_delay
from benchtui.engine.telemetry.neighbors.processes import ProcessTime
from benchtui.engine.telemetry.processors import busy_s, processor_count, stolen_s, usable_processors
from benchtui.sessions.events import Idle
from benchtui.sessions.payloads import Gpu
from benchtui.sessions.stats.disturbance import is_noisy


class _Moment(msgspec.Struct, frozen=True):
    at_s: float
    busy_s: float | None
    """CPU time of all processes on the usable processors."""
    stolen_s: float | None
    own_s: float
    threads: run_delay.ThreadTimes
    processes: dict[int, ProcessTime]


class IdleProbe:
    """Readings on creation and once more in ``since``. Between the two, only the engine's sampler runs."""

    def __init__(self) -> None:
        self._processors = usable_processors()
        self._begin = self._now()

    def since(self, now_s: float) -> Idle:
        """Return the readings since creation, at a session time."""
        begin, end = self._begin, self._now()
        span_s = end.at_s - begin.at_s
        own_s = end.own_s - begin.own_s
        others = use_percent(begin.busy_s, end.busy_s, span_s, own_s)
        threads = run_delay.since(begin.threads, end.threads)
        noisy = others is not None and is_noisy(others, processor_count(self._processors))
        return Idle(
            t=now_s,
            window_s=round(span_s, 2),
            others_cpu_percent=others,
            steal_percent=use_percent(begin.stolen_s, end.stolen_s, span_s),
            run_delay_percent=_share_percent(threads),
            neighbors=processes.busiest(begin.processes, end.processes, span_s, os.getpid()) if noisy else (),
        )

    def _now(self) -> _Moment:
        return _Moment(
            at_s=monotonic(),
            busy_s=none_on_error(lambda: busy_s(self._processors)),
            stolen_s=none_on_error(lambda: stolen_s(self._processors)),
            own_s=time.process_time(),
            threads=run_delay.thread_times(),
            processes=processes.process_times(),
        )


def idle_gpu_processes(reader: GpuReader, gpus: Collection[Gpu], busy: Collection[int]) -> dict[str, int]:
    """Return the number of processes on each GPU, without the GPUs with indices in ``busy``."""
    idle = (gpu for gpu in gpus if gpu.uuid is not None and gpu.index not in busy)
    listed = {f"gpu {gpu.index}": reader.processes(gpu.uuid) for gpu in idle if gpu.uuid is not None}
    return {name: len(pids) for name, pids in listed.items() if pids}


def _share_percent(threads: run_delay.ThreadTime | None) -> float | None:
    if threads is None or not (wanted_s := threads.ran_s + threads.waited_s):
        return None
    return round(100 * threads.waited_s / wanted_s, 2)
