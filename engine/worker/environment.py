"""Environment of the worker: kernel counters over the measured span, its processors, libraries and modes."""

import ctypes
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic

import msgspec
import psutil
import torch
from msgspec.structs import replace

from benchtui.engine.telemetry.cgroup import QuotaUse, group_folders, most_stopping, quota_uses
from benchtui.engine.telemetry.host import none_on_error, use_percent
from benchtui.engine.telemetry.kernel_files import kernel_lines, kernel_text
from benchtui.engine.telemetry.neighbors import run_delay
from benchtui.engine.telemetry.processor_clock import ThrottleCounts
from benchtui.engine.telemetry.processors import (
    busy_s,
    numa_nodes_of,
    processor_count,
    ranges,
    stolen_s,
    usable_processors,
)
from benchtui.sessions.payloads import Environment

MIN_SPAN_S = 0.2
"""Shortest span for the processors' CPU time, which the kernel counts in ticks of 10 ms."""
HUGE_PAGE_MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Modes, with the active one in brackets (Documentation/admin-guide/mm/transhuge.rst)."""
OWN_MEMORY = Path("/proc/self/smaps_rollup")


class _Moment(msgspec.Struct, frozen=True):
    at_s: float
    own_s: float
    switches: int
    threads: run_delay.ThreadTimes
    processors_s: float | None
    """CPU time of all processes on the processors that the worker may use."""
    stolen_s: float | None
    """Time for which the hypervisor ran something else on these processors."""
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
            stolen_s=none_on_error(lambda: stolen_s(processors)),
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
        self._usage = resource.getrusage(resource.RUSAGE_SELF)  # last, without the probe's own page faults

    def since(self, steps: int) -> Environment:
        """Return the changes since creation, in which so many steps ran.

        ``others_cpu_percent`` still includes the engine.
        """
        usage = resource.getrusage(resource.RUSAGE_SELF)  # first, for the same reason
        begin, end = self._begin, self._now()
        span_s, own_s = end.at_s - begin.at_s, end.own_s - begin.own_s
        threads = run_delay.since(begin.threads, end.threads)
        environment = Environment(
            worker_cpu=round(own_s / span_s, 3) if span_s > 0 else None,
            involuntary_switches=end.switches - begin.switches,
            run_delay_s=None if threads is None else round(threads.waited_s, 4),
            others_cpu_percent=use_percent(begin.processors_s, end.processors_s, span_s, own_s, MIN_SPAN_S),
            processors=processor_count(self._processors),
            affinity=None if self._processors is None else ranges(self._processors),
            load_average=_load(),
            processor_throttled=_increase(begin.throttled, end.throttled),
            steal_percent=use_percent(begin.stolen_s, end.stolen_s, span_s, least_s=MIN_SPAN_S),
            numa_nodes=None if self._processors is None else numa_nodes_of(self._processors),
            huge_page_mode=huge_page_mode(),
            huge_pages_mb=huge_pages_mb(),
        )
        environment = _with_absences(_with_usage(environment, self._usage, usage, steps), span_s)
        quota = most_stopping(begin.quotas, end.quotas)
        return environment if quota is None else _with_quota(environment, quota)

    def _now(self) -> _Moment:
        return _Moment.now(self._processors, self._groups, self._throttles)


def _with_usage(
    environment: Environment, begin: resource.struct_rusage, end: resource.struct_rusage, steps: int
) -> Environment:
    """Add the worker's own CPU time and page faults, per step where a mean makes sense."""
    per_step = 1 / max(steps, 1)
    return replace(
        environment,
        user_ms=round(1000 * (end.ru_utime - begin.ru_utime) * per_step, 4),
        system_ms=round(1000 * (end.ru_stime - begin.ru_stime) * per_step, 4),
        minor_faults_per_step=round((end.ru_minflt - begin.ru_minflt) * per_step, 1),
        major_faults=end.ru_majflt - begin.ru_majflt,
    )


def _with_absences(environment: Environment, span_s: float) -> Environment:
    """Add the reasons for the readings that are missing."""
    short = f"the measured span of {span_s:.2g} s is too short" if span_s < MIN_SPAN_S else None
    reasons = {
        "steal_percent": short or "the kernel doesn't list the stolen time of these CPUs in /proc/stat",
        "numa_nodes": "the kernel names no NUMA node of these CPUs",
        "huge_page_mode": f"the kernel has no {HUGE_PAGE_MODE}",
        "huge_pages_mb": f"{OWN_MEMORY} can't be read",
    }
    missing = {name: reason for name, reason in reasons.items() if getattr(environment, name) is None}
    return replace(environment, absent=missing)


def huge_page_mode(file: Path = HUGE_PAGE_MODE) -> str | None:
    """Return the active mode of transparent huge pages: ``always``, ``madvise`` or ``never``."""
    return next((word[1:-1] for word in kernel_text(file).split() if word.startswith("[")), None)


def huge_pages_mb(file: Path = OWN_MEMORY) -> float | None:
    """Return the worker's anonymous memory in transparent huge pages, in units of 10**6 bytes."""
    lines = (line.split() for line in kernel_lines(file) if line.startswith("AnonHugePages:"))
    return next((round(int(words[1]) * 1024 / 1e6, 1) for words in lines), None)


def missing_preloads(variables: Mapping[str, str]) -> list[str]:
    """Return the libraries of ``LD_PRELOAD`` that this process hasn't loaded.

    The loader only warns about a library that it can't find (ld.so(8)), and the case would measure another one.
    """
    libraries = variables.get("LD_PRELOAD", "").replace(":", " ").split()
    return [library for library in libraries if not _is_loaded(library)]


def _is_loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def diagnostic_modes() -> Iterator[str]:
    """Yield the modes that are on in this thread, as a user would search for them."""
    if torch.is_anomaly_enabled():
        yield "autograd's anomaly detection (torch.autograd.set_detect_anomaly)"
    if sys.getprofile() is not None:
        yield "a profile function that Python calls for each call (sys.setprofile)"
    if sys.gettrace() is not None:
        yield "a trace function that Python calls for each line (sys.settrace), of a debugger or of coverage"
    if sys.flags.dev_mode:
        yield "Python's development mode (-X dev)"
    if torch.backends.mkldnn.is_available() and not torch.backends.mkldnn.enabled:
        yield "oneDNN off (torch.backends.mkldnn.enabled), whose products and convolutions are faster"
    if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        yield "CUDA_LAUNCH_BLOCKING, with which the host waits for each kernel"


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
    descendants = none_on_error(lambda: psutil.Process().children(recursive=True)) or []
    times = [none_on_error(process.cpu_times) for process in descendants]
    return sum(cpu_times.user + cpu_times.system for cpu_times in times if cpu_times)


def _increase(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else max(0, end - begin)


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None
