"""Preflight: the idle machine, torch runtime information and device peaks, read before the first case."""

from collections.abc import Callable, Iterable, Iterator
from math import ceil
from time import monotonic
from typing import NamedTuple

from msgspec.structs import replace

from benchtui.engine.job import PeaksReport, PreflightEvent
from benchtui.engine.node.worker_processes import Query, WorkerProcesses
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


class Wait(NamedTuple):
    """Wait of a task for the answer to a query, or only for a time."""

    query: Query[Runtime] | Query[PeaksReport] | None
    due_s: float
    """Monotonic clock at which the wait ends at the latest."""


Work = Iterator[Wait | PreflightEvent]
"""Events of a task and its waits, after each of which it goes on. The task sets the events' times."""


class NodeTask:
    """Preflight task of a node."""

    def __init__(self, work: Work) -> None:
        """Start the work, up to its first wait."""
        self.ended = False
        """Whether all results have been collected."""
        self._work = work
        self._events: list[PreflightEvent] = []
        self._wait = Wait(None, 0.0)
        self._go_on()

    @property
    def sources(self) -> list[int]:
        """File descriptor that becomes readable when a query has been answered."""
        return [self._wait.query.source] if self._wait.query and not self.ended else []

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if no source is readable."""
        return max(0.0, self._wait.due_s - monotonic())

    def collect(self, now_s: float) -> Iterator[PreflightEvent]:
        """Yield the results since the last call."""
        query = self._wait.query
        if not self.ended and ((query and query.ended) or not self.left_s):
            self._go_on()
        events, self._events = self._events, []
        yield from (replace(event, t=now_s) for event in events)

    def end(self) -> None:
        """Kill the process of a query, and drop the rest of the work."""
        if self._wait.query and not self.ended:
            self._wait.query.result()
        self.ended = True

    def _go_on(self) -> None:
        for item in self._work:
            if isinstance(item, Wait):
                self._wait = item
                return
            self._events.append(item)
        self.ended = True


def idle_and_torch(
    processes: WorkerProcesses,
    read_idle: Callable[[], Idle | None],
    idle_s: float,
    node: str | None,
    cpu_limit: float | None = None,
) -> Work:
    """Read the idle machine for some seconds, unless these are 0, then query torch.

    ``cpu_limit`` is the CPU limit of the control group, in processors.
    """
    yield Wait(None, monotonic() + idle_s)
    if idle_s and (idle := read_idle()):
        yield idle
        yield from neighbor_warning(idle)
    try:
        query = processes.query_torch()
        yield Wait(query, monotonic() + PROBE_S)
        answer = query.result()
    except BenchtuiError as error:
        answer = str(error)
    if isinstance(answer, str):
        yield Message(t=0.0, level="error", text=f"can't query torch: {answer}")
    else:
        runtime = replace(answer, node=node)
        yield runtime
        yield from thread_warning(runtime, cpu_limit)


def peaks(
    processes: WorkerProcesses,
    wanted: Iterable[PeakKey],
    node: str | None,
    completed: Callable[[PeaksReport], Peaks] | None = None,
) -> Work:
    """Measure device peaks one after another, each in a separate process.

    ``completed`` adds the readings of a GPU; None if no GPU can be read.
    """
    idled: set[str] = set()
    for key in wanted:
        try:
            idle_first = completed is not None and key.device not in idled
            query = processes.measure_peaks(key, idle_first=idle_first)
            idled.add(key.device)
            yield Wait(query, monotonic() + PEAKS_TIMEOUT_S)
            answer = query.result()
        except BenchtuiError as error:
            answer = str(error)
        yield from peak_events(answer, key, node, completed)


def neighbor_warning(idle: Idle) -> Iterator[Message]:
    """Yield a warning if other processes are so busy before the first case that they would disturb it."""
    if idle.neighbors:
        used, who = idle.others_cpu_percent or 0.0, names_of(idle.neighbors)
        text = f"other processes use {used:.0f}% CPU before the first case: {who}"
        yield Message(t=0.0, level="warning", text=text)


def thread_warning(runtime: Runtime, cpu_limit: float | None) -> Iterator[Message]:
    """Yield a warning if torch starts more threads than the control group's CPU quota can run."""
    if cpu_limit is None or runtime.threads is None or runtime.threads <= ceil(cpu_limit):
        return
    where = f" on {runtime.node}" if runtime.node else ""
    yield Message(
        t=0.0,
        level="warning",
        text=f"torch uses {runtime.threads} threads by default{where}, but the control group's quota is"
        f" {cpu_limit:g} CPUs: busy threads are stopped for part of each period of the quota;"
        f" set threads to {max(1, int(cpu_limit))} or less for cases on cpu",
    )


def peak_keys(configs: Iterable[Config]) -> list[PeakKey]:
    """Return the distinct peaks needed for cases with these options."""
    return list(dict.fromkeys(key for config in configs if (key := peak_key(config))))


def peak_events(
    answer: PeaksReport | str,
    key: PeakKey,
    node: str | None = None,
    completed: Callable[[PeaksReport], Peaks] | None = None,
) -> Iterator[Peaks | Message]:
    """Yield the ``Peaks`` event and one warning per reason for a missing peak."""
    if isinstance(answer, str):
        measured = Peaks(t=0.0, **key._asdict(), absent=dict.fromkeys(("flops", "bytes"), answer))
    else:
        measured = completed(answer) if completed else answer.peaks
    yield replace(measured, node=node)
    for reason in dict.fromkeys(measured.absent.values()):
        text = f"peak rates of {key.device} {key.precision} not measured: {reason}"
        yield Message(t=0.0, level="warning", text=text)
