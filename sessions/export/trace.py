"""Export of a session as a trace: cases, batches of steps and readings on one time axis.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are whole
microseconds of session time: viewers read fractions as floating-point numbers, whose rounding may make adjacent
slices overlap.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Message,
    NodeLost,
    RoundFinished,
    Steps,
    Telemetry,
)
from benchtui.sessions.files import visible_json
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.payloads import GpuReadings, HostReadings
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED, labeled, simulation_note
from benchtui.sessions.stats.case_metrics import metrics

GPU_COUNTERS = {
    "power_w": "power (W)",
    "graphics_clock_mhz": "SM clock (MHz)",
    "memory_clock_mhz": "memory clock (MHz)",
    "utilization_percent": "utilization (%)",
    "memory_used_mb": "memory used (MB)",
    "temperature_c": "temperature (°C)",
}
HOST_COUNTERS = {
    "cpu_percent": "CPU, all processes (%)",
    "worker_cpu_percent": "CPU, workers (%)",
    "memory_used_mb": "memory used (MB)",
    "worker_rss_mb": "memory, workers (MB)",
    "processor_mhz": "CPU clock (MHz)",
}
LONGEST_S = 1e9
"""Latest time in a trace, about 30 years. Microseconds lose precision only far beyond it."""


def write_trace(path: Path, out: IO[bytes]) -> None:
    """Write a session file as a trace. Raises BenchtuiError if it can't be read."""
    session, events = _load(path)
    trace = _Trace(session, out)
    for event in events:
        trace.write(event)
    trace.close()


def _load(path: Path) -> tuple[Session, Iterable[AnyRecord]]:
    """Return the session and its events, read once more while they are used if the file's layout allows it."""
    try:
        session = Session.by_line(path, metrics)
    except BenchtuiError:  # broken, or reformatted by another program: read it as a whole
        session, events = Session(metrics), reader.read(path).events
        session.apply_all(events)
        return session, events
    return session, chain.from_iterable(events for events, _ in reader.slices(path))


