"""The timed loop: warm-up, measured steps, and when to stop."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import isfinite
from time import monotonic
from typing import TypeVar

from benchtui.engine.devices import Device, StepTime
from benchtui.engine.workloads.base import Counted, Workload
from benchtui.sessions.events import Phase, Steps
from benchtui.sessions.metrics import distribution
from benchtui.sessions.sweep import Measure

FLUSH_S = 0.1
"""Steps travel in columns, one event in this many seconds at most."""
CHECK_S = 0.5
"""How often the width of the interval is worked out, and the least time measured before it counts."""

Emit = Callable[[Steps], None]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Measured:
    """What measuring came to."""

    begin_s: float
    """Monotonic clock when the first measured step began, and when the last one ended."""
    end_s: float
    stop: str
    """Why it ended."""


@dataclass(slots=True)
class Recorder:
    """Collects the columns of one phase between two flushes."""

    case: int
    phase: Phase
    emit: Emit
    clock: Callable[[], float]
    times: list[StepTime] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    flushed_s: float = field(default_factory=monotonic)

    def add(self, time: StepTime, counted: Counted) -> None:
        """Keep a step, and pass on what has gathered when it is time."""
        self.times.append(time)
        self.counted.append(counted)
        if monotonic() - self.flushed_s >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Pass on what has gathered."""
        if self.times:
            self.emit(self._event())
        self.times.clear()
        self.counted.clear()
        self.flushed_s = monotonic()

    def _event(self) -> Steps:
        device_ms = [time.device_ms for time in self.times if time.device_ms is not None]
        return Steps(
            t=self.clock(),
            case=self.case,
            phase=self.phase,
            wall_ms=[time.wall_ms for time in self.times],
            device_ms=device_ms or None,
            parts_ms={part: [time.parts_ms[part] for time in self.times] for part in self.times[0].parts_ms},
            tokens=_column(each.tokens for each in self.counted),
            padded_tokens=_column(each.padded_tokens for each in self.counted),
            loss=self._losses(),
        )

    def _losses(self) -> list[float | None] | None:
        losses = _column(each.loss for each in self.counted)
        return None if losses is None else [loss if isfinite(loss) else None for loss in losses]


class StopRule:
    """Says when enough has been measured, and why."""

    def __init__(self, rules: Measure) -> None:
        self._rules = rules
        self._wall_ms: array[float] = array("d")
        self._begin_s = self._checked_s = monotonic()

    def reason(self, wall_ms: float) -> str | None:
        """Take in one more step; why measuring should end now, or None."""
        self._wall_ms.append(wall_ms)
        now_s = monotonic()
        if self._rules.max_time_s is not None and now_s - self._begin_s >= self._rules.max_time_s:
            return f"time limit of {self._rules.max_time_s:g} s"
        if len(self._wall_ms) < self._rules.iterations:
            return None
        if self._rules.until_percent is None:
            return f"{self._rules.iterations} steps"
        if now_s - self._checked_s < CHECK_S:
            return None
        self._checked_s = now_s
        return self._narrow(self._rules.until_percent)

    def _narrow(self, until_percent: float) -> str | None:
        spread = distribution(self._wall_ms)
        width = spread.interval_percent if spread else None
        if width is None or width > until_percent:
            return None
        return f"interval of the median within ±{until_percent:g}% after {len(self._wall_ms)} steps"


def warm_up(workload: Workload, device: Device, steps: int, record: Recorder) -> None:
    """Run the steps that are recorded and not counted."""
    for _ in range(steps):
        _step(workload, device, record)
    record.flush()


def measure(workload: Workload, device: Device, rules: Measure, record: Recorder) -> Measured:
    """Run measured steps until the rules say that it is enough."""
    gc.collect()
    device.reset_peaks()
    rule = StopRule(rules)
    begin_s, stop = monotonic(), None
    while stop is None:
        stop = rule.reason(_step(workload, device, record))
    end_s = monotonic()
    record.flush()
    return Measured(begin_s, end_s, stop)


def _step(workload: Workload, device: Device, record: Recorder) -> float:
    time, done = device.time(workload.step)
    record.add(time, workload.count(done))
    return time.wall_ms


def _column(values: Iterable[Value | None]) -> list[Value] | None:
    """The values of the steps, or None where a step has none."""
    column = [value for value in values if value is not None]
    return column or None
