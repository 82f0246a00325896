"""Limits section of the case screen."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.events import CaseFinished, CasePrepared, CaseStarted, Peaks, SessionStarted, Steps
from benchtui.sessions.payloads import Compiling, Effective, Energy, Environment, Host, Memory, Model, StepCost
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.distribution import distribution
from benchtui.sessions.sweep import Config, Sweep
from benchtui.themes.symbols import UNICODE
from benchtui.tui.case.summary import case_markdown, detail_lines, machine_lines

CONFIG = Config(device="cpu")


def shown(work: StepCost | None, *peaks: Peaks) -> list[str]:
    """Return the lines of the limits section for a case with a step time of 100 ms."""
    return section("Limits", CONFIG, *peaks, work=work)


def ended(config: Config, *peaks: Peaks, **end: Any) -> Session:
    """Return a session of an ended case with a step time of 100 ms."""
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
    return session


def section(title: str, config: Config, *peaks: Peaks, **end: Any) -> list[str]:
    """Return the lines of a section for an ended case with a step time of 100 ms."""
    session = ended(config, *peaks, **end)
    case = session.cases[0]
    lines = machine_lines(case, metrics(case), limit(case, session.peaks), 100, UNICODE)
    text = ["".join(piece for piece, _ in line).rstrip() for line in lines]
    if title not in text:
        return []
    begin = text.index(title) + 1
    end = text.index("", begin) if "" in text[begin:] else len(text)
    return [" ".join(line.split()) for line in text[begin:end]]


@pytest.mark.parametrize(
    ("requested", "read_back", "shown"),
    [
        ("dynamic", {}, []),
        ("dynamic", {"cache": "dynamic"}, ["cache dynamic ✓ dynamic"]),
        ("static", {}, ["cache static – not verified"]),
        ("static", {"cache": "dynamic"}, ["cache static ✗ dynamic not applied"]),
    ],
)
def test_a_cache_is_an_option_of_cases_that_have_one(
    requested: str, read_back: dict[str, str | int], shown: list[str]
) -> None:
    case = ended(Config(device="cpu", cache=requested), effective=Effective(others=read_back)).cases[0]
    lines = ("".join(piece for piece, _ in line) for line in detail_lines(case, None, 100, UNICODE))
    assert [" ".join(line.split()) for line in lines if line.startswith("  cache ")] == shown


def test_limits_compare_a_case_with_its_device_peaks() -> None:
    work = StepCost(flops=1.2e10, bytes_moved=2.5e8, bytes_of_weights=2e8, busy_ms=99.0, attention=("flash",))
    peaks = Peaks(t=0.5, device="cpu", precision="fp32", flops_per_s=1.5e11, bytes_per_s=1e10)
    assert shown(work, peaks) == [
        "per step 12.0 GFLOP",
        "arithmetic 120 GFLOP/s, 80.0 % of the measured peak, 150",
        "moves up to 0.250 GB",
        "memory up to 2.50 GB/s, 25.0 % of the measured peak, 10.0",
        "device busy for 99 % of a step",
        "attention kernel flash",
        "limited by arithmetic",
    ]


def test_unknown_limits_show_a_sanitized_reason() -> None:
    assert shown(StepCost(absent={"flops": "no formula\x1b[31m"})) == ["unknown because no formula[31m"]
    alone = shown(StepCost(flops=1.2e10, bytes_moved=2.5e8))
    assert alone[1] == "arithmetic 120 GFLOP/s" and alone[-1] == "unknown because peaks not measured"


def test_cuda_graphs_show_why_tensor_memory_is_missing() -> None:
    graphs = Config(device="cuda:0", compile="reduce-overhead")
    peaks = "Memory, peaks while measured"
    assert section(peaks, graphs, memory=Memory(peak_reserved_mb=900.0)) == [
        "allocated not measurable with CUDA graphs",
        "reserved 858 MiB",
    ]
    known = Memory(peak_allocated_mb=500.0, peak_reserved_mb=900.0)
    assert section(peaks, graphs, memory=known)[0] == "allocated 477 MiB"


def test_compiler_section_counts_cuda_graphs_and_skips() -> None:
    config = Config(device="cuda:0", compile="reduce-overhead")
    compiling = Compiling(graphs=2, graph_breaks=0, recompiles=0, cuda_graphs=3, cuda_graph_skips=1)
    lines = section("Compiler", config, compiling=compiling)
    assert "CUDA graphs 3 (1 skipped)" in lines
    plain = Compiling(graphs=2, graph_breaks=0, recompiles=0)
    assert not any("CUDA" in row for row in section("Compiler", config, compiling=plain))


def test_environment_shows_clocks_performance_states_and_throttling() -> None:
    around = Environment(
        affinity="0-7,16",
        memory_clock_mhz=2533.3,
        memory_clock_highest_mhz=2619.0,
        performance_states=(0, 2),
        processor_mhz=3050.4,
        processor_throttled=12,
        throttle=("sw_power_cap", "sw_thermal"),
    )
    assert section("Environment", CONFIG, environment=around) == [
        "CPU affinity 0-7,16",
        "processor throttled by heat 12",
        "throttled by sw thermal",
        "highest memory clock 2,619 MHz",
        "memory clock 2,533 MHz",
        "processor clock 3,050 MHz",
        "clock limited by sw power cap",
        "performance state P0, P2",
    ]
    unread = section("Environment", CONFIG, environment=Environment(worker_cpu=1.0))
    assert unread == ["worker CPU 100 %"]


def test_energy_shows_power_energy_source_and_memory_modules() -> None:
    energy = Energy(mean_power_w=210.0, energy_j=420.0, source="counter", dram_j=12.5)
    rows = section("Energy", CONFIG, energy=energy)
    assert [row for row in rows if not row.startswith("per sample")] == [
        "mean power 210 W",
        "energy 420 J",
        "source counter",
        "memory modules 12.5 J",
    ]
    assert section("Energy", CONFIG, energy=Energy(absent="no counter")) == ["not measured no counter"]


def test_quantity_of_the_machine_is_shown_without_further_wiring() -> None:
    rows = section("Environment", CONFIG, environment=Environment(minor_faults_per_step=12_566.0))
    assert rows == ["faults per step 12,566"]


def test_case_of_another_tool_shows_no_options_and_no_samples() -> None:
    config = Config(device="unknown", label="sleep 1")
    around = Environment(worker_cpu=0.5, user_ms=1.25, system_ms=0.5)
    case = ended(config, environment=around).cases[0]
    case.prepared = CasePrepared(t=0.0, case=0, model=Model(name="unknown"), samples_per_step=0)
    lines = ["".join(piece for piece, _ in line) for line in detail_lines(case, metrics(case), 100, UNICODE)]
    text = "\n".join(lines) + case_markdown(case, metrics(case), None, UNICODE)
    assert not re.search("precision|threads|unknown|samples each", text)
    assert "| user time of a step | 1.25 ms |" in text
    assert "| system time of a step | 0.500 ms |" in text


def test_an_interval_wider_than_the_median_has_no_number() -> None:
    case = ended(CONFIG).cases[0]
    known = replace(metrics(case), latency_ms=distribution([1.0, 1.0, 1.5, 2.0, 50.0, 60.0, 70.0]))
    lines = ["".join(piece for piece, _ in line) for line in detail_lines(case, known, 100, UNICODE)]
    assert any("0.0614 to 65.2 ms, ±>100 %: 95 % interval of p50" in line for line in lines)


def test_options_of_the_task_show_their_actual_value() -> None:
    case = CaseState(index=0, config=CONFIG)
    case.finished = CaseFinished(
        t=1.0, case=0, outcome="ok", effective=Effective(others={"optimizer": "AdamW fused"})
    )
    lines = ["".join(piece for piece, _ in line) for line in detail_lines(case, None, 100, UNICODE)]
    (shown,) = (" ".join(line.split()) for line in lines if "optimizer" in line)
    assert shown == "optimizer auto ✓ AdamW fused"
    assert "| optimizer | auto | AdamW fused | applied |" in case_markdown(case, None, None, UNICODE)


def test_marks_are_followed_by_their_remedy() -> None:
    mark = "page faults: 12,566 per step, 30% of the CPU time in the kernel"
    (case,) = ended(CONFIG, marks=(mark,)).cases
    text = case_markdown(case, None, None, UNICODE).replace("\\", "")
    assert f"| marks | {mark} |" in text
    assert "| remedy | To keep the memory with glibc, set MALLOC_MMAP_THRESHOLD_=" in text
