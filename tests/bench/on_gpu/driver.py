"""A recorded case against ``nvidia-smi`` at the same time: power, energy, clocks, memory and reasons."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from agreement import (
    CLOSE,
    EXACT,
    Limits,
    Point,
    Ratio,
    integral,
    mean,
    throttle_differences,
    within,
    worst_second,
)
from findings import Findings
from smi import SmiLog, column, reason_shares
from sweeps import gpt2_sweep, kept, on_gpu, record, require_all_ok

from benchtui.sessions.state.case import CaseState

UNSTEADY = (0.85, 1.15)
"""Limits for a second of power that jumps by 200 W every 100 ms, read three and five times."""
OFTEN = 0.05
"""Share of the time from which a reason must be in the record; shorter ones fall between its samples."""
READINGS: dict[str, tuple[str, Limits]] = {
    "power_w": ("W", CLOSE),
    "sm_clock_mhz": ("MHz", EXACT),
    "memory_clock_mhz": ("MHz", EXACT),
    "temperature_c": ("°C", CLOSE),
    "memory_used_mb": ("MB", CLOSE),
}


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Recorded readings of the first GPU, by the wall clock."""

    start_s: float
    """Time of the session's start."""
    points: dict[str, list[Point]]


def nvidia_smi(findings: Findings) -> None:
    """Log nvidia-smi while two cases are recorded: one that the host holds up, one under full load."""
    if reason := SmiLog.absent():
        findings.not_here("readings of nvidia-smi", reason)
        return
    sizes, length, span = ("1,2", 16, "2s") if findings.brief else ("1,64", 512, "10s")
    options = (f"sequence_length={length}", f"batch_size={sizes}", f"max_time={span}", "iterations=1000000")
    log = SmiLog(Path(gettempdir()) / "smi.csv")
    with log:
        wanted = gpt2_sweep(findings, "task=lm-train", "precision=bf16", *options)
        cases = on_gpu(record(findings, wanted, 75, "nvidia-smi.json"))
    if not log.rows:
        findings.expect(False, f"nvidia-smi gave no readings: {log.said or 'no output'}")
        return
    found = telemetry(kept(findings, "nvidia-smi.json"))
    for case in require_all_ok(findings, cases):
        _compare(findings, case, found, log)


def telemetry(path: Path) -> Telemetry:
    """Read the telemetry of a session as plain JSON. Its end was written when the file was last changed."""
    events = json.loads(path.read_text("utf-8"))
    start_s = path.stat().st_mtime - events[-1]["t"]
    points: dict[str, list[Point]] = {name: [] for name in (*READINGS, "energy_j")}
    for event in events:
        for gpu in event.get("gpus", ())[:1] if event["event"] == "telemetry" else ():
            for name, found in points.items():
                found += _points(event["at_s"], gpu.get(name, ()), start_s)
    return Telemetry(start_s, points)


def _points(at_s: Iterable[float], values: Iterable[float | None], start_s: float) -> list[Point]:
    return [(start_s + at, value) for at, value in zip(at_s, values, strict=False) if value is not None]


def _compare(findings: Findings, case: CaseState, found: Telemetry, log: SmiLog) -> None:
    end = case.finished
    if not end or not end.measured_s or not end.environment or not end.energy:
        findings.expect(False, f"{case.name}: no measured span, environment or energy in the record")
        return
    begin_s, end_s = (found.start_s + at_s for at_s in end.measured_s)
    for name, (unit, limits) in READINGS.items():
        recorded = within(found.points[name], begin_s, end_s)
        other = within(column(log.rows, name), begin_s, end_s)
        findings.number(Ratio(f"{case.name}: {name}", mean(recorded), mean(other), limits, unit))
    power = column(log.rows, "power_w")
    _energy(findings, case.name, end.energy, integral(power, begin_s, end_s), end_s - begin_s)
    _each_second(
        findings, case.name, within(found.points["power_w"], begin_s, end_s), within(power, begin_s, end_s)
    )
    rows = [row for row in log.rows if begin_s <= row.at_s <= end_s]
    shares = reason_shares(rows) if rows else {}
    findings.figure(
        f"{case.name}: reasons by nvidia-smi, recorded", [str(shares), list(end.environment.throttle)]
    )
    differences = throttle_differences(end.environment.throttle, shares, OFTEN)
    findings.expect_number(not differences, f"{case.name}: {'; '.join(differences) or 'the same reasons'}")


def _energy(findings: Findings, name: str, energy: Any, other_j: float | None, span_s: float) -> None:
    own = Ratio(f"{name}: energy by {energy.source or energy.absent}", energy.energy_j, other_j, CLOSE, "J")
    findings.number(own)
    other_w = None if other_j is None else other_j / span_s
    findings.number(Ratio(f"{name}: mean power", energy.mean_power_w, other_w, CLOSE, "W"))


def _each_second(findings: Findings, name: str, recorded: list[Point], other: list[Point]) -> None:
    worst = worst_second(recorded, other)
    if worst is None:
        findings.expect_number(False, f"{name}: no second has power readings of both")
        return
    findings.number(Ratio(f"{name}: power in its most different second", worst[1], worst[2], UNSTEADY, "W"))
