"""Machine state: what torch reports about a machine, and its readings over time."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from msgspec import structs

from benchtui.sessions.events import Idle, NodeJoined, NodeLost, Runtime, Telemetry
from benchtui.sessions.payloads import GpuReadings, Host
from benchtui.sessions.state.columns import GPU_COLUMNS, HOST_COLUMNS, ThrottleSpan, Trace

Shapes = Mapping[int | None, tuple[int, tuple[str, ...]]]
"""Numbers of samples and names of columns by GPU; None is the host."""


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

    @property
    def shapes(self) -> Shapes:
        """Shapes of the readings: of each GPU, and under None those of the host."""
        return {index: trace.shape for index, trace in self.gpus.items()} | {None: self.trace.shape}

    def snapshot(self) -> Self:
        """Return a copy without readings that stays as it is when events are applied to this one."""
        spans = {index: list(map(copy, spans)) for index, spans in self.throttle_spans.items()}
        empty = self.without_readings()
        return replace(empty, gpu_readings=dict(self.gpu_readings), throttle_spans=spans)

    def with_readings(self, whole: MachineState, shapes: Shapes) -> Self:
        """Return a copy with the first readings of the same machine at a later moment."""
        gpus = {index: whole.gpus[index].cut(shape) for index, shape in shapes.items() if index is not None}
        return replace(self, gpus=gpus, trace=whole.trace.cut(shapes[None]))

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
            self.gpu_readings[readings.index] = self._with_reasons(readings)
            self._add_throttle_spans(event.at_s, readings)
        self.trace.extend(event.at_s, event.host, HOST_COLUMNS)

    def _add_throttle_spans(self, at_s: list[float], readings: GpuReadings) -> None:
        spans = self.throttle_spans.setdefault(readings.index, [])
        for at, reasons in zip(at_s, readings.throttle, strict=False):
            if reasons is not None and spans and spans[-1].reasons == reasons:
                spans[-1].end_s = at
            elif reasons is not None:
                spans.append(ThrottleSpan(at, at, reasons))

    def _with_reasons(self, readings: GpuReadings) -> GpuReadings:
        """Add the reasons for missing readings recorded so far: the sampler sends each only once."""
        before = self.gpu_readings.get(readings.index)
        reasons = before.absent if before else {}
        return structs.replace(readings, absent=reasons | readings.absent) if reasons else readings


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
