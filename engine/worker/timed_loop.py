"""Timed loop: runs and records warm-up and measured steps."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable
from math import isfinite
from statistics import median
from time import monotonic
from typing import TypeVar

import msgspec

from benchtui.engine.devices.base import Device, StepTime
from benchtui.engine.job import REPORT_S, THROUGHPUT_BLOCK
from benchtui.engine.models.compilation import CompileWatch
from benchtui.engine.worker.environment import EnvironmentProbe
from benchtui.engine.worker.stop_rule import StopRule
from benchtui.engine.worker.turns import (
    FIRST_STEPS,
    LEAD_IN_MS,
    LEAST_MS,
    LEAST_SLICES,
    LONG_STEP_MS,
    SLICES,
    Turns,
    on_one_processor,
    slice_steps,
)
from benchtui.engine.worker.warmup import MOST_COLD, warmed_up
from benchtui.engine.workloads.base import StepCounts, Workload
from benchtui.sessions.estimates.stop_limits import TIME_LIMIT, TURNS_S, least_steps
from benchtui.sessions.events import Phase, Steps
from benchtui.sessions.payloads import Compiling, Environment
from benchtui.sessions.sweep import Measure
from benchtui.sessions.text.formatting import count

Emit = Callable[[Steps], None]
Value = TypeVar("Value")


class MeasuredPhase(msgspec.Struct, frozen=True):
    """Result of the measured phase, with its environment."""

    begin_s: float
    """Monotonic clock at the start of the first measured step, ``end_s`` at the end of the last."""
    end_s: float
    stop: str
    """Reason why measuring ended."""
    environment: Environment
    compiling: Compiling | None
    slice_steps: int = 0
    """Recorded steps per turn; 0 if the steps ran without a break."""


class Recorder(msgspec.Struct):
    """Buffer for the steps of one phase, emitted as columns."""

    case: int
    phase: Phase
    emit: Emit
    clock: Callable[[], float]
    round: int = 0
    every_s: float = REPORT_S
    """Minimum seconds between two flushes."""
    added: int = 0
    """Number of steps in this phase so far."""
    times: list[StepTime] = msgspec.field(default_factory=list)
    counted: list[StepCounts] = msgspec.field(default_factory=list)
    padded_tokens: Counter[int] = msgspec.field(default_factory=Counter)
    """Number of steps of this phase by their tokens including padding; empty if the task has none."""
    flushed_s: float = msgspec.field(default_factory=monotonic)

    def add(self, time: StepTime, counted: StepCounts) -> None:
        """Append a step, and flush if ``every_s`` has passed."""
        self.times.append(time)
        self.counted.append(counted)
        self.added += 1
        if counted.padded_tokens is not None:
            self.padded_tokens[counted.padded_tokens] += 1
        if monotonic() - self.flushed_s >= self.every_s:
            self.flush()

    def flush(self) -> None:
        """Emit the buffered steps."""
        if self.times:
            self.emit(self._event())
        self.times.clear()
        self.counted.clear()
        self.flushed_s = monotonic()

    def _event(self) -> Steps:
        return Steps(
            t=self.clock(),
            case=self.case,
            phase=self.phase,
            round=self.round,
            wall_ms=[time.wall_ms for time in self.times],
            device_ms=_column(time.device_ms for time in self.times),
            host_ms=_column(time.host_ms for time in self.times),
            parts_ms={part: [time.parts_ms[part] for time in self.times] for part in self.times[0].parts_ms},
            tokens=_column(counts.tokens for counts in self.counted),
            padded_tokens=_column(counts.padded_tokens for counts in self.counted),
            loss=self._losses(),
            requests=_column(counts.requests for counts in self.counted),
        )

    def _losses(self) -> list[float | None] | None:
        losses = _column(counts.loss for counts in self.counted)
        return None if losses is None else [loss if isfinite(loss) else None for loss in losses]


def warm_up(
    workload: Workload, device: Device, rules: Measure, record: Recorder, watch: CompileWatch | None = None
) -> str:
    """Run and record the warm-up steps. Return the reason why they ended."""
    times_ms: list[float] = []
    cold: set[int] = set()
    missing_ms = 1000 * (rules.min_warmup_s or 0.0)
    workload.begin_warmup()
    while (stop := warmed_up(times_ms, rules, missing_ms, cold)) is None:
        (time,) = _steps(workload, device, record, 1)
        compiled = (watch is not None and watch.check(record.added)) or not times_ms
        if compiled and len(cold) < MOST_COLD:  # the device is idle while the host compiles
            cold.add(len(times_ms))
        else:
            missing_ms -= time.device_or_host_ms
        times_ms.append(time.wall_ms)
    record.flush()
    return stop


def measure(
    workload: Workload,
    device: Device,
    rules: Measure,
    record: Recorder,
    watch: CompileWatch | None = None,
    enough_percent: float = 0.0,
    turns: Turns | None = None,
) -> MeasuredPhase:
    """Run measured steps until the stop rule ends them; ``enough_percent`` is an error that it may accept.

    With ``turns``, they are those of this worker's turns.
    """
    workload.begin_measuring()
    gc.collect()
    device.reset_memory_peaks()
    if watch:
        watch.begin_measuring()
    if turns:
        turns.wait()  # what the others do before that, such as their warm-up, is no part of the measurement
    rule, probe = StopRule(rules, enough_percent), EnvironmentProbe()
    loop, begin_s = _Loop(workload, device, rules, record, watch, rule), monotonic()
    if turns:
        with on_one_processor():
            stop, slice_steps = _by_turns(loop, turns)
    else:
        stop, slice_steps = _alone(loop), 0
    end_s = monotonic()
    environment = probe.since(record.added)
    record.flush()
    compiling = watch.result() if watch else None
    return MeasuredPhase(begin_s, end_s, stop, environment, compiling, slice_steps)


class _Loop(msgspec.Struct):
    workload: Workload
    device: Device
    rules: Measure
    record: Recorder
    watch: CompileWatch | None
    rule: StopRule

    def run(self, amount: int, before_s: float, begin_s: float) -> str | None:
        """Run steps, without synchronizing between them. Return why the measuring may end, or None.

        ``before_s`` is the measuring time before ``begin_s``.
        """
        stop = None
        for time in _steps(self.workload, self.device, self.record, amount):
            stop = stop or self.rule.reason(time, before_s + monotonic() - begin_s)
        if self.watch:
            self.watch.check(self.record.added)
        return stop

    def run_slice(self, amount: int, before_s: float) -> str | None:
        begin_s, stop, most = monotonic(), None, 1 if self.rules.mode == "latency" else THROUGHPUT_BLOCK
        for done in range(0, amount, most):
            stop = self.run(min(most, amount - done), before_s, begin_s) or stop
        return stop

    def lead_in(self, least: int = 1) -> float:
        """Run steps that aren't recorded, of long ones only one. Return their median time in milliseconds."""
        times_ms: list[float] = []
        while sum(times_ms) < (LEAD_IN_MS if len(times_ms) >= least else LONG_STEP_MS):
            time, _ = self.device.time(self.workload.step)
            times_ms.append(max(time.wall_ms, LEAST_MS))
        return median(times_ms)


