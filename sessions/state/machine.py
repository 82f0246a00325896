"""Machine state: what torch reports about a machine, and its readings over time."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from dataclasses import dataclass, field, replace
from typing import Self

from msgspec import structs

from benchtui.sessions.events import Idle, NodeJoined, NodeLost, Runtime, Telemetry
from benchtui.sessions.payloads import GpuReadings, Host
from benchtui.sessions.state.columns import GPU_COLUMNS, HOST_COLUMNS, ThrottleSpan, Trace


@dataclass
class MachineState:
    """Machine that runs cases, or sends them to other machines."""

    runtime: Runtime | None = None
    idle: Idle | None = None
    gpus: dict[int, Trace] = field(default_factory=dict)
    gpu_readings: dict[int, GpuReadings] = field(default_factory=dict)
    """Newest event of each GPU, for its limits and the reasons for missing readings."""
    throttle_spans: dict[int, list[ThrottleSpan]] = field(default_factory=dict)
    """Spans of session time per GPU and throttle reasons, in order."""
    trace: Trace = field(default_factory=Trace)
    """Readings of CPUs, memory and processes."""
    readings_from_s: float = 0.0
    """Session time from which readings are kept."""

    @property
    def traces(self) -> tuple[Trace, ...]:
        """All readings of the machine."""
        return (*self.gpus.values(), self.trace)

    @property
    def newest_s(self) -> float:
        """Session time of the newest sample; 0 before the first one."""
        return self.trace.at_s[-1] if self.trace.at_s else 0.0

    def drop_before(self, before_s: float) -> None:
        """Drop the readings before a session time, and the spans that ended before it.

        Spans of throttling by heat or the power supply stay, because the bands of steps show them.
        """
        self.readings_from_s = max(self.readings_from_s, before_s)
        for trace in self.traces:
            trace.drop_before(before_s)
        for index, spans in self.throttle_spans.items():
            self.throttle_spans[index] = [span for span in spans if span.end_s >= before_s or span.throttled]

    def without_readings(self) -> Self:
        """Return the same machine without readings."""
        return replace(self, gpus={}, gpu_readings={}, throttle_spans={}, trace=Trace(), readings_from_s=0.0)

    def apply(self, event: Runtime | Idle | Telemetry, resumed: bool) -> None:
        """Apply an event; after a resume (``resumed``), the original runtime and idle power are kept."""
        match event:
            case Runtime():
                self.runtime = (resumed and self.runtime) or event
            case Idle():
                self.idle = (resumed and self.idle) or event
            case Telemetry():
                self._telemetry(event)

    def _telemetry(self, event: Telemetry) -> None:
        for readings in event.gpus:
            self.gpus.setdefault(readings.index, Trace()).extend(event.at_s, readings, GPU_COLUMNS)
            before = self.gpu_readings.get(readings.index)
            reasons = before.absent if before else {}
            self.gpu_readings[readings.index] = (
                structs.replace(readings, absent=reasons | readings.absent) if reasons else readings
            )
            self._add_throttle_spans(event.at_s, readings)
        self.trace.extend(event.at_s, event.host, HOST_COLUMNS)

    def _add_throttle_spans(self, at_s: list[float], readings: GpuReadings) -> None:
        spans = self.throttle_spans.setdefault(readings.index, [])
        for at, reasons in zip(at_s, readings.throttle, strict=False):
            if reasons is not None and spans and spans[-1].reasons == reasons:
                spans[-1].end_s = at
            elif reasons is not None:
                spans.append(ThrottleSpan(at, at, reasons))


@dataclass(kw_only=True)
class NodeState(MachineState):
    """Machine state of a cluster node."""

    joined: NodeJoined
    """Newest join, if the session was resumed."""
    lost: NodeLost | None = None
    """Event with the reason why the node was lost; None once it has rejoined."""

    @property
    def host(self) -> Host:
        """Machine and installed software."""
        return self.joined.host
