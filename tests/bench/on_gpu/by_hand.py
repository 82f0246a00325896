"""Recorded steps, memory and kernels against the same figures of a plain script, without benchtui's code."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from agreement import CLOSE, EXACT, NEAR, Kernel, Ratio, kernel_differences
from findings import Findings
from gpu import Readings, prepare, run
from plain import PlainLoop, timed
from sweeps import gpt2, gpt2_sweep, kept, on_gpu, record, require_all_ok

from benchtui.sessions.state.case import CaseState

BATCH, LENGTH = 48, 512
"""About 40 ms a step on an H100, whose kernels take longer than a slow host needs to launch them."""
TURNS = 8
MOST_LOOP_SHARE = 0.02
"""Largest share of a step that the engine's loop may cost the host."""
EXPENSIVE = 0.03
"""Share of a step's kernel time from which a kernel is compared."""
EXPLAIN_S = 60.0


def _sizes(findings: Findings) -> tuple[int, int]:
    return (2, 16) if findings.brief else (BATCH, LENGTH)


def _recorded(findings: Findings, name: str, *options: str) -> CaseState | None:
    """Record one case of GPT-2 and keep its session. Return the case if it ended ok."""
    batch, length = _sizes(findings)
    fixed = ("precision=bf16", f"batch_size={batch}", f"sequence_length={length}")
    good = require_all_ok(
        findings, on_gpu(record(findings, gpt2_sweep(findings, *fixed, *options), 60, f"{name}.json"))
    )
    return good[0] if good else None


def steps(findings: Findings) -> None:
    """Compare the recorded step and the engine's loop with CUDA events of a plain loop."""
    case = _recorded(findings, "steps")
    batch, length = _sizes(findings)
    network = gpt2(findings)
    workload, device = prepare("lm-forward", network, batch_size=batch, sequence_length=length)
    plain = PlainLoop(network, batch, length)
    run(workload, 10)
    plain.times_ms(10)
    engine: tuple[list[float], list[float]] = ([], [])
    own: tuple[list[float], list[float]] = ([], [])
    for _ in range(2 if findings.brief else TURNS):
        each = [device.time(workload.step)[0] for _ in range(5 if findings.brief else 40)]
        engine[0].extend(time.device_or_host_ms for time in each)
        engine[1].extend(time.wall_ms for time in each)
        for kept_ms, new_ms in zip(own, plain.times_ms(len(each)), strict=True):
            kept_ms.extend(new_ms)
    for what, one, two in zip(("CUDA events", "host clock"), engine, own, strict=True):
        findings.number(Ratio(f"the engine's loop by {what}", median(one), median(two), EXACT, "ms"))
    if case:
        _recorded_step(findings, case, median(own[0]), median(own[1]))
    _loop_cost(findings, device.time, median(own[1]))


def _recorded_step(findings: Findings, case: CaseState, event_ms: float, host_ms: float) -> None:
    columns = case.measured
    device_ms = median(columns.device_ms) if columns.device_ms else None
    findings.number(Ratio("recorded step by CUDA events", device_ms, event_ms, EXACT, "ms"))
    findings.number(Ratio("recorded step by the host clock", median(columns.wall_ms), host_ms, EXACT, "ms"))
    span_s = case.finished and case.finished.measured_s
    if span_s:
        between_ms = ((span_s[1] - span_s[0]) * 1000 - sum(columns.wall_ms)) / len(columns)
        _share(findings, "between two recorded steps", between_ms, median(columns.wall_ms))


def _loop_cost(findings: Findings, time: Callable[..., object], step_ms: float) -> None:
    """Time steps that do nothing, in the engine's loop and in a plain one."""
    count = 50 if findings.brief else 1000
    engine_ms = median(timed(lambda: time(lambda _: None))[1] for _ in range(count))
    plain_ms = median(timed(lambda: timed(lambda: None))[1] for _ in range(count))
    findings.figure("host ms of an empty step: engine, plain", [engine_ms, plain_ms])
    _share(findings, "an empty step, beyond a plain one", engine_ms - plain_ms, step_ms)


def _share(findings: Findings, what: str, cost_ms: float, step_ms: float) -> None:
    share = cost_ms / step_ms
    findings.expect_number(
        share <= MOST_LOOP_SHARE,
        f"{what}: {cost_ms * 1000:.1f} µs of host time, {share:.2%} of a step (at most {MOST_LOOP_SHARE:.0%})",
    )


