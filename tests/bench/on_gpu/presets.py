"""The presets as they are, the demo, and the tests on a GPU."""

import subprocess
import sys

from findings import Findings
from msgspec.structs import replace
from reference import COMPREHENSIVE, TRAINING, require_sections
from sweeps import DISTILBERT, GPU, ROOT, kept, on_gpu, record, require_all_ok, sweep

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import metrics

PLAIN = ("-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=", "-p", "no:cacheprovider")
"""Settings of pytest without what the plugins of the other tests add, which a GPU machine may not have."""
MOST_DEMO_BYTES = 300_000
SHORT = ("iterations=3", "warmup=1", "retries=0")


def quick_and_distilbert(findings: Findings) -> None:
    """Record quick and distilbert-sst2. Large batches would take the CPU minutes, so it gets the smallest."""
    quick = ("device=cuda:0", "batch_size=1", "sequence_length=32", *SHORT) if findings.brief else ()
    cases = on_gpu(record(findings, sweep("quick", *quick), 90, "quick.json"))
    if findings.brief:
        options = ("weights=random", "device=cuda:0", "precision=fp32", "batch_size=8", *SHORT)
    else:
        options = ("weights=random", "exclude=" + _large_on_cpu())
    cases += on_gpu(record(findings, sweep("distilbert-sst2", *options), 120, "distilbert-sst2.json"))
    _readings(findings, cases)
    require_sections(findings, "distilbert-sst2", COMPREHENSIVE)


def _large_on_cpu() -> str:
    left_out = [f'{{ device = "cpu", batch_size = {size} }}' for size in (16, 32, 64, 128)]
    return f'[{", ".join(left_out)}, {{ device = "cpu", precision = "amp-fp16" }}]'


def gpt2_train(findings: Findings) -> None:
    """Record gpt2-train, narrowed to what fits: one batch size and fewer steps."""
    baseline = 'baseline={ precision = "amp-fp16", compile = "off" }'
    options = ("batch_size=4", "compile=off,default", "iterations=50", baseline)
    if findings.brief:
        options = ("batch_size=1", "compile=off", "precision=fp32", "sequence_length=16", *SHORT)
    _readings(findings, on_gpu(record(findings, sweep("gpt2-train", *options), 210, "gpt2-train.json")))
    require_sections(findings, "gpt2-train", TRAINING)


def demo(findings: Findings) -> None:
    """Record a sweep that is worth watching, small enough to be shipped."""
    fixed = (f"model={DISTILBERT}", "weights=random", GPU)
    axes = ("precision=fp32,bf16", "compile=off,default", "sequence_length=128", "batch_size=1,32")
    if findings.brief:
        axes = ("precision=fp32", "sequence_length=32", "batch_size=1,2")
    wanted = sweep(
        "quick", *fixed, *axes, *(SHORT if findings.brief else ("iterations=40", "warmup=5", "budget=60s"))
    )
    session = record(findings, replace(wanted, name="demo"), 220, "demo-gpu.json")
    require_all_ok(findings, on_gpu(session))
    size = kept(findings, "demo-gpu.json").stat().st_size
    findings.expect(
        session.finished is not None and size <= MOST_DEMO_BYTES,
        f"{size:,} bytes, complete: {session.finished is not None}",
    )


def gpu_tests(findings: Findings) -> None:
    """Run the tests of `make gpu`, or in brief only collect them."""
    options = ["--collect-only"] if findings.brief else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "long", "tests/on_gpu/test_gpu.py", *PLAIN, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    findings.figure("output", "\n".join(lines[-20:]))
    findings.expect(done.returncode == 0, f"pytest: {lines[-1] if lines else f'exit status {done.returncode}'}")


def _readings(findings: Findings, cases: list[CaseState]) -> None:
    """Note which rows have clock, energy and process readings."""
    rows = [_row(case) for case in require_all_ok(findings, cases)]
    findings.figure("rows", rows)
    for name, title in (("clock_mhz", "the clock"), ("energy_j", "energy"), ("others", "processes on the GPU")):
        known = sum(row[name] is not None for row in rows)
        findings.expect_at_length(known == len(rows), f"{known} of {len(rows)} rows have readings of {title}")


def _row(case: CaseState) -> dict[str, object]:
    end, figures = case.finished, metrics(case)
    environment, energy = end and end.environment, end and end.energy
    return {
        "case": case.name,
        "median_ms": figures and figures.latency_ms.median,
        "measured_s": end.measured_s[1] - end.measured_s[0] if end and end.measured_s else None,
        "clock_mhz": environment and environment.graphics_clock_mhz,
        "energy_j": energy and energy.energy_j,
        "energy": energy and (energy.absent or energy.source),
        "others": environment and environment.gpu_processes,
        "throttle": list(environment.throttle) if environment else None,
        "marks": list(case.marks),
    }
