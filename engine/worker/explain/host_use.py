"""Host use: what the kernel counted for this process and its children during plain steps."""

import gc
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import msgspec
import psutil

from benchtui.engine.telemetry.host import none_on_error
from benchtui.engine.telemetry.kernel_files import kernel_lines, kernel_text
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


class _Clocks(msgspec.Struct, frozen=True):
    """Quick readings, next to the steps: totals since the start of the process or thread."""

    at_s: float
    main_s: float
    """CPU time of this thread."""
    delay_s: float | None
    """Time in which this thread was ready to run and waited for a processor. None if it isn't counted."""
    usage: resource.struct_rusage
    main_kernel_s: float
    """CPU time of this thread in the kernel."""
    huge_pages: int
    io: Mapping[str, int]
    collecting_s: float

    @property
    def busy_s(self) -> float:
        """CPU time of the process."""
        return self.usage.ru_utime + self.usage.ru_stime


class _Others(msgspec.Struct, frozen=True):
    """Readings of everything but this thread, which take milliseconds."""

    at_s: float
    threads_s: Mapping[int, float]
    """CPU time of each thread."""
    delays_s: Mapping[int, float]
    children_s: float
    processors_s: float | None
    """CPU time of all processes on the processors of this one."""


class _Stretch(msgspec.Struct, frozen=True):
    """Readings before and after some steps."""

    steps: int
    clocks: tuple[_Clocks, _Clocks]
    others: tuple[_Others, _Others]

    def total(self, value: Callable[[_Clocks], float]) -> float:
        """Return the increase of a reading."""
        return value(self.clocks[1]) - value(self.clocks[0])

    @property
    def step_s(self) -> float:
        """Time of a step."""
        return self.total(lambda clocks: clocks.at_s) / self.steps

    @property
    def watched(self) -> float:
        """Share of the steps in the time between the slow readings, which may wait for Python's lock."""
        before, after = self.others
        return self.total(lambda clocks: clocks.at_s) / max(after.at_s - before.at_s, 1e-9)

    @property
    def delay_s(self) -> float | None:
        """Time per step in which this thread waited for a processor."""
        before, after = (clocks.delay_s for clocks in self.clocks)
        return None if before is None or after is None else (after - before) / self.steps

    def thread_s(self, number: int) -> float:
        """Return the CPU time of a thread."""
        before, after = (others.threads_s for others in self.others)
        return after.get(number, 0.0) - before.get(number, 0.0) if number in after else 0.0

    @property
    def children_s(self) -> float:
        """CPU time of children."""
        return self.others[1].children_s - self.others[0].children_s

    @property
    def processors_s(self) -> float | None:
        """CPU time of all processes on the processors of this one."""
        before, after = (others.processors_s for others in self.others)
        return None if before is None or after is None else after - before

    @property
    def others_delay_s(self) -> float:
        """Time in which the other threads waited for a processor."""
        before, after = (others.delays_s for others in self.others)
        return sum(delay_s - before.get(number, 0.0) for number, delay_s in after.items())


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
            others, clocks = self._others(), self._clocks()
            yield
            ended = self._clocks()
        finally:
            gc.callbacks.remove(self._collecting)
        self._stretches.append(_Stretch(steps, (clocks, ended), (others, self._others())))

    def use(self) -> HostUse:
        """Return means per step over the usual stretches; of waits, the median over these."""
        delays_s = [stretch.delay_s for stretch in self._usual if stretch.delay_s is not None]
        return HostUse(
            step_ms=self._mean_ms(lambda clocks: clocks.at_s),
            cpu_ms=self._mean_ms(lambda clocks: clocks.main_s),
            delay_ms=_ms(median(delays_s)) if delays_s else None,
            user_ms=self._mean_ms(lambda clocks: clocks.usage.ru_utime),
            kernel_ms=self._mean_ms(lambda clocks: clocks.usage.ru_stime),
            main_kernel_ms=self._mean_ms(lambda clocks: clocks.main_kernel_s),
            huge_pages=round(self._mean(lambda clocks: clocks.huge_pages), 3),
            page_faults=round(self._mean(lambda clocks: clocks.usage.ru_minflt), 1),
            read_mb=round(self._mean(lambda clocks: clocks.io.get("rchar", 0)) / 1e6, 4),
            written_mb=round(self._mean(lambda clocks: clocks.io.get("wchar", 0)) / 1e6, 4),
            collecting_ms=self._mean_ms(lambda clocks: clocks.collecting_s),
            children_ms=self._each_ms(lambda stretch: stretch.children_s),
            others_ms=self._others_ms(self._mean_ms(lambda clocks: clocks.busy_s)),
            threads=tuple(self._threads()),
            other_delays_ms=self._each_ms(lambda stretch: stretch.others_delay_s),
        )

    @property
    def _usual(self) -> list[_Stretch]:
        """The half of the stretches whose steps are closest to the median: the others were disturbed."""
        usual_s = median(stretch.step_s for stretch in self._stretches)
        nearest = sorted(self._stretches, key=lambda stretch: abs(stretch.step_s - usual_s))
        return nearest[: (len(nearest) + 1) // 2]

    @property
    def _steps(self) -> int:
        return sum(stretch.steps for stretch in self._usual)

    def _mean(self, value: Callable[[_Clocks], float]) -> float:
        return max(0.0, sum(stretch.total(value) for stretch in self._usual) / self._steps)

    def _mean_ms(self, value: Callable[[_Clocks], float]) -> float:
        return _ms(self._mean(value))

    def _each_ms(self, total_s: Callable[[_Stretch], float]) -> float:
        return _ms(max(0.0, sum(total_s(stretch) * stretch.watched for stretch in self._usual) / self._steps))

    def _others_ms(self, own_ms: float) -> float | None:
        """Return the CPU time of other processes. The kernel counts processors in ticks of 10 ms."""
        if any(stretch.processors_s is None for stretch in self._usual):
            return None
        everything_ms = self._each_ms(lambda stretch: stretch.processors_s or 0.0)
        return max(0.0, everything_ms - own_ms - self._each_ms(lambda stretch: stretch.children_s))

    def _threads(self) -> Iterator[ThreadUse]:
        """Yield the Python threads besides this one that used a processor."""
        least_ms = LEAST_THREAD_SHARE * self._mean_ms(lambda clocks: clocks.at_s)
        for thread in threading.enumerate():
            number = thread.native_id
            if number is None or number == self._thread:
                continue
            cpu_ms = self._each_ms(lambda stretch, number=number: stretch.thread_s(number))  # type: ignore[misc]
            if cpu_ms > least_ms:
                yield ThreadUse(name=thread.name, cpu_ms=cpu_ms)

    def _clocks(self) -> _Clocks:
        return _Clocks(
            io=_io(),
            delay_s=_delay_s(self._thread),
            huge_pages=_huge_pages(),
            collecting_s=self._collecting_s,
            main_kernel_s=thread_kernel_s(),
            usage=resource.getrusage(resource.RUSAGE_SELF),
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
    """Return how long a thread has waited for a processor: the second number of its ``schedstat``."""
    words = kernel_text(THREADS / str(thread) / "schedstat").split()
    return int(words[1]) / 1e9 if len(words) == 3 else None


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


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 6)
