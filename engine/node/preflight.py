"""Preflight: the idle machine, torch runtime information and device peaks, read before the first case."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from time import monotonic
from typing import Protocol

from msgspec.structs import replace

from benchtui.engine.job import PeaksReport
from benchtui.engine.node.worker_processes import PeaksQuery, TorchQuery, WorkerProcesses
from benchtui.sessions.analysis.roofline import PeakKey, peak_key
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Idle, Message, Peaks, Runtime
from benchtui.sessions.stats.disturbance import names_of
from benchtui.sessions.sweep import Config

PEAKS_TIMEOUT_S = 60.0
"""Timeout for measuring peaks. Generous, since the first call to a driver may be slow."""
IDLE_S = 1.25
"""Seconds of idle power sampled before the first case, at least: five samples."""
PROBE_S = 300.0
"""Timeout for importing torch and querying it about the machine."""

ReadIdle = Callable[[float], Idle | None]
"""Return the readings of the idle machine up to a session time. None if there are none."""


class GpuSpans(Protocol):
    """Readings of GPUs between two times of the monotonic clock."""

    def power_w(self, uuid: str, begin_s: float, end_s: float) -> float | None:
        """Return the mean power of the GPU with this UUID. None if unreadable."""

    def note_load(self, uuid: str, begin_s: float, end_s: float) -> None:
        """Record that the GPU was under load. Later clocks are compared with its clock in this span."""


class IdleAndTorchTask:
    """Task that reads the idle machine for some seconds, then queries torch."""

    def __init__(
        self,
        processes: WorkerProcesses,
        read_idle: ReadIdle,
        idle_s: float,
        node: str | None,
        cpu_limit: float | None = None,
    ) -> None:
        """Nothing is read in 0 seconds. ``cpu_limit`` is the CPU limit of the control group, in processors."""
        self.ended = False
        self._cpu_limit = cpu_limit
        self._node = node
        self._processes = processes
        self._read_idle, self._idle_s = read_idle, idle_s
        self._query: TorchQuery | None = None
        self._due_s = monotonic() + idle_s

    @property
    def sources(self) -> list[int]:
        """File descriptor that becomes readable when torch has answered."""
        return [self._query.source] if self._query else []

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if no source is readable."""
        return max(0.0, self._due_s - monotonic())

    def collect(self, now_s: float) -> Iterator[Idle | Runtime | Message]:
        """Yield the results that have become available."""
        if self._query is None:
            if not self.left_s:
                yield from self._idle(now_s)
                yield from self._start_query(now_s)
        elif not self.ended and (self._query.ended or not self.left_s):
            answer = self._finish(self._query.result(now_s), now_s)
            yield answer
            if isinstance(answer, Runtime):
                yield from thread_warning(answer, self._cpu_limit, now_s)

    def end(self) -> None:
        """Kill the probe."""
        if self._query and not self.ended:
            self._query.result(0.0)
        self.ended = True

    def _start_query(self, now_s: float) -> Iterator[Message | Runtime]:
        try:
            self._query, self._due_s = self._processes.query_torch(), monotonic() + PROBE_S
        except BenchtuiError as error:
            yield self._finish(str(error), now_s)

    def _finish(self, answer: Runtime | str, now_s: float) -> Message | Runtime:
        self.ended = True
        if isinstance(answer, str):
            return Message(t=now_s, level="error", text=f"can't query torch: {answer}")
        return replace(answer, node=self._node)

    def _idle(self, now_s: float) -> Iterator[Idle | Message]:
        idle = self._read_idle(now_s) if self._idle_s else None
        if idle:
            yield idle
            yield from neighbor_warning(idle, now_s)


def neighbor_warning(idle: Idle, now_s: float) -> Iterator[Message]:
    """Yield a warning if other processes are so busy before the first case that they would disturb it."""
    if idle.neighbors:
        used, who = idle.others_cpu_percent or 0.0, names_of(idle.neighbors)
        text = f"other processes use {used:.0f}% CPU before the first case: {who}"
        yield Message(t=now_s, level="warning", text=text)


