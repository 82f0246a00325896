"""The edge of memory: the search for the largest batch, and four views of that memory."""

import torch
from findings import Findings
from gpu import Readings, prepare, run
from sweeps import gpt2, gpt2_sweep, ok, on_gpu, reasons, record

from benchtui.sessions.state.case import CaseState


def search(findings: Findings) -> None:
    """Search with compile on. A network of two layers compiles fast, and its logits fill the memory."""
    length = 256 if findings.brief else 1024
    mode = "compile=off" if findings.brief else "compile=default"
    options = ("task=lm-train", mode, "precision=bf16", "batch_size=auto", "caches=shared")
    steps = ("warmup=2", "iterations=5", f"sequence_length={length}")
    cases = on_gpu(record(findings, gpt2_sweep(findings, *options, *steps, layers=2), 165))
    findings.figure("cases", [_row(case) for case in cases])
    good = ok(cases)
    refused = [case for case in cases if case.state not in ("ok", "queued", "interrupted", "skipped")]
    ooms = [case for case in refused if case.state == "oom"]
    findings.expect(
        bool(good and ooms) and len(ooms) == len(refused),
        f"{len(good)} sizes fit, {len(ooms)} of {len(refused)} others ended as oom",
    )
    if others := [case for case in refused if case.state != "oom"]:
        findings.figure("refused for another reason", reasons(others))
    if good:
        _side_by_side(findings, max(good, key=lambda case: case.config.batch_size), length)


def _row(case: CaseState) -> dict[str, object]:
    memory = case.finished.memory if case.finished else None
    return {
        "batch": case.config.batch_size,
        "state": case.state,
        "tensors_mb": memory and memory.peak_allocated_mb,
        "held_by_torch_mb": memory and memory.peak_reserved_mb,
        "driver_mb": memory and memory.peak_device_mb,
        "reason": case.finished.reason if case.finished else None,
    }


def _side_by_side(findings: Findings, largest: CaseState, length: int) -> None:
    """Train half the largest batch in this process, and read memory in four ways."""
    batch = max(1, largest.config.batch_size // 2)
    options = {"batch_size": batch, "sequence_length": length}
    workload, _ = prepare("lm-train", gpt2(findings, layers=2), **options)
    run(workload, 3)
    free, total = torch.cuda.mem_get_info()
    views = {
        "tensors, at most": torch.cuda.max_memory_allocated() / 1e6,
        "held by torch": torch.cuda.memory_reserved() / 1e6,
        "in use, by CUDA": (total - free) / 1e6,
        "in use, by the driver": Readings(1.0).used_mb(),
    }
    findings.figure(f"memory at batch {batch} (MB)", [views])
    allocated, held, used = list(views.values())[:3]
    findings.expect(allocated <= held <= used, f"batch {batch}: {allocated:.0f} <= {held:.0f} <= {used:.0f} MB")
