"""Which attention kernels run, and how long the GPU is busy in a step."""

from time import sleep

import torch
from findings import Findings
from gpu import Profile, prepare, profiled, run
from sweeps import distilbert, gpt2, gpt2_sweep, on_gpu, record, require_all_ok

ROWS = (("lm-forward", "synthetic"), ("classify", "synthetic"), ("classify", "sample"))


def attention(findings: Findings) -> None:
    """Name the attention kernels of eager and compiled networks, for full and padded rows in two precisions."""
    _flash(findings)
    table: list[dict[str, object]] = []
    tasks = ROWS[:1] if findings.brief else ROWS
    for task, dataset in tasks:
        for precision in ("bf16",) if findings.brief else ("fp32", "bf16"):
            eager, compiled = (
                _kernels(findings, task, dataset, precision, mode) for mode in ("off", "default")
            )
            named = {"task": task, "rows": dataset, "precision": precision}
            table += [named | _row("off", eager), named | _row("default", compiled)]
            findings.figure("kernels", table)
            same = eager.attention == compiled.attention
            findings.expect(
                same and bool(eager.attention),
                f"{task} on {dataset} rows, {precision}: {_said(eager)} eager, {_said(compiled)} compiled",
            )


def _kernels(findings: Findings, task: str, dataset: str, precision: str, mode: str) -> Profile:
    model = distilbert(findings) if task == "classify" else gpt2(findings)
    length = 32 if findings.brief else 128
    torch._dynamo.reset()
    options = {"batch_size": 8, "sequence_length": length, "precision": precision, "compile": mode}
    workload, _ = prepare(task, model, dataset, **options)
    run(workload, 3)
    return profiled(workload)


def _row(mode: str, found: Profile) -> dict[str, object]:
    return {"compile": mode, "operators": list(found.attention), "kernels": list(found.attention_kernels)}


def _said(found: Profile) -> str:
    return "+".join(found.attention) or "none seen"


def _flash(findings: Findings) -> None:
    """Record a case with attention=flash: it is applied, or the reason is recorded."""
    length = "32" if findings.brief else "512"
    options = ("attention=flash", "precision=bf16", "batch_size=4", f"sequence_length={length}", "iterations=5")
    for case in on_gpu(record(findings, gpt2_sweep(findings, *options), 40)):
        effective = case.effective and case.effective.attention
        reason = case.finished.reason if case.finished else None
        findings.figure("attention=flash", [case.state, effective, reason, *case.marks])
        denied = [mark for mark in case.marks if "flash" in mark]
        fine = case.state == "ok" and not denied if reason is None else case.state in ("failed", "skipped")
        findings.expect(
            fine, f"attention=flash: {case.state}, actual {effective}; {reason or denied or 'no mark'}"
        )


def busy(findings: Findings) -> None:
    """Profile steps after a pause, after plain steps and over CUDA graphs; compare with the record."""
    sizes, length = ((1,), 16) if findings.brief else ((1, 64), 128)
    recorded_ms = _recorded_ms(findings, sizes, length)
    table = []
    for size in sizes:
        for mode in ("off", "reduce-overhead"):
            cold_ms, warm_ms, step_ms = _busy_ms(findings, size, length, mode)
            named = {"batch": size, "compile": mode, "after a pause": cold_ms, "after plain steps": warm_ms}
            table.append(named | {"step": step_ms})
            findings.figure("busy (ms)", table)
            ratio = cold_ms / warm_ms if warm_ms else float("nan")
            findings.expect_number(
                abs(ratio - 1) <= 0.03, f"batch {size}, compile={mode}: {ratio:.3f} times as busy after a pause"
            )
            if mode == "off":
                _against_record(findings, size, recorded_ms.get(size), warm_ms)


def _busy_ms(findings: Findings, size: int, length: int, mode: str) -> tuple[float, float, float]:
    torch._dynamo.reset()
    options = {"batch_size": size, "sequence_length": length, "compile": mode}
    workload, device = prepare("lm-forward", gpt2(findings), **options)
    run(workload, 10)
    step_ms = device.time(workload.step)[0].wall_ms
    sleep(0.2 if findings.brief else 3)
    cold_ms = profiled(workload, 3, host=False).busy_ms
    run(workload, 20)
    return cold_ms, profiled(workload, 3, host=False).busy_ms, step_ms


def _recorded_ms(findings: Findings, sizes: tuple[int, ...], length: int) -> dict[int, float]:
    """Return the recorded busy time of each batch size, if there is one."""
    batches = f"batch_size={','.join(map(str, sizes))}"
    options = ("precision=bf16", f"sequence_length={length}", batches, "iterations=20")
    found = {}
    for case in require_all_ok(findings, on_gpu(record(findings, gpt2_sweep(findings, *options), 40))):
        work = case.finished.work if case.finished else None
        if work is not None and work.busy_ms is not None:
            found[case.config.batch_size] = work.busy_ms
        else:
            findings.figure(f"batch {case.config.batch_size}: no busy time", str(work and work.absent))
    return found


def _against_record(findings: Findings, size: int, recorded_ms: float | None, own_ms: float) -> None:
    ratio = recorded_ms / own_ms if recorded_ms is not None and own_ms else None
    said = "absent" if ratio is None else f"{ratio:.3f} times the one here"
    findings.expect_number(
        ratio is not None and abs(ratio - 1) <= 0.05, f"batch {size}: recorded busy time is {said}"
    )
