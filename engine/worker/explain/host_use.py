"""Host use: what the kernel counted for this process and its children during plain steps."""

import gc
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from benchtui.engine.telemetry.host import none_on_error
from benchtui.engine.telemetry.kernel_files import kernel_lines, kernel_text
from benchtui.engine.telemetry.neighbors.run_delay import thread_time
from benchtui.engine.telemetry.processors import THREADS, busy_s, usable_processors
from benchtui.sessions.profiles import HostUse, ThreadUse

IO, VMSTAT = Path("/proc/self/io"), Path("/proc/vmstat")
_PER_PROCESS, _PER_THREAD = 2, 6
"""Low bits of the number of another process's or thread's CPU clock: clock_getcpuclockid(3)."""
LOOK_S, LEAST_NEIGHBOR = 0.1, 0.5
"""Seconds of looking for busy processes, since the kernel counts processors in ticks of 10 ms, and the use of a
processor from which they are neighbors."""
LEAST_THREAD_SHARE = 0.01
"""Smallest CPU time of a thread, as a share of a step, that is recorded."""


class _Clocks(NamedTuple):
    """Quick readings, next to the steps: totals since the start of the process or thread, or their increase."""

    at_s: float
    main_s: float
    """CPU time of this thread."""
    main_kernel_s: float
    """The part of it in the kernel."""
    user_s: float
    """CPU time of the process outside of the kernel."""
    kernel_s: float
    page_faults: float
    huge_pages: float
    read_bytes: float
    written_bytes: float
    collecting_s: float


class _Others(NamedTuple):
    """Readings of everything but this thread, which take milliseconds."""

    at_s: float
    threads_s: Mapping[int, float]
    """CPU time of each thread."""
    delays_s: Mapping[int, float]
    children_s: float
    processors_s: float | None
    """CPU time of all processes on the processors of this one."""


class _Stretch(NamedTuple):
    """Increase of the readings over some steps."""

    steps: int
    clocks: _Clocks
    delay_s: float | None
    """Time in which this thread was ready to run and waited for a processor. None if it isn't counted."""
    threads_s: Mapping[int, float]
    other_delays_s: float
    """Time in which the other threads waited for a processor."""
    children_s: float
    processors_s: float | None

    @property
    def step_s(self) -> float:
        """Time of a step."""
        return self.clocks.at_s / self.steps


def between(
    steps: int,
    clocks: tuple[_Clocks, _Clocks],
    others: tuple[_Others, _Others],
    delays_s: tuple[float | None, float | None],
) -> _Stretch:
    """Return what was counted between two readings.

    Of the slow ones, which may wait for Python's lock, only the share of the steps in the time counts.
    """
    spent = _Clocks(*(after - before for before, after in zip(*clocks, strict=True)))
    before, after = others
    watched = spent.at_s / max(after.at_s - before.at_s, 1e-9)
    waited_s = (delay_s - before.delays_s.get(number, 0.0) for number, delay_s in after.delays_s.items())
    return _Stretch(
        steps=steps,
        clocks=spent,
        delay_s=_increase_s(*delays_s),
        threads_s={
            number: watched * (cpu_s - before.threads_s.get(number, 0.0))
            for number, cpu_s in after.threads_s.items()
        },
        other_delays_s=watched * sum(waited_s),
        children_s=watched * (after.children_s - before.children_s),
        processors_s=_increase_s(before.processors_s, after.processors_s, watched),
    )


def _increase_s(before_s: float | None, after_s: float | None, share: float = 1.0) -> float | None:
    return None if before_s is None or after_s is None else share * (after_s - before_s)


