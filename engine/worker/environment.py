"""Environment probe: kernel counters of the worker and of its processors over the measured span."""

import os
import resource
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

import msgspec
import psutil
from msgspec.structs import replace

from benchtui.engine.telemetry.cgroup import QuotaUse, group_folders, most_stopping, quota_uses
from benchtui.engine.telemetry.host import none_on_error
from benchtui.engine.telemetry.neighbors import run_delay
from benchtui.engine.telemetry.processor_clock import ThrottleCounts
from benchtui.engine.telemetry.processors import busy_s, ranges, usable_processors
from benchtui.sessions.payloads import Environment

MIN_SPAN_S = 0.2
"""Shortest span for the processors' CPU time, which the kernel counts in ticks of 10 ms."""


class _Moment(msgspec.Struct, frozen=True):
    at_s: float
    own_s: float
    switches: int
    threads: run_delay.ThreadTimes
    processors_s: float | None
    """CPU time of all processes on the processors that the worker may use."""
    quotas: Mapping[Path, QuotaUse]
    throttled: int | None
    """Number of times that these processors were thermally throttled."""

    @classmethod
    def now(
        cls, processors: frozenset[int] | None, groups: Sequence[Path], throttles: ThrottleCounts
    ) -> "_Moment":
        own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        own_s = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime + _descendants_s()
        processors_s = none_on_error(lambda: busy_s(processors))
        return cls(
            at_s=monotonic(),
            own_s=own_s,
            switches=own.ru_nivcsw,
            threads=run_delay.thread_times(),
            processors_s=processors_s,
            quotas=quota_uses(groups),
            throttled=throttles.total(),
        )


class EnvironmentProbe:
    """Kernel counters, read on creation and once more in ``since``. The probe does nothing in between."""

    def __init__(self) -> None:
        self._processors = usable_processors()
        self._groups = group_folders("cpu")
        self._throttles = ThrottleCounts(self._processors)
        self._begin = self._now()

    def since(self) -> Environment:
        """Return the changes since creation. ``others_cpu_percent`` still includes the engine."""
        begin, end = self._begin, self._now()
        span_s, own_s = end.at_s - begin.at_s, end.own_s - begin.own_s
        threads = run_delay.since(begin.threads, end.threads)
        environment = Environment(
            worker_cpu=round(own_s / span_s, 3) if span_s > 0 else None,
            involuntary_switches=end.switches - begin.switches,
            run_delay_s=None if threads is None else round(threads.waited_s, 4),
            others_cpu_percent=_others_percent(begin, end, own_s, span_s),
            processors=psutil.cpu_count() if self._processors is None else len(self._processors),
            affinity=None if self._processors is None else ranges(self._processors),
            load_average=_load(),
            processor_throttled=_increase(begin.throttled, end.throttled),
        )
        quota = most_stopping(begin.quotas, end.quotas)
        return environment if quota is None else _with_quota(environment, quota)

    def _now(self) -> _Moment:
        return _Moment.now(self._processors, self._groups, self._throttles)


def _with_quota(environment: Environment, quota: QuotaUse) -> Environment:
    """Add the periods and the time in which a CPU quota stopped its group."""
    return replace(
        environment,
        quota_periods=quota.periods,
        quota_stopped_periods=quota.stopped_periods,
        quota_stopped_s=round(quota.stopped_s, 4),
    )


def _descendants_s() -> float:
    """CPU time of running descendants, which counts as the worker's own."""
    found = none_on_error(lambda: psutil.Process().children(recursive=True)) or []
    times = [none_on_error(process.cpu_times) for process in found]
    return sum(each.user + each.system for each in times if each)


def _others_percent(begin: _Moment, end: _Moment, own_s: float, span_s: float) -> float | None:
    if begin.processors_s is None or end.processors_s is None or span_s < MIN_SPAN_S:
        return None
    return round(100 * max(0.0, end.processors_s - begin.processors_s - own_s) / span_s, 1)


def _increase(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else max(0, end - begin)


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None
