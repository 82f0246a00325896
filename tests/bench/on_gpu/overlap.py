"""Whether the host waits for the GPU in a block of throughput mode, and what that costs."""

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch
from findings import Findings
from gpu import prepare, run, waits
from plain import ROWS, PlainLoop
from sweeps import distilbert, gpt2

BLOCK = ROWS
SEARCHED = ("lm-forward", "lm-train")
"""Tasks in which transformers waits once per eager step, to look for packed sequences (masking_utils.py)."""
WITHIN = 1.02


def synchronization(findings: Findings) -> None:
    """Count the waits in a block of each task; compare a forward step with a plain loop."""
    network = gpt2(findings)
    tasks = [(task, network, "synthetic") for task in ("lm-forward", "lm-train", "generate")]
    tasks += [("classify", distilbert(findings), dataset) for dataset in ("synthetic", "sample")]
    rows = []
    for task, model, dataset in tasks:
        found = _waits(findings, task, model, dataset)
        rows.append({"task": task, "rows": dataset, "waits": sum(found.values()), "where": str(dict(found))})
        if dataset == "synthetic":
            most, waited = BLOCK * (task in SEARCHED), sum(found.values())
            findings.expect(
                waited <= most, f"{task}: {waited} waits in a block of {BLOCK} steps, at most {most}"
            )
    findings.figure("waits in a block", rows)
    _against_plain_loop(findings)


def _waits(findings: Findings, task: str, model: Any, dataset: str) -> Any:
    length = 16 if findings.brief else 128
    workload, device = prepare(task, model, dataset, "throughput", batch_size=8, sequence_length=length)
    device.time_block(workload.step, 2)
    return waits(lambda: device.time_block(workload.step, BLOCK))


def _against_plain_loop(findings: Findings) -> None:
    """Time blocks in turns with a loop that copies from pinned memory and never waits."""
    batch, length, turns = (2, 16, 2) if findings.brief else (8, 128, 8)
    model = gpt2(findings)
    options = {"batch_size": batch, "sequence_length": length}
    workload, device = prepare("lm-forward", model, mode="throughput", **options)
    run(workload, 3)
    plain, blocks_ms, plain_ms = PlainLoop(model, batch, length, pinned=True).block, [], []
    plain()
    for _ in range(turns):
        blocks_ms.append(_block_ms(lambda: device.time_block(workload.step, BLOCK)))
        plain_ms.append(_block_ms(plain))
    ratio = median(blocks_ms) / median(plain_ms)
    findings.figure("block, plain loop (ms)", [blocks_ms, plain_ms])
    findings.expect_number(
        ratio <= WITHIN, f"lm-forward: a block takes {ratio:.3f} times what a plain loop takes"
    )


def _block_ms(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begin_s = perf_counter()
    work()
    torch.cuda.synchronize()
    return (perf_counter() - begin_s) * 1000