def memory(findings: Findings) -> None:
    """Compare recorded peaks of inference and training with torch.cuda's and the driver's of a plain script."""
    found = {task: _recorded(findings, f"memory-{task}", f"task={task}") for task in ("lm-forward", "lm-train")}
    for task, case in found.items():
        peaks = case and case.finished and case.finished.memory
        if not peaks:
            findings.expect(False, f"{task}: no recorded memory")
            continue
        # a fresh process, as for a case: an earlier peak, or memory that torch keeps, would be in the figures
        own = _plain_memory(findings, task)
        rows = (
            ("allocated by tensors", peaks.peak_allocated_mb, own["allocated"], EXACT),
            ("held by torch", peaks.peak_reserved_mb, own["reserved"], NEAR),
            ("of the process, by the driver", peaks.peak_device_mb, own["driver"], CLOSE),
        )
        for what, recorded_mb, own_mb, limits in rows:
            ratio = Ratio(f"{task}: {what}", recorded_mb, own_mb, limits, "MB")
            if own_mb is None:
                findings.not_here(ratio.what, "the driver lists no memory of a plain script's process")
            else:
                findings.ratio(ratio)


def _plain_memory(findings: Findings, task: str) -> dict[str, float | None]:
    batch, length = _sizes(findings)
    arguments = [task, str(gpt2(findings)), str(batch), str(length)]
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"plain script: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    own: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    findings.figure(f"{task}: memory of the plain script (MB)", [own])
    return own


def measure_plain_memory(task: str, model: str, batch: str, length: str) -> None:
    """Run a plain script's steps in this process, and print its peaks as JSON."""
    loop = PlainLoop(Path(model), int(batch), int(length), train=task == "lm-train")
    loop.times_ms(5)
    torch.cuda.reset_peak_memory_stats()
    loop.times_ms(10)
    peaks = {
        "allocated": torch.cuda.max_memory_allocated() / 1e6,
        "reserved": torch.cuda.max_memory_reserved() / 1e6,
        "driver": Readings(1.0).process_mb(os.getpid()),
    }
    print(json.dumps(peaks))


def kernels(findings: Findings) -> None:
    """Compare the kernels that ``benchtui explain`` lists with torch.profiler around a plain script's steps."""
    if _recorded(findings, "kernels") is None:
        return
    profiled = _explained(kept(findings, "kernels.json"))
    if profiled is None:
        findings.expect(False, "benchtui explain recorded no profile")
        return
    recorded = _by_name(profiled["kernels"])
    batch, length = _sizes(findings)
    plain = PlainLoop(gpt2(findings), batch, length)
    plain.times_ms(20)
    own = plain.kernels(5)
    findings.figure(
        "kernels by hand", [{"kernel": name[:70], "runs": one.count, "ms": one.ms} for name, one in own.items()]
    )
    differences, ratios = kernel_differences(recorded, own, share=EXPENSIVE)
    said = "; ".join(differences) or "the same runs"
    findings.expect(
        not differences and bool(ratios),
        f"{len(ratios)} kernels above {EXPENSIVE:.0%} of the kernel time: {said}",
    )
    for ratio in ratios:
        findings.number(ratio)
    launches = sum(each.count for each in own.values())
    findings.ratio(Ratio("kernels and copies a step", profiled["launches"], launches, CLOSE, ""))
    whole_ms = sum(each.ms for each in own.values())
    findings.number(Ratio("busy time of a step", profiled["busy_ms"], whole_ms, CLOSE, "ms"))


def _explained(path: Path) -> dict[str, object] | None:
    main = "from benchtui.tui.cli import main; main()"  # a carried package brings no command
    command = [sys.executable, "-c", main, "explain", str(path), "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=EXPLAIN_S)
    if done.returncode:
        raise RuntimeError(f"benchtui explain: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    profiled: dict[str, object] | None = json.loads(done.stdout)["cases"][0]["profile"]
    return profiled


def _by_name(rows: list[dict[str, object]]) -> dict[str, Kernel]:
    """Sum the rows of a kernel, which has one for each shape of its inputs."""
    found: dict[str, Kernel] = {}
    for row in rows:
        before = found.get(str(row["name"]), Kernel(0.0, 0.0))
        found[str(row["name"])] = Kernel(before.count + float(row["count"]), before.ms + float(row["ms"]))
    return found


if __name__ == "__main__":
    measure_plain_memory(*sys.argv[1:])
