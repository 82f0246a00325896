"""Clock and power under load, sustained peak rates, and energy by counter and by power."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, median
from time import monotonic, sleep

import torch
from findings import Findings
from gpu import Reading, Readings, prepare, reason_names, run
from sweeps import gpt2, gpt2_sweep, on_gpu, record, require_all_ok

PERIOD_S = 0.025
IN_A_ROW = 10
"""Products or copies between two waits, so that the GPU hardly idles."""
HARDWARE = {"HwSlowdown", "HwThermalSlowdown", "HwPowerBrakeSlowdown", "SwThermalSlowdown"}
"""Reasons of heat and power supply; a power cap isn't among them."""
YARDSTICKS = {"H100": (790.0, 3.0), "H200": (790.0, 4.3)}
"""bf16 TFLOP/s of a product of 8192 rows, and TB/s read and written by a copy, as seen on such GPUs."""


def ramp(findings: Findings) -> None:
    """Record 10 s of GPT-2 training at a small and a large batch; then read the driver while it runs here."""
    sizes = (1, 2) if findings.brief else (16, 64)
    length, span = ("16", "1s") if findings.brief else ("512", "10s")
    options = ("precision=bf16", f"sequence_length={length}", "iterations=1000000", f"max_time={span}")
    batches = f"batch_size={','.join(map(str, sizes))}"
    cases = on_gpu(record(findings, gpt2_sweep(findings, "task=lm-train", batches, *options), 75))
    marks = {mark for case in require_all_ok(findings, cases) for mark in case.marks}
    findings.figure("marks", [{"case": case.name, "marks": list(case.marks)} for case in cases])
    hot = any([_ramp(findings, size) for size in sizes])
    throttled = sorted(mark for mark in marks if mark.startswith(("throttled", "clock")))
    said = ", ".join(throttled) or "none"
    findings.expect_number(
        hot or not throttled, f"marks of throttling: {said}; heat or power brake seen: {hot}"
    )


def _ramp(findings: Findings, batch: int) -> bool:
    """Trace one batch size. Return whether heat or the power supply held the clock down."""
    idle_s, work_s, length = (0.2, 0.5, 16) if findings.brief else (1.5, 10.0, 512)
    workload, device = prepare("lm-train", gpt2(findings), batch_size=batch, sequence_length=length)
    run(workload, 1)
    steps: list[tuple[float, float]] = []
    with Readings(PERIOD_S) as readings:
        sleep(idle_s)
        begin_s = monotonic()
        while monotonic() < begin_s + work_s:
            time, _ = device.time(workload.step)
            steps.append((monotonic() - begin_s, time.wall_ms))
    idle = readings.between(0, begin_s)
    late = readings.between(begin_s + work_s / 2, begin_s + work_s)
    reasons = sorted({name for row in late if row.reasons for name in reason_names(row.reasons)})
    findings.figure(f"batch {batch}: idle", _level(idle))
    findings.figure(f"batch {batch}: second half", _level(late))
    findings.figure(f"batch {batch}: highest clock, power limit", [readings.most_mhz(), readings.limit_w()])
    findings.figure(f"batch {batch}: reasons", reasons)
    findings.figure(f"batch {batch}: trace", _thinned(readings.between(begin_s, monotonic()), begin_s))
    _first_against_later(findings, batch, steps, work_s)
    return bool(HARDWARE & set(reasons))


def _first_against_later(
    findings: Findings, batch: int, steps: Sequence[tuple[float, float]], work_s: float
) -> None:
    first = [ms for at_s, ms in steps if at_s <= work_s / 10]
    later = [ms for at_s, ms in steps if at_s > work_s / 2]
    if not first or not later:
        findings.expect_number(False, f"batch {batch}: too few steps to compare: {len(first)} and {len(later)}")
        return
    ratio = median(later) / median(first)
    findings.expect_number(
        abs(ratio - 1) <= 0.03,
        f"batch {batch}: steps of the second half take {ratio:.3f} times those of the first second",
    )


def _level(rows: Sequence[Reading]) -> str:
    """Return mean clock and power of a span as text."""
    clock, power = _mean([row.clock_mhz for row in rows]), _mean([row.instant_w for row in rows])
    return f"{clock} MHz, {power} W, {len(rows)} readings"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{fmean(known):.0f}" if known else "–"


def _thinned(rows: Sequence[Reading], begin_s: float) -> list[dict[str, object]]:
    """Return the trace: every reading of the first half second, then every tenth."""
    kept = [row for at, row in enumerate(rows) if row.at_s < begin_s + 0.5 or at % 10 == 0]
    return [
        {"s": round(row.at_s - begin_s, 3), "MHz": row.clock_mhz, "W": row.instant_w, "reasons": row.reasons}
        for row in kept
    ]


def peaks(findings: Findings) -> None:
    """Compare the fastest product and copy of 300 ms with the median of 10 s, and with the recorded peaks."""
    recorded = _recorded_peaks(findings)
    tflops, tb_per_s = _products(findings), _copies(findings)
    findings.figure("bf16 TFLOP/s: fastest of the first 300 ms, median of 10 s, ratio", tflops)
    findings.figure("TB/s: fastest of the first 300 ms, median of 5 s, ratio", tb_per_s)
    _yardsticks(findings, tflops[0], tb_per_s[1])
    for what, own in (("flops", tflops[1] * 1e12), ("bytes", tb_per_s[1] * 1e12)):
        ratio = recorded[what] / own if what in recorded else None
        said = "not recorded" if ratio is None else f"{ratio:.3f} times the sustained one"
        findings.expect_number(ratio is not None and abs(ratio - 1) <= 0.05, f"recorded peak of {what}: {said}")


