"""Activity of the processors: instructions per cycle of the workers, and memory traffic."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from benchtui.engine.telemetry.kernel_files import kernel_text
from benchtui.engine.telemetry.perf_event import (
    CYCLES,
    HARDWARE,
    INSTRUCTIONS,
    Counter,
    CounterUnavailable,
    Event,
)

SOURCES = Path("/sys/bus/event_source/devices")
PROCESSES = Path("/proc")
WORKER_EVENTS = Event(HARDWARE, CYCLES), Event(HARDWARE, INSTRUCTIONS)
LINE_MB = 64e-6
"""Megabytes moved by one column command (CAS) of a memory controller."""
_AMD_COMMANDS = 0x0A
"""Column commands of AMD's memory controllers, reads and writes (Linux, pmu-events, umc_cas_cmd.all)."""
_INTEL_EVENTS = ("cas_count_read", "cas_count_write", "data_reads", "data_writes")
"""Events of Intel's memory controllers: those of servers, and those of other processors."""
_CONTROLLERS = ("uncore_imc", "uncore_imc_[0-9]*", "amd_umc_[0-9]*")
"""Event sources of memory controllers."""
_NO_CONTROLLERS = "the kernel exposes no counters of memory controllers ({}/uncore_imc*, amd_umc* not found)"
INSTRUCTIONS_KEY, TRAFFIC_KEY = "instructions per cycle", "memory traffic"
"""Keys of the reasons why these can't be read."""

OpenThread = Callable[[Event, int], Counter]
OpenProcessor = Callable[[Event, int], Counter]


class WorkerInstructions:
    """Instructions and cycles of worker processes, in user mode."""

    def __init__(self, open_thread: OpenThread = Counter.of_thread, processes: Path = PROCESSES) -> None:
        self._open = open_thread
        self._processes = processes
        self._counters: dict[int, list[tuple[Counter, Counter]]] = {}
        self._last: dict[int, tuple[float, float]] = {}

    def per_cycle(self, pids: Collection[int]) -> float | None:
        """Return the instructions per cycle of these processes since the last call.

        None for the first call with a process, or if nothing could be counted.
        """
        for pid in self._counters.keys() - set(pids):
            self._forget(pid)
        cycles = instructions = 0.0
        for pid in pids:
            now, last = self._counts(pid), self._last.get(pid)
            if now is not None:
                self._last[pid] = now
            if now is not None and last is not None:
                cycles, instructions = cycles + now[0] - last[0], instructions + now[1] - last[1]
        return round(instructions / cycles, 3) if cycles > 0 else None

    def _counts(self, pid: int) -> tuple[float, float] | None:
        """Return cycles and instructions of a process since the first call."""
        if pid not in self._counters:
            self._counters[pid] = list(self._open_all(pid))
        pairs = [(cycles.value(), instructions.value()) for cycles, instructions in self._counters[pid]]
        readable = [(first, other) for first, other in pairs if first is not None and other is not None]
        if not readable or len(readable) < len(pairs):
            return None
        return sum(first for first, _ in readable), sum(other for _, other in readable)

    def _open_all(self, pid: int) -> Iterator[tuple[Counter, Counter]]:
        """Open the counters of all threads. Threads that they start later are included."""
        try:
            threads = [int(task.name) for task in (self._processes / str(pid) / "task").iterdir()]
        except OSError:  # it has ended
            return
        for thread in threads:
            with suppress(CounterUnavailable):
                yield self._open_pair(thread)

    def _open_pair(self, thread: int) -> tuple[Counter, Counter]:
        """Open both counters of a thread, or neither."""
        cycles, instructions = WORKER_EVENTS
        first = self._open(cycles, thread)
        try:
            return first, self._open(instructions, thread)
        except CounterUnavailable:
            first.close()
            raise

    def _forget(self, pid: int) -> None:
        for pair in self._counters.pop(pid):
            for counter in pair:
                counter.close()
        self._last.pop(pid, None)