def _alone(loop: _Loop) -> str:
    """Run steps without a break. Return why they ended."""
    begin_s, stop = monotonic(), None
    while stop is None:
        stop = loop.run(_block(loop.rules, loop.record.added), 0.0, begin_s)
    return stop


def _by_turns(loop: _Loop, turns: Turns) -> tuple[str, int]:
    """Run steps in turns until this worker and all others have been measured enough.

    Return why they ended, and the recorded steps per turn.
    """
    first_s = monotonic()
    step_ms = loop.lead_in(FIRST_STEPS)
    amount, slices, measured_s, enough = slice_steps(step_ms), 0, 0.0, False
    while not (enough and turns.others_have_enough):
        if slices and step_ms < LONG_STEP_MS:
            loop.lead_in()
        begin_s = monotonic()
        stop = loop.run_slice(amount, measured_s)
        measured_s += monotonic() - begin_s
        slices += 1
        enough = _enough(stop, slices, monotonic() - first_s, turns.workers)
        turns.pass_on(enough=enough)
        if not (enough and turns.others_have_enough):
            turns.wait()
    turns.end()
    return f"{count(slices, 'turn')} of {count(amount, 'step')}", amount


def _enough(stop: str | None, slices: int, since_first_s: float, workers: int) -> bool:
    """Return whether the turns suffice, or a time limit of the sweep ends them."""
    limited = stop is not None and stop.startswith(TIME_LIMIT)
    return limited or slices >= SLICES or (slices >= LEAST_SLICES and since_first_s >= TURNS_S * workers)


def _block(rules: Measure, done: int) -> int:
    """Number of steps to run without synchronizing between them."""
    if rules.mode == "latency":
        return 1
    remaining = least_steps(rules) - done
    return min(THROUGHPUT_BLOCK, remaining) if remaining > 0 else THROUGHPUT_BLOCK


def _steps(workload: Workload, device: Device, record: Recorder, amount: int) -> list[StepTime]:
    rows = [device.time(workload.step)] if amount == 1 else device.time_block(workload.step, amount)
    for time, done in rows:
        record.add(time, workload.count(done))
    return [time for time, _ in rows]


def _column(values: Iterable[Value | None]) -> list[Value] | None:
    """Return the values of the steps, or None if there are none."""
    column = [value for value in values if value is not None]
    return column or None
