"""Environment probe: kernel counters of the worker and of its processors over the measured span."""

import os
import resource
from dataclasses import dataclass
from time import monotonic

import psutil

from benchtui.engine.telemetry.host import none_on_error
from benchtui.engine.telemetry.processors import busy_s, usable_processors
from benchtui.sessions.payloads import Environment

MIN_SPAN_S = 0.2
"""Shortest span for the processors' CPU time, which the kernel counts in ticks of 10 ms."""


@dataclass(frozen=True, slots=True)
class _Moment:
    at_s: float
    own_s: float
    switches: int
    processors_s: float | None
    """CPU time of all processes on the processors that the worker may use."""

    @classmethod
    def now(cls, processors: frozenset[int] | None) -> "_Moment":
        own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        own_s = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime + _descendants_s()
        return cls(monotonic(), own_s, own.ru_nivcsw, none_on_error(lambda: busy_s(processors)))


class EnvironmentProbe:
    """Kernel counters, read on creation and once more in ``since``. Nothing runs in between."""

    def __init__(self) -> None:
        self._processors = usable_processors()
        self._begin = _Moment.now(self._processors)

    def since(self) -> Environment:
        """Return the changes since creation. ``others_cpu_percent`` still includes the engine."""
        begin, end = self._begin, _Moment.now(self._processors)
        span_s, own_s = end.at_s - begin.at_s, end.own_s - begin.own_s
        return Environment(
            worker_cpu=round(own_s / span_s, 3) if span_s > 0 else None,
            involuntary_switches=end.switches - begin.switches,
            others_cpu_percent=_others_percent(begin, end, own_s, span_s),
            processors=psutil.cpu_count() if self._processors is None else len(self._processors),
            load_average=_load(),
        )


def _descendants_s() -> float:
    """CPU time of running descendants, which count as the worker's own."""
    found = none_on_error(lambda: psutil.Process().children(recursive=True)) or []
    times = [none_on_error(process.cpu_times) for process in found]
    return sum(each.user + each.system for each in times if each)


def _others_percent(begin: _Moment, end: _Moment, own_s: float, span_s: float) -> float | None:
    if begin.processors_s is None or end.processors_s is None or span_s < MIN_SPAN_S:
        return None
    return round(100 * max(0.0, end.processors_s - begin.processors_s - own_s) / span_s, 1)


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None
