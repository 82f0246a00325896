"""Host readings: the machine, the workers, and the engine, whose CPU use is the overhead of measuring."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from math import inf
from typing import TypeVar

import msgspec
import psutil

from benchtui.engine.telemetry.neighbors import processes
from benchtui.engine.telemetry.processor_clock import BusyClock
from benchtui.engine.telemetry.processors import busy_s, usable_processors
from benchtui.engine.telemetry.rapl import Rapl, RaplSample

T = TypeVar("T")

LOOK_S = 1.0
"""Seconds between two looks for new descendants. Reading those of hundreds of threads takes a millisecond."""


class HostSample(msgspec.Struct, frozen=True):
    """Host readings at one moment; None if a reading failed. 100 percent is one whole processor.

    Worker readings are sums over the workers that could be read, with the CPU time of their descendants, such
    as compilers and loaders of data. ``others_cpu_percent`` is the use by processes that are neither the engine
    nor its descendants.
    """

    cpu_percent: float | None
    memory_used_mb: float | None
    worker_cpu_percent: float | None
    worker_rss_mb: float | None
    engine_cpu_percent: float | None
    others_cpu_percent: float | None = None
    package_energy_j: float | None = None
    processor_mhz: float | None = None
    dram_energy_j: float | None = None


def use_percent(
    begin_s: float | None, end_s: float | None, span_s: float, own_s: float = 0.0, least_s: float = 0.0
) -> float | None:
    """Return the increase of a time over a span, without that of one's own, in percent of one processor.

    None for a span that isn't longer than ``least_s``, or if a total is missing.
    """
    if begin_s is None or end_s is None or span_s <= least_s:
        return None
    return round(100 * max(0.0, end_s - begin_s - own_s) / span_s, 1)  # totals may decrease by a tick


class ProcessorUse:
    """CPU use in percent of one processor, from a running total of CPU time."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None

    def percent(self, at_s: float, busy_s: float | None) -> float | None:
        """Return the use since the last call. None for the first call, or if a total is missing."""
        last, self._last = self._last, None if busy_s is None else (at_s, busy_s)
        return use_percent(last[1], busy_s, at_s - last[0]) if last else None


class HostReader:
    """Host reader. CPU use is the mean since the previous read."""

    def __init__(self, rapl: Rapl | None = None) -> None:
        self._rapl = rapl
        self._clock = BusyClock()
        self._machine = ProcessorUse()
        self._usable = usable_processors()
        self._others = ProcessorUse()
        self._own_s = 0.0
        self._children: dict[int, list[int]] = {}
        """Children of the engine and of its descendants, by parent."""
        self._looked_s = -inf
        self._engine = ProcessorUse()
        self._workers: dict[int, ProcessorUse] = {}

    def read(self, at_s: float, worker_pids: Collection[int]) -> HostSample:
        """Read the machine and the workers with these pids at session time ``at_s``."""
        if at_s >= self._looked_s + LOOK_S or self._workers.keys() != set(worker_pids):
            self._children, self._looked_s = processes.children_below((os.getpid(), *worker_pids)), at_s
        self._workers = {pid: self._workers.get(pid) or ProcessorUse() for pid in worker_pids}
        read = {pid: none_on_error(partial(_process, pid, self._children)) for pid in worker_pids}
        seen = {pid: process or (None, None) for pid, process in read.items()}
        energy = self._rapl.sample() if self._rapl else RaplSample(None, None)
        uses = [use.percent(at_s, seen[pid][0]) for pid, use in self._workers.items()]
        return HostSample(
            cpu_percent=self._machine.percent(at_s, none_on_error(partial(busy_s, None))),
            memory_used_mb=none_on_error(_memory_used_mb),
            worker_cpu_percent=_sum(uses),
            worker_rss_mb=_sum(rss_mb for _, rss_mb in seen.values()),
            engine_cpu_percent=self._engine.percent(at_s, time.process_time()),
            others_cpu_percent=self._others_percent(at_s),
            package_energy_j=energy.package_j,
            processor_mhz=self._clock.mhz(),
            dram_energy_j=energy.dram_j,
        )

    def _others_percent(self, at_s: float) -> float | None:
        """Return the CPU use of all other processes on the processors that workers may use.

        None if a process of the engine has ended unseen: what it used at last would count as theirs.
        """
        before_s, self._own_s = self._own_s, processes.used_s(self._children)
        all_s = none_on_error(partial(busy_s, self._usable))
        use = self._others.percent(at_s, None if all_s is None else all_s - self._own_s)
        return None if self._own_s < before_s else use


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that could be read, or None if none could."""
    numbers = [value for value in values if value is not None]
    return round(sum(numbers), 1) if numbers else None


def none_on_error(read: Callable[[], T]) -> T | None:
    """Return a reading, or None if the system denies it."""
    try:
        return read()
    except (psutil.Error, OSError):
        return None


def _memory_used_mb() -> float:
    """Memory unavailable to programs. Caches don't count as used."""
    memory = psutil.virtual_memory()
    return round((memory.total - memory.available) / 1e6, 1)


def _process(pid: int, children: Mapping[int, Iterable[int]]) -> tuple[float, float] | None:
    """CPU time (s) of a process and its descendants, and its resident memory (MB). None if it has exited."""
    process = psutil.Process(pid)
    with process.oneshot():
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return processes.used_s(processes.family(pid, children)), round(process.memory_info().rss / 1e6, 1)