class HostWatch:
    """Readings around stretches of steps, all in the thread that creates this."""

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._collecting_s, self._begin_s = 0.0, 0.0
        self._thread = threading.get_native_id()

    @contextmanager
    def stretch(self, steps: int) -> Iterator[None]:
        """Watch some steps."""
        gc.callbacks.append(self._collecting)
        try:
            others, delay_s, clocks = self._others(), _delay_s(self._thread), self._clocks()
            yield
            delay_after_s, ended = _delay_s(self._thread), self._clocks()
        finally:
            gc.callbacks.remove(self._collecting)
        self._stretches.append(
            between(steps, (clocks, ended), (others, self._others()), (delay_s, delay_after_s))
        )

    def use(self) -> HostUse:
        """Return means per step over the usual stretches; of waits, the median over these."""
        usual = self._usual()
        steps = sum(stretch.steps for stretch in usual)
        columns = zip(*(stretch.clocks for stretch in usual), strict=True)
        mean = _Clocks(*(max(0.0, sum(column) / steps) for column in columns))
        delays_s = [stretch.delay_s / stretch.steps for stretch in usual if stretch.delay_s is not None]
        processors_s = [stretch.processors_s for stretch in usual if stretch.processors_s is not None]
        children_ms = _mean_ms((stretch.children_s for stretch in usual), steps)
        ours_ms = _ms(mean.user_s + mean.kernel_s) + children_ms
        return HostUse(
            step_ms=_ms(mean.at_s),
            cpu_ms=_ms(mean.main_s),
            delay_ms=_ms(median(delays_s)) if delays_s else None,
            user_ms=_ms(mean.user_s),
            kernel_ms=_ms(mean.kernel_s),
            main_kernel_ms=_ms(mean.main_kernel_s),
            huge_pages=round(mean.huge_pages, 3),
            page_faults=round(mean.page_faults, 1),
            read_mb=round(mean.read_bytes / 1e6, 4),
            written_mb=round(mean.written_bytes / 1e6, 4),
            collecting_ms=_ms(mean.collecting_s),
            children_ms=children_ms,
            # the kernel counts processors in ticks of 10 ms
            others_ms=max(0.0, _mean_ms(processors_s, steps) - ours_ms)
            if len(processors_s) == len(usual)
            else None,
            threads=tuple(self._threads(usual, steps, LEAST_THREAD_SHARE * _ms(mean.at_s))),
            other_delays_ms=_mean_ms((stretch.other_delays_s for stretch in usual), steps),
        )

    def _usual(self) -> list[_Stretch]:
        """Return the half of the stretches whose steps are closest to the median: the others were disturbed."""
        usual_s = median(stretch.step_s for stretch in self._stretches)
        nearest = sorted(self._stretches, key=lambda stretch: abs(stretch.step_s - usual_s))
        return nearest[: (len(nearest) + 1) // 2]

    def _threads(self, stretches: Sequence[_Stretch], steps: int, least_ms: float) -> Iterator[ThreadUse]:
        """Yield the Python threads besides this one that used a processor."""
        for thread in threading.enumerate():
            number = thread.native_id
            if number is not None and number != self._thread:
                cpu_ms = _mean_ms((stretch.threads_s.get(number, 0.0) for stretch in stretches), steps)
                if cpu_ms > least_ms:
                    yield ThreadUse(name=thread.name, cpu_ms=cpu_ms)

    def _clocks(self) -> _Clocks:
        io, huge_pages = _io(), _huge_pages()
        main_kernel_s, usage = thread_kernel_s(), resource.getrusage(resource.RUSAGE_SELF)
        return _Clocks(
            huge_pages=huge_pages,
            read_bytes=io.get("rchar", 0),
            written_bytes=io.get("wchar", 0),
            collecting_s=self._collecting_s,
            user_s=usage.ru_utime,
            kernel_s=usage.ru_stime,
            page_faults=usage.ru_minflt,
            main_kernel_s=main_kernel_s,
            main_s=time.thread_time(),
            at_s=time.perf_counter(),
        )

    def _others(self) -> _Others:
        children_s, threads = _children_s(), _thread_numbers()
        delays_s = {number: _delay_s(number) for number in threads if number != self._thread}
        return _Others(
            at_s=time.perf_counter(),
            threads_s={
                number: cpu_s for number in threads if (cpu_s := _cpu_s(number, _PER_THREAD)) is not None
            },
            delays_s={number: delay_s for number, delay_s in delays_s.items() if delay_s is not None},
            children_s=children_s,
            processors_s=none_on_error(lambda: busy_s(usable_processors())),
        )

    def _collecting(self, phase: str, info: object) -> None:
        """Add the time of a collection, as a callback of the garbage collector."""
        if phase == "start":
            self._begin_s = time.perf_counter()
        else:
            self._collecting_s += time.perf_counter() - self._begin_s


def has_neighbor(step: Callable[[], object]) -> bool:
    """Run steps for a moment. Return whether other processes use much of the processors meanwhile."""
    watch, end_s = HostWatch(), time.perf_counter() + LOOK_S
    with watch.stretch(1):
        while time.perf_counter() < end_s:
            step()
    use = watch.use()
    return (use.others_ms or 0.0) >= LEAST_NEIGHBOR * use.step_ms


@contextmanager
def spread_threads(*, wanted: bool) -> Iterator[None]:
    """Keep this thread and those of its operators on a processor each, next to a process that uses one.

    Threads of an operator that share a processor wait actively for each other, a time slice at each barrier:
    four products of 0.3 ms took 64 ms on two processors, on one of which the scheduler left both threads.
    """
    usable = sorted(usable_processors() or ()) if wanted else []
    native = set(_thread_numbers()) - {thread.native_id for thread in threading.enumerate()}
    busiest = sorted(native, key=lambda number: -(_cpu_s(number, _PER_THREAD) or 0.0))
    before = {}
    for place, number in enumerate([0, *busiest] if usable else ()):
        with suppress(OSError):  # it has ended
            before[number] = os.sched_getaffinity(number)
            os.sched_setaffinity(number, {usable[place % len(usable)]})
    try:
        yield
    finally:
        for number, processors in before.items():
            with suppress(OSError):
                os.sched_setaffinity(number, processors)


def thread_kernel_s() -> float:
    """Return the CPU time of this thread in the kernel."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_stime


def _thread_numbers() -> list[int]:
    try:
        return [int(name) for name in os.listdir(THREADS)]
    except OSError:  # not Linux
        return []


def _delay_s(thread: int) -> float | None:
    """Return how long a thread has waited for a processor."""
    totals = thread_time(kernel_text(THREADS / str(thread) / "schedstat"))
    return totals.waited_s if totals else None


def _cpu_s(number: int, kind: int) -> float | None:
    """Return the CPU time of a process or thread, up to the moment."""
    try:
        return time.clock_gettime((~number << 3) | kind)
    except (OSError, OverflowError):  # it has ended
        return None


def _children_s() -> float:
    """Return the CPU time of all descendants, of those that have ended and were waited for as well."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = none_on_error(lambda: psutil.Process().children(recursive=True)) or []
    times_s = (_cpu_s(process.pid, _PER_PROCESS) or 0.0 for process in running)
    return ended.ru_utime + ended.ru_stime + sum(times_s)


def _huge_pages() -> int:
    """Return the number of huge pages that the kernel has made for page faults of all processes."""
    words = (line.split() for line in kernel_lines(VMSTAT))
    return next((int(value) for name, value in words if name == "thp_fault_alloc"), 0)


def _io() -> Mapping[str, int]:
    """Return the bytes that this process has read and written, from files, pipes and sockets."""
    words = (line.split() for line in kernel_lines(IO))
    return {name.rstrip(":"): int(value) for name, value in words}


def _mean_ms(values_s: Iterable[float], steps: int) -> float:
    return _ms(max(0.0, sum(values_s) / steps))


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 6)