def thread_warning(runtime: Runtime, cpu_limit: float | None, now_s: float) -> Iterator[Message]:
    """Yield a warning if torch starts more threads than the control group's CPU quota can run."""
    if cpu_limit is None or runtime.threads is None or runtime.threads <= ceil(cpu_limit):
        return
    where = f" on {runtime.node}" if runtime.node else ""
    yield Message(
        t=now_s,
        level="warning",
        text=f"torch uses {runtime.threads} threads by default{where}, but the control group's quota is"
        f" {cpu_limit:g} CPUs: busy threads are stopped for part of each period of the quota;"
        f" set threads to {max(1, int(cpu_limit))} or less for cases on cpu",
    )


class PeaksTask:
    """Task that measures device peaks one after another, each in a separate process."""

    def __init__(
        self,
        processes: WorkerProcesses,
        wanted: Iterable[PeakKey],
        node: str | None,
        spans: GpuSpans | None = None,
    ) -> None:
        """``spans`` is None if no GPU can be read."""
        self._processes = processes
        self._spans = spans
        self._idled: set[str] = set()
        """Devices whose power with an idle context has been requested."""
        self._left = deque(wanted)
        self._node = node
        self._current: tuple[PeakKey, PeaksQuery] | None = None
        self._start_failures: list[tuple[PeakKey, str]] = []
        """Peaks whose process could not be started, with the reason."""
        self._due_s = 0.0
        self._start_next()

    @property
    def ended(self) -> bool:
        """Whether all peaks have been measured."""
        return self._current is None

    @property
    def sources(self) -> list[int]:
        """File descriptor that becomes readable when a peak has been measured."""
        return [self._current[1].source] if self._current else []

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if no source is readable."""
        return max(0.0, self._due_s - monotonic())

    def collect(self, now_s: float) -> Iterator[Peaks | Message]:
        """Yield measured peaks, and a warning for each that could not be measured."""
        if self._current and (self._current[1].ended or not self.left_s):
            key, query = self._current
            yield from self._events(self._peaks(query.result()), key, now_s)
            self._start_next()
        failures, self._start_failures = self._start_failures, []
        for key, why in failures:
            yield from self._events(why, key, now_s)

    def end(self) -> None:
        """Kill the running measurement and drop the remaining ones."""
        self._left.clear()
        if self._current:
            self._current[1].result()
        self._current = None

    def _peaks(self, answer: PeaksReport | str) -> Peaks | str:
        """Note the GPU's load. Return the peaks, with the power of a GPU with an idle context."""
        if isinstance(answer, str):
            return answer
        if not self._spans or not answer.gpu_uuid:
            return answer.peaks
        if answer.busy_span_s:
            self._spans.note_load(answer.gpu_uuid, *answer.busy_span_s)
        if not answer.idle_span_s:
            return answer.peaks
        power_w = self._spans.power_w(answer.gpu_uuid, *answer.idle_span_s)
        return replace(answer.peaks, context_power_w=power_w)

    def _events(self, answer: Peaks | str, key: PeakKey, now_s: float) -> Iterator[Peaks | Message]:
        for event in peak_events(answer, key, now_s):
            yield replace(event, node=self._node) if isinstance(event, Peaks) else event

    def _start_next(self) -> None:
        self._current = None
        while self._left and self._current is None:
            key = self._left.popleft()
            try:
                idle_first = self._spans is not None and key.device not in self._idled
                self._current = key, self._processes.measure_peaks(key, idle_first=idle_first)
                self._idled.add(key.device)
                self._due_s = monotonic() + PEAKS_TIMEOUT_S
            except BenchtuiError as error:
                self._start_failures.append((key, str(error)))


def peak_keys(configs: Iterable[Config]) -> list[PeakKey]:
    """Return the distinct peaks needed for cases with these options."""
    return list(dict.fromkeys(key for config in configs if (key := peak_key(config))))


def peak_events(answer: Peaks | str, key: PeakKey, now_s: float) -> Iterator[Peaks | Message]:
    """Yield the ``Peaks`` event and one warning per reason for a missing peak."""
    if isinstance(answer, str):
        answer = Peaks(t=now_s, **key._asdict(), absent=dict.fromkeys(("flops", "bytes"), answer))
    yield replace(answer, t=now_s)
    for reason in dict.fromkeys(answer.absent.values()):
        text = f"peak rates of {key.device} {key.precision} not measured: {reason}"
        yield Message(t=now_s, level="warning", text=text)
