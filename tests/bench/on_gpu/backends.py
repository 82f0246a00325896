"""Runtimes other than torch on the GPU: where operations ran, answers, memory and times."""

from findings import Findings
from sweeps import GPU, distilbert, on_gpu, record, sweep

from benchtui.sessions.analysis.answers import is_acceptable
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import metrics

COMPILED = ("aoti", "onnxruntime-tensorrt")
"""Backends that compile for minutes, or for a GPU that isn't played."""
OWN_SHARE = 0.9
"""Least share of the operations that the requested provider runs. Shapes are computed on the processor."""


def backends(findings: Findings) -> None:
    """Record the same network in each backend. One whose package isn't installed is skipped."""
    names: tuple[str, ...] = ("torch", "aoti", "onnxruntime", "onnxruntime-tensorrt")
    if findings.brief:
        names = tuple(name for name in names if name not in COMPILED)
    model = f"model={distilbert(findings)}"
    options = (model, GPU, "task=classify", "weights=random", "peaks=false", "retries=0")
    axes = (f"backend={','.join(names)}", "precision=fp16", "batch_size=8", "sequence_length=128", "rounds=1")
    baseline = 'baseline={ backend = "torch" }'
    for case in on_gpu(record(findings, sweep("quick", *options, *axes, baseline), 95, "backends.json")):
        if case.state == "skipped":
            findings.not_here(case.config.backend, (case.finished and case.finished.reason) or "no reason")
        elif case.config.backend != "torch":
            _compare(findings, case)


def _compare(findings: Findings, case: CaseState) -> None:
    end, effective, figures = case.finished, case.effective, metrics(case)
    if end is None or effective is None or figures is None:
        findings.expect(False, f"{case.name}: {case.state}{f', {end.reason}' if end else ''}")
        return
    findings.figure(f"{case.name}: what it states, and its marks", [str(effective.runtime), list(case.marks)])
    answered = case.comparison
    findings.expect(
        answered is not None and is_acceptable(answered),
        f"{case.name}: answers {(answered and answered.verdict) or 'absent'}",
    )
    counts = [int(part.split()[-1]) for part in effective.runtime.get("providers", "own 1").split(", ")]
    share = f"{counts[0]} of {sum(counts)} operations in one provider"
    findings.expect(counts[0] >= OWN_SHARE * sum(counts), f"{case.name}: {share}")
    device_mb = end.memory and end.memory.peak_device_mb
    findings.expect(device_mb is not None, f"{case.name}: memory by the driver {device_mb} MB")
    busy_ms, step_ms = end.work and end.work.busy_ms, figures.latency_ms.median
    findings.expect_number(
        bool(busy_ms and step_ms and busy_ms <= 1.02 * step_ms),
        f"{case.name}: busy for {busy_ms} ms of a step of {step_ms} ms",
    )
