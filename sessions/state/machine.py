"""What is known of one machine: what torch says of it, and its readings over time."""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

from dataclasses import dataclass, field, replace
from typing import Self

from msgspec import structs

from benchtui.sessions.events import Idle, NodeJoined, NodeLost, Runtime, Telemetry
from benchtui.sessions.payloads import GpuReadings, Host
from benchtui.sessions.state.columns import GPU_COLUMNS, HOST_COLUMNS, ThrottleSpan, Trace


@dataclass
class MachineState:
    """A machine on which cases run, or from which they are sent to others."""

    runtime: Runtime | None = None
    idle: Idle | None = None
    gpus: dict[int, Trace] = field(default_factory=dict)
    gpu_readings: dict[int, GpuReadings] = field(default_factory=dict)
    """The newest event of each GPU, for its limits and reasons."""
    held: dict[int, list[ThrottleSpan]] = field(default_factory=dict)
    """Spans of each GPU by what held its clock down, in order."""
    trace: Trace = field(default_factory=Trace)
    """Readings of processors, memory and processes."""
    begun_s: float = 0.0
    """Session time from which on readings are held."""

    @property
    def traces(self) -> tuple[Trace, ...]:
        """All of its readings."""
        return (*self.gpus.values(), self.trace)

    @property
    def newest_s(self) -> float:
        """Session time of the newest sample; 0 before there is one."""
        return self.trace.at_s[-1] if self.trace.at_s else 0.0

    def forget(self, before_s: float) -> None:
        """Let go of the readings before a moment of session time, and of spans that ended before it.

        Spans in which a clock was held down by heat or the power supply stay: bands of steps show them.
        """
        self.begun_s = max(self.begun_s, before_s)
        for trace in self.traces:
            trace.forget(before_s)
        for index, spans in self.held.items():
            self.held[index] = [span for span in spans if span.end_s >= before_s or span.throttled]

    def unread(self) -> Self:
        """The same machine without any readings."""
        return replace(self, gpus={}, gpu_readings={}, held={}, trace=Trace(), begun_s=0.0)

    def told(self, event: Runtime | Idle | Telemetry, again: bool) -> None:
        """Take in an event; of a session that goes on, runtime and idle power stay as they were told before."""
        match event:
            case Runtime():
                self.runtime = (again and self.runtime) or event
            case Idle():
                self.idle = (again and self.idle) or event
            case Telemetry():
                self._telemetry(event)

    def _telemetry(self, event: Telemetry) -> None:
        for readings in event.gpus:
            self.gpus.setdefault(readings.index, Trace()).extend(event.at_s, readings, GPU_COLUMNS)
            self.gpu_readings[readings.index] = self._with_reasons(readings)
            self._hold(event.at_s, readings)
        self.trace.extend(event.at_s, event.host, HOST_COLUMNS)

    def _hold(self, at_s: list[float], readings: GpuReadings) -> None:
        spans = self.held.setdefault(readings.index, [])
        for at, reasons in zip(at_s, readings.throttle, strict=False):
            if reasons is not None and spans and spans[-1].reasons == reasons:
                spans[-1].end_s = at
            elif reasons is not None:
                spans.append(ThrottleSpan(at, at, reasons))

    def _with_reasons(self, readings: GpuReadings) -> GpuReadings:
        """The readings with every reason told so far: the sampler tells each once."""
        before = self.gpu_readings.get(readings.index)
        known = before.absent if before else {}
        return structs.replace(readings, absent=known | readings.absent) if known else readings


@dataclass(kw_only=True)
class NodeState(MachineState):
    """A node of a cluster."""

    joined: NodeJoined
    """The newest, where the session was resumed."""
    lost: NodeLost | None = None
    """How it was lost, as long as it hasn't joined again."""

    @property
    def host(self) -> Host:
        """The machine and the software on it."""
        return self.joined.host
