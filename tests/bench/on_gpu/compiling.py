"""Whether CUDA graphs run, whether slow steps are recorded as unsteady, and the cold cost."""

from statistics import median

import torch
from findings import Findings
from gpu import graph_replays, prepare, profiled
from sweeps import GPU, distilbert, gpt2, gpt2_sweep, on_gpu, record, require_all_ok, sweep
from torch._dynamo.utils import counters

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import metrics

STEPS = 6
LAYERS = 4
"""Layers of GPT-2 that compile in a third of the time."""
SLOW = 5.0
"""Times the median from which a measured step must have a reason."""


def cuda_graphs(findings: Findings) -> None:
    """Record sessions over CUDA graphs, then run every task by hand."""
    _recorded_cold_cost(findings)
    _recorded_widths(findings)
    tasks = [("lm-forward", "synthetic"), ("lm-train", "synthetic"), ("classify", "synthetic")]
    table: list[dict[str, object]] = []
    for task, dataset in tasks[:1] if findings.brief else tasks:
        table.append(_by_hand(findings, task, dataset))
        findings.figure("by hand", table)


def _by_hand(findings: Findings, task: str, dataset: str) -> dict[str, object]:
    model = distilbert(findings) if task == "classify" else gpt2(findings, LAYERS)
    torch._dynamo.reset()
    counters.clear()
    length = 16 if findings.brief else 128
    workload, device = prepare(
        task, model, dataset, batch_size=8, sequence_length=length, compile="reduce-overhead"
    )
    times_ms = [device.time(workload.step)[0].wall_ms for _ in range(STEPS)]
    replays = graph_replays(workload)
    launches = sum(name == "cudaGraphLaunch" for name in profiled(workload).calls)
    counted = {name: count for name, count in counters["inductor"].items() if "cudagraph" in name}
    findings.expect(
        replays > 0 and "cudagraph_skips" not in counted,
        f"{task}: {replays} CUDA graphs replayed in a step; inductor counted {counted or 'none of its skips'}",
    )
    seen = {"replays": replays, "launches that the profiler saw": launches, "inductor": str(counted)}
    return {"task": task, "steps (ms)": times_ms, **seen}


def _recorded_cold_cost(findings: Findings) -> None:
    """Compare the recorded cold cost with the sum over all warm-up steps."""
    tasks = ("lm-forward",) if findings.brief else ("lm-forward", "lm-train")
    for task in tasks:
        options = ("compile=reduce-overhead", "precision=bf16", "batch_size=4", "warmup=6", "iterations=20")
        length = f"sequence_length={16 if findings.brief else 128}"
        wanted = gpt2_sweep(findings, *options, f"task={task}", length, layers=LAYERS)
        for case in require_all_ok(findings, on_gpu(record(findings, wanted, 75))):
            _cold_cost(findings, task, case)


def _cold_cost(findings: Findings, task: str, case: CaseState) -> None:
    figures, warmup_ms = metrics(case), list(case.warmup.wall_ms)
    steady_ms = median(case.measured.wall_ms)
    own_ms = sum(each - steady_ms for each in warmup_ms if each > 1.5 * steady_ms)
    recorded_ms = figures and figures.cold_cost_ms
    findings.figure(f"{task}: warm-up steps (ms)", warmup_ms)
    ratio = recorded_ms / own_ms if recorded_ms and own_ms else None
    said = "absent" if ratio is None else f"{ratio:.3f} times the sum over warm-up steps, {own_ms:.0f} ms"
    findings.expect_number(ratio is not None and abs(ratio - 1) <= 0.1, f"{task}: recorded cold cost {said}")


def _recorded_widths(findings: Findings) -> None:
    """Record batches of changing width, each of which has its own CUDA graph."""
    options = (
        "compile=reduce-overhead",
        "padding=longest",
        "precision=bf16",
        "batch_size=8",
        "sequence_length=128",
    )
    steps = ("warmup=2", "iterations=5") if findings.brief else ("warmup=5", "iterations=60")
    wanted = sweep("quick", f"model={distilbert(findings)}", GPU, "peaks=false", "retries=0", *options, *steps)
    for case in require_all_ok(findings, on_gpu(record(findings, wanted, 90))):
        times_ms = list(case.measured.wall_ms)
        slow = {at for at, time_ms in enumerate(times_ms) if time_ms > SLOW * median(times_ms)}
        compiling = case.finished and case.finished.compiling
        known = set(compiling.unsteady) if compiling else set()
        findings.figure("padding=longest: slow steps, recorded as unsteady", [sorted(slow), sorted(known)])
        findings.expect_number(
            slow <= known, f"padding=longest: {len(slow & known)} of {len(slow)} slow steps are unsteady"
        )
