"""Recovery of the GPU after a case that ran out of memory."""

from time import monotonic, sleep

from agreement import EXACT, Ratio
from findings import Findings
from msgspec.structs import replace
from sweeps import gpt2_sweep, on_gpu, reasons, record

from benchtui.engine.telemetry.gpu.nvml import open_nvml
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import metrics

SAME_TIME = (0.97, 1.03)
MOST_LEFT_MB = 50.0
FREED_S = 10.0
"""Time that the driver gets to free the memory of ended processes."""


def recovery(findings: Findings) -> None:
    """Record a case, one that doesn't fit, and the first one again; then look at what is left on the GPU."""
    small, large, length = (1, 8192, 16) if findings.brief else (8, 8192, 512)
    options = ("task=lm-train", "precision=bf16", f"sequence_length={length}", "iterations=20", "rounds=1")
    wanted = gpt2_sweep(findings, *options)
    wanted = replace(wanted, axes=replace(wanted.axes, batch_size=(small, large, small)))
    before_mb = _used_mb()
    cases = on_gpu(record(findings, wanted, 70, "recovery.json"))
    left_mb = _left_mb(before_mb)
    states = [case.state for case in cases]
    findings.expect(
        states == ["ok", "oom", "ok"], f"batch sizes {small}, {large}, {small}: {', '.join(states)}"
    )
    if not cases or states != ["ok", "oom", "ok"]:
        findings.figure("reasons", reasons(cases))
        return
    first, refused, again = cases
    findings.figure("reason", refused.finished and refused.finished.reason)
    findings.number(Ratio("step after it", _median_ms(again), _median_ms(first), SAME_TIME, "ms"))
    findings.ratio(
        Ratio("allocated by tensors after it", _allocated_mb(again), _allocated_mb(first), EXACT, "MB")
    )
    said = "no reading of memory" if left_mb is None else f"{left_mb:.0f} MB more in use than before the sweep"
    findings.expect_number(left_mb is not None and left_mb <= MOST_LEFT_MB, said)


def _median_ms(case: CaseState) -> float | None:
    figures = metrics(case)
    return figures and figures.latency_ms.median


def _allocated_mb(case: CaseState) -> float | None:
    memory = case.finished and case.finished.memory
    return memory.peak_allocated_mb if memory else None


def _left_mb(before_mb: float | None) -> float | None:
    """Return how much more memory is in use than before, once that is little or the driver's time is over."""
    until_s = monotonic() + FREED_S
    while True:
        used_mb = _used_mb()
        if used_mb is None or before_mb is None:
            return None
        if used_mb - before_mb <= MOST_LEFT_MB or monotonic() > until_s:
            return used_mb - before_mb
        sleep(0.5)


def _used_mb() -> float | None:
    """Return the memory in use on the first GPU, without a context of this process on it."""
    reader = open_nvml()
    if isinstance(reader, GpusUnavailable):
        return None
    used_mb = reader.sample()[0].memory_used_mb
    reader.close()
    return used_mb
