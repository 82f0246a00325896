"""Limits section of the case screen."""

from typing import Any

from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.events import CaseFinished, CaseStarted, Peaks, SessionStarted, Steps
from benchtui.sessions.payloads import Compiling, Host, Memory, StepCost
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep
from benchtui.themes.symbols import UNICODE
from benchtui.tui.case.summary import machine_lines

CONFIG = Config(device="cpu")


def shown(work: StepCost | None, *peaks: Peaks) -> list[str]:
    """Return the lines of the limits section for a case with a step time of 100 ms."""
    return section("Limits", CONFIG, *peaks, work=work)


def section(title: str, config: Config, *peaks: Peaks, **end: Any) -> list[str]:
    """Return the lines of a section for an ended case with a step time of 100 ms."""
    session = Session()
    sweep = Sweep(name="s", model="m")
    session.apply_all(
        [
            SessionStarted(t=0.0, id="x", created="now", sweep=sweep, plan=(config,), host=Host()),
            *peaks,
            CaseStarted(t=1.0, case=0, config=config),
            Steps(t=2.0, case=0, phase="measure", wall_ms=[100.0] * 3),
            CaseFinished(t=3.0, case=0, outcome="ok", **end),
        ]
    )
    case = session.cases[0]
    lines = machine_lines(case, limit(case, session.peaks), 100, UNICODE)
    text = ["".join(piece for piece, _ in line).rstrip() for line in lines]
    if title not in text:
        return []
    begin = text.index(title) + 1
    end = text.index("", begin) if "" in text[begin:] else len(text)
    return [" ".join(line.split()) for line in text[begin:end]]


def test_limits_compare_a_case_with_its_device_peaks() -> None:
    work = StepCost(flops=1.2e10, bytes_moved=2.5e8, bytes_of_weights=2e8, busy_ms=99.0, attention=("flash",))
    peaks = Peaks(t=0.5, device="cpu", precision="fp32", flops_per_s=1.5e11, bytes_per_s=1e10)
    assert shown(work, peaks) == [
        "per step 12.00 GFLOP",
        "arithmetic 120 GFLOP/s, 80.0 % of the measured peak, 150",
        "moves 0.25 GB at most",
        "memory 2.50 GB/s, 25.0 % of the measured peak, 10.00 at most",
        "device busy for 99 % of a step",
        "attention kernel flash",
        "limited by arithmetic",
    ]


def test_unknown_limits_show_a_sanitized_reason() -> None:
    assert shown(StepCost(absent={"flops": "no formula\x1b[31m"})) == ["unknown because no formula[31m"]
    alone = shown(StepCost(flops=1.2e10, bytes_moved=2.5e8))
    assert alone[1] == "arithmetic 120 GFLOP/s" and alone[-1] == "unknown because peaks not measured"


def test_a_case_without_step_costs_has_no_limits_section() -> None:
    assert shown(None) == []


def test_cuda_graphs_show_why_tensor_memory_is_missing() -> None:
    graphs = Config(device="cuda:0", compile="reduce-overhead")
    peaks = "Memory, peaks while measured"
    assert section(peaks, graphs, memory=Memory(peak_reserved_mb=900.0)) == [
        "allocated by tensors not measurable with CUDA graphs",
        "reserved by torch 900 MB",
    ]
    known = Memory(peak_allocated_mb=500.0, peak_reserved_mb=900.0)
    assert section(peaks, graphs, memory=known)[0] == "allocated by tensors 500 MB"


def test_compiler_section_counts_cuda_graphs_and_skips() -> None:
    config = Config(device="cuda:0", compile="reduce-overhead")
    compiling = Compiling(graphs=2, graph_breaks=0, recompiles=0, cuda_graphs=3, cuda_graph_skips=1)
    lines = section("Compiler", config, compiling=compiling)
    assert "CUDA graphs 3 (1 skipped)" in lines
    plain = Compiling(graphs=2, graph_breaks=0, recompiles=0)
    assert not any("CUDA" in row for row in section("Compiler", config, compiling=plain))