class MemoryTraffic:
    """Traffic of all memory controllers: Intel's as the kernel describes them, and AMD's."""

    def __init__(self, open_processor: OpenProcessor = Counter.of_processor, sources: Path = SOURCES) -> None:
        """Open all counters. Raises CounterUnavailable if that fails, or if there are none."""
        self._counters: list[tuple[Counter, float]] = []
        self._last: tuple[float, float] | None = None
        wanted = list(_wanted(sources))
        if not wanted:
            raise CounterUnavailable(_NO_CONTROLLERS.format(sources))
        try:
            for event, processor, megabytes in wanted:
                self._counters.append((open_processor(event, processor), megabytes))
        except CounterUnavailable:
            self.close()
            raise

    def mb_per_s(self, at_s: float) -> float | None:
        """Return the traffic since the last call, in 10**6 bytes per second. None for the first call."""
        counts = [(counter.value(), megabytes) for counter, megabytes in self._counters]
        total = sum((count or 0.0) * megabytes for count, megabytes in counts)
        if any(count is None for count, _ in counts):
            self._last = None
            return None
        last, self._last = self._last, (at_s, total)
        return None if last is None or at_s <= last[0] else round((total - last[1]) / (at_s - last[0]), 1)

    def close(self) -> None:
        """Stop counting."""
        for counter, _ in self._counters:
            counter.close()
        self._counters.clear()


def counter_absences(
    open_thread: OpenThread = Counter.of_thread,
    open_processor: OpenProcessor = Counter.of_processor,
    sources: Path = SOURCES,
) -> dict[str, str]:
    """Return which activity of the processors can't be counted on this machine, with the reason."""
    reasons = {}
    try:
        for event in WORKER_EVENTS:
            open_thread(event, 0).close()
    except CounterUnavailable as error:
        reasons[INSTRUCTIONS_KEY] = str(error)
    try:
        MemoryTraffic(open_processor, sources).close()
    except CounterUnavailable as error:
        reasons[TRAFFIC_KEY] = str(error)
    return reasons


def _wanted(sources: Path) -> Iterator[tuple[Event, int, float]]:
    """Yield each event to count, its processor, and the megabytes of one count."""
    for source in sorted(folder for name in _CONTROLLERS for folder in sources.glob(name)):
        for event, megabytes in _events(source):
            for processor in _processors(source):
                yield event, processor, megabytes


def _events(source: Path) -> Iterator[tuple[Event, float]]:
    """Yield the events of a memory controller that count its traffic, and the megabytes of one count."""
    kind = kernel_text(source / "type")
    if not kind.isdecimal():
        return
    if source.name.startswith("amd_umc"):
        yield Event(int(kind), _AMD_COMMANDS), LINE_MB
        return
    for name in _INTEL_EVENTS:
        config = _config(source, kernel_text(source / "events" / name))
        unit = {"MiB": 2**20 / 1e6}.get(kernel_text(source / "events" / f"{name}.unit"))
        scale = kernel_text(source / "events" / f"{name}.scale")
        if config is not None and unit and re.fullmatch(r"[\d.]+(e-?\d+)?", scale):
            yield Event(int(kind), config), float(scale) * unit


def _config(source: Path, terms: str) -> int | None:
    """Return the configuration for terms such as ``event=0x04,umask=0x03``, by the source's format files."""
    config = 0
    for term in filter(None, terms.split(",")):
        name, _, value = term.partition("=")
        place = re.fullmatch(r"config:(\d+)(-\d+)?", kernel_text(source / "format" / name))
        if place is None or not re.fullmatch(r"0x[0-9a-fA-F]+|\d+|", value):
            return None
        config |= int(value or "1", 0) << int(place[1])
    return config if terms else None


def _processors(source: Path) -> list[int]:
    """Return the processors on which the kernel lets this source be opened, such as ``0,28`` or ``0-1``."""
    numbers: list[int] = []
    for run in kernel_text(source / "cpumask").split(","):
        first, _, last = run.partition("-")
        if first.isdecimal():
            numbers += range(int(first), int(last or first) + 1)
    return numbers