def _products(findings: Findings) -> list[float]:
    """Return TFLOP/s of products: fastest of a burst, sustained, and their ratio."""
    rows = 512 if findings.brief else 8192
    left, right = (torch.randn(rows, rows, device="cuda:0", dtype=torch.bfloat16) for _ in range(2))
    fastest_ms, typical_ms = _sustained(findings, lambda: left @ right, 10.0)
    return [2 * rows**3 / fastest_ms / 1e9, 2 * rows**3 / typical_ms / 1e9, typical_ms / fastest_ms]


def _copies(findings: Findings) -> list[float]:
    """Return TB/s read and written by copies: fastest of a burst, sustained, and their ratio."""
    size = 2**24 if findings.brief else 2**32
    source = torch.empty(size, device="cuda:0", dtype=torch.uint8)
    copied = torch.empty_like(source)
    fastest_ms, typical_ms = _sustained(findings, lambda: copied.copy_(source), 5.0)
    return [2 * size / fastest_ms / 1e9, 2 * size / typical_ms / 1e9, typical_ms / fastest_ms]


def _sustained(findings: Findings, work: Callable[[], object], sustained_s: float) -> tuple[float, float]:
    """Run work for so long. Return its fastest run of the first 300 ms and its median run, in milliseconds."""
    burst_s, sustained_s = (0.1, 0.3) if findings.brief else (0.3, sustained_s)
    times_ms, begin_s, burst = [], monotonic(), 0
    while monotonic() < begin_s + sustained_s:
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        for _ in range(IN_A_ROW):
            work()
        after.record()
        after.synchronize()
        times_ms.append(before.elapsed_time(after) / IN_A_ROW)
        burst += monotonic() < begin_s + burst_s
    return min(times_ms[1 : max(burst, 2)] or times_ms), median(times_ms)


def _yardsticks(findings: Findings, tflops: float, tb_per_s: float) -> None:
    name = torch.cuda.get_device_name(0)
    for known, (products, copies) in YARDSTICKS.items():
        if known in name:
            close = tflops >= 0.9 * products and tb_per_s >= 0.9 * copies
            findings.expect_number(
                close, f"{name}: {tflops:.0f} TFLOP/s of {products:.0f}, {tb_per_s:.2f} TB/s of {copies}"
            )


def _recorded_peaks(findings: Findings) -> dict[str, float]:
    """Return the recorded peaks per second in bf16: ``flops`` and ``bytes``, as far as they were measured."""
    options = ("peaks=true", "precision=bf16", "batch_size=1", "sequence_length=16", "iterations=5")
    found: dict[str, float | None] = {}
    for peak in record(findings, gpt2_sweep(findings, *options), 45).peaks:
        findings.figure("recorded", [f"{what}: {how}" for what, how in (peak.how | peak.absent).items()])
        found |= {"flops": peak.flops_per_s, "bytes": peak.bytes_per_s}
    return {what: rate for what, rate in found.items() if rate is not None}


def energy(findings: Findings) -> None:
    """Read counter and power every 10 ms under load, and compare them over windows of several lengths."""
    windows = (0.2, 0.5) if findings.brief else (1.0, 2.0, 5.0, 20.0)
    rows = 512 if findings.brief else 8192
    left, right = (torch.randn(rows, rows, device="cuda:0", dtype=torch.bfloat16) for _ in range(2))
    with Readings(0.01) as readings:
        begin_s = monotonic()
        while monotonic() < begin_s + sum(windows) + 1:
            left @ right
            torch.cuda.synchronize()
    table, at_s = [], begin_s + 0.5
    for window_s in windows:
        table.append(_window(readings.between(at_s, at_s + window_s), window_s))
        at_s += window_s
    findings.figure("windows", table)
    findings.figure("update period (ms): counter, instant, average", _periods_ms(readings.rows))
    for row in (row for row in table if row["s"] >= 2 or findings.brief):
        _agreement(findings, row)


def _window(rows: Sequence[Reading], window_s: float) -> dict[str, float]:
    """Return mean power over a window by each known source, and the number of the counter's updates."""
    counted = [(row.at_s, row.energy_j) for row in rows if row.energy_j is not None]
    found = {"s": window_s, "updates": float(sum(one[1] != other[1] for one, other in pairwise(counted)))}
    if len(counted) > 1:
        found["counter_w"] = (counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0])
    for name in ("instant_w", "average_w"):
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        found |= {name: fmean(known)} if known else {}
    return found


def _agreement(findings: Findings, row: dict[str, float]) -> None:
    watts = [row[name] for name in ("counter_w", "instant_w", "average_w") if name in row]
    close = len(watts) == 3 and max(watts) <= 1.05 * min(watts)
    said = ", ".join(f"{watt:.0f}" for watt in watts)
    findings.expect_number(
        close and row["updates"] >= 20,
        f"over {row['s']:g} s: {said} W by counter, instant and average; {row['updates']:.0f} updates",
    )


def _periods_ms(rows: Sequence[Reading]) -> list[float | None]:
    """Return the median time between two values of each reading."""
    found: list[float | None] = []
    for name in ("energy_j", "instant_w", "average_w"):
        changed = [new.at_s for old, new in pairwise(rows) if getattr(old, name) != getattr(new, name)]
        gaps = [(later - earlier) * 1000 for earlier, later in pairwise(changed)]
        found.append(median(gaps) if gaps else None)
    return found