class _Trace:
    """Writer of the trace events of one session, to which its events are passed in order."""

    def __init__(self, session: Session, out: IO[bytes]) -> None:
        """Write the header and the throttling of the GPUs. ``session`` is in its final state."""
        self._session = session
        self._out = out
        self._separator = b""
        self._processes: dict[str, int] = {}
        """Numbers of machines, GPUs and the session, which are processes in a trace, by name."""
        self._tracks: dict[tuple[int, str], int] = {}
        """Numbers of threads by process and name."""
        self._workers: dict[int, tuple[int, int]] = {}
        """Track of the worker of each running case."""
        self._end_us: dict[tuple[int, int], int] = {}
        """End of the newest slice of a worker's track."""
        start = session.start
        facts = {"session": start.id, "sweep": start.sweep.name, "created": start.created}
        facts |= {"simulated": note} if (note := simulation_note(start)) else {}
        header = b'{"displayTimeUnit":"ms","otherData":' + visible_json.encode(facts)
        out.write(header + b',"traceEvents":[\n')
        for node in (None, *session.nodes):
            self._write_throttling(node)

    def write(self, event: AnyRecord) -> None:
        match event:
            case CaseStarted():
                self._start_worker(event)
            case Steps():
                self._steps(event)
            case RoundFinished() | CaseRepeated() | CaseFinished():
                self._end_worker(event.case, event.t, _end_facts(event))
            case Telemetry():
                self._counters(self._machine_name(event.node), event.at_s, event.host, HOST_COUNTERS)
                for readings in event.gpus:
                    self._counters(
                        self._gpu_name(event.node, readings.index), event.at_s, readings, GPU_COUNTERS
                    )
            case Message():
                self._instant(event.t, event.text, event.level)
            case NodeLost():
                self._instant(event.t, f"node {event.node} lost: {event.reason}", "node")

    def close(self) -> None:
        """End the slices that are still open, as in a running or incomplete session, and write the footer."""
        for case in list(self._workers):
            self._end_worker(case, self._session.now_s, {})
        self._out.write(b"\n]}\n")

    def _start_worker(self, event: CaseStarted) -> None:
        self._end_worker(event.case, event.t, {})  # its node was lost, or the engine before a resume
        track = self._free_track(self._machine_name(event.node), f"worker {event.config.device}")
        at_us = self._end_us[track] = max(self._end_us.get(track, 0), _microseconds(event.t))
        self._workers[event.case] = track
        facts = {"case": event.case, "round": event.round, "pid": event.pid}
        self._event("B", track, at_us, {"name": event.config.name, "cat": "case", "args": facts})

    def _free_track(self, machine: str, name: str) -> tuple[int, int]:
        track, number = self._track(machine, name), 1
        while track in self._workers.values():
            number += 1
            track = self._track(machine, f"{name} ({number})")
        return track

    def _end_worker(self, case: int, at_s: float, facts: Mapping[str, object]) -> None:
        if track := self._workers.pop(case, None):
            self._end_us[track] = max(self._end_us[track], _microseconds(at_s))
            self._event("E", track, self._end_us[track], {"args": facts})

    def _steps(self, event: Steps) -> None:
        """Write a slice for the steps of an event, which was recorded right after the last of them."""
        track, count = self._workers.get(event.case), len(event.wall_ms)
        if track is None or not count:
            return
        total_ms = sum(map(float, event.wall_ms))
        length_us = _microseconds(total_ms / 1000)
        begin_us = max(self._end_us[track], _microseconds(event.t) - length_us)
        self._end_us[track] = begin_us + length_us
        facts: dict[str, object] = {"round": event.round, "steps": count, "mean_ms": total_ms / count}
        facts["longest_ms"] = max(event.wall_ms)
        facts |= {f"mean_{part}_ms": sum(map(float, times)) / count for part, times in event.parts_ms.items()}
        name = "warm-up" if event.phase == "warmup" else "measure"
        fields = {"dur": length_us, "name": name, "cat": event.phase, "args": facts}
        self._event("X", track, begin_us, fields)

    def _instant(self, at_s: float, text: str, category: str) -> None:
        track = self._track(labeled(self._session.start.sweep.name, self._session.start), "log")
        self._event("i", track, _microseconds(at_s), {"name": text, "cat": category, "s": "t"})

    def _counters(
        self,
        process: str,
        at_s: Sequence[float],
        readings: GpuReadings | HostReadings,
        counters: Mapping[str, str],
    ) -> None:
        """Write readings as counters of a process. A failed reading is left out."""
        track = self._process(process), 0
        for field, name in counters.items():
            for at, value in zip(at_s, getattr(readings, field), strict=False):
                if value is not None:
                    self._event("C", track, _microseconds(at), {"name": name, "args": {"value": value}})

    def _write_throttling(self, node: str | None) -> None:
        machine = self._session.machine if node is None else self._session.nodes[node]
        for index, spans in machine.throttle_spans.items():
            end_us = 0
            for span in (span for span in spans if span.reasons):
                begin_us = max(end_us, _microseconds(span.start_s))
                end_us = max(begin_us, _microseconds(span.end_s))
                category = "throttling" if span.throttled else "clock limit"
                name = span.reasons.replace("_", " ").replace("+", ", ")
                track = self._track(self._gpu_name(node, index), "clock throttled")
                self._event("X", track, begin_us, {"dur": end_us - begin_us, "name": name, "cat": category})

    def _machine_name(self, node: str | None) -> str:
        name = node or self._session.start.host.hostname or "this machine"
        return f"{SIMULATED} {name}" if self._session.simulated else name

    def _gpu_name(self, node: str | None, index: int) -> str:
        return f"{self._machine_name(node)}: GPU {index}"

    def _process(self, name: str) -> int:
        if name not in self._processes:
            self._processes[name] = len(self._processes) + 1
            self._event("M", (self._processes[name], 0), 0, {"name": "process_name", "args": {"name": name}})
        return self._processes[name]

    def _track(self, process_name: str, name: str) -> tuple[int, int]:
        """Return the process and thread number of a track. Its name is written the first time."""
        process = self._process(process_name)
        if (process, name) not in self._tracks:
            thread = self._tracks[process, name] = len(self._tracks) + 1
            self._event("M", (process, thread), 0, {"name": "thread_name", "args": {"name": name}})
        return process, self._tracks[process, name]

    def _event(self, kind: str, track: tuple[int, int], at_us: int, fields: Mapping[str, object]) -> None:
        process, thread = track
        where: dict[str, object] = {"ph": kind, "pid": process, "tid": thread, "ts": at_us}
        self._out.write(self._separator + visible_json.encode({**where, **fields}))
        self._separator = b",\n"


def _microseconds(at_s: float) -> int:
    """Convert session time in seconds to the trace's clock. Raises BenchtuiError above ``LONGEST_S``."""
    if at_s > LONGEST_S:
        raise BenchtuiError(f"{at_s:g} s is too long for a trace, whose times end at {LONGEST_S:g} s")
    return round(at_s * 1e6)


def _end_facts(event: RoundFinished | CaseRepeated | CaseFinished) -> dict[str, object]:
    match event:
        case CaseRepeated():
            return {"ended": f"remeasured: {event.reason}"}
        case RoundFinished():
            return {"ended": "round finished", "marks": event.marks}
        case CaseFinished():
            reason = f": {event.reason}" if event.reason else ""
            return {"ended": f"{event.outcome}{reason}", "marks": event.marks}
