"""Activity of the GPU's units by its counters, and what reading them costs."""

from collections.abc import Callable
from statistics import fmean, median
from time import monotonic, perf_counter, sleep

import torch
from findings import Findings

from benchtui.engine.telemetry.gpu.nvml import open_nvml
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpuSample, GpusUnavailable
from benchtui.sessions.payloads import GPU_ACTIVITY

PERIOD_S = 0.25
"""Time between two samples, as in a sweep."""


def activity(findings: Findings) -> None:
    """Sample an idle GPU, one with large products, and one with large copies."""
    reader = open_nvml()
    if isinstance(reader, GpusUnavailable):
        findings.expect(False, reader.reason)
        return
    absent = reader.sample()[0].absent
    findings.figure("absent", absent)
    rows, size = (512, 2**24) if findings.brief else (8192, 2**32)
    left = torch.randn(rows, rows, device="cuda:0", dtype=torch.bfloat16)
    source = torch.empty(size, device="cuda:0", dtype=torch.uint8)
    target = torch.empty_like(source)
    idle = _samples(findings, reader, lambda: None)
    products = _samples(findings, reader, lambda: torch.matmul(left, left))
    copies = _samples(findings, reader, lambda: target.copy_(source))
    spans = {"idle": idle, "products": products, "copies": copies}
    means = [
        {"reading": name} | {what: _mean(each, name) for what, each in spans.items()} for name in GPU_ACTIVITY
    ]
    findings.figure("means", means)
    _cost(findings, reader)
    if "activity" in absent:
        findings.expect_number(False, f"no counters: {absent['activity']}")
        return
    tensor, dram = _mean(products, "tensor_active_percent"), _mean(copies, "dram_active_percent")
    findings.expect_number(
        (tensor or 0) >= 50, f"tensor cores active in {tensor} % of the time of large products"
    )
    findings.expect_number((dram or 0) >= 60, f"copies use {dram} % of the memory's bandwidth")


def _samples(findings: Findings, reader: GpuReader, work: Callable[[], object]) -> list[GpuSample]:
    """Sample while work runs; the first sample's means reach back before it."""
    until_s = monotonic() + (0.6 if findings.brief else 3.0)
    found, due_s = [], monotonic()
    while monotonic() < until_s:
        work()
        torch.cuda.synchronize()
        if monotonic() >= due_s:
            found.append(reader.sample()[0])
            due_s = monotonic() + PERIOD_S
        sleep(0)
    return found[1:]


def _mean(samples: list[GpuSample], name: str) -> float | None:
    values = [value for sample in samples if (value := getattr(sample, name)) is not None]
    return round(fmean(values), 1) if values else None


def _cost(findings: Findings, reader: GpuReader) -> None:
    """Time samples at their period. All of them together may use 1% of a processor."""
    times_ms = []
    for _ in range(4 if findings.brief else 12):
        begin_s = perf_counter()
        reader.sample([0])
        times_ms.append(1000 * (perf_counter() - begin_s))
        sleep(PERIOD_S)
    typical_ms = median(times_ms)
    share = 100 * typical_ms / 1000 / PERIOD_S
    findings.figure("ms of a sample of one GPU: median, most", [typical_ms, max(times_ms)])
    findings.expect_number(share <= 1, f"sampling takes {typical_ms:.2f} ms, {share:.2f} % of the time")
