"""The comparison document, with the values of the reference comparison of CPU and GPU."""

import json
from typing import Any

import pytest

from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Gpu, Host, Memory, Model, Reported
from benchtui.sessions.report.compare import markdown, row_markdown
from benchtui.sessions.report.compare_json import as_json
from benchtui.sessions.sweep import Sweep

MODEL = "distilbert-base-uncased-finetuned-sst-2-english"
LOADED = Model(name=MODEL, hidden_size=768, hidden_layers=6, attention_heads=12, parameters=66_955_010)
SYSTEM = {"platform": "Linux-6.6.56+-x86_64-with-glibc2.35", "processor": "x86_64", "cpu_count": 4}


def reported(bench: Any, device: str, memory: Memory, host: Host, **figures: float) -> Any:
    end = {"memory": memory, "reported": Reported(steps=20, **figures)}
    case = bench.case(8, device=device, end=end)
    more = (Runtime(t=0.0, torch="2.5.1+cu124"),)
    return bench.session(case, host=host, sweep=Sweep(name="sst2", model=MODEL), more=more)


@pytest.fixture
def reference(bench: Any) -> SessionComparison:
    """The reference's CPU and GPU sessions; the GPU's latency lies within its rounding."""
    cpu = reported(
        bench,
        "cpu",
        Memory(peak_rss_mb=1671.68),
        Host(**SYSTEM, python="3.11.11"),
        latency_mean_ms=449.57,
        samples_per_s=17.83,
    )
    gpu = reported(
        bench,
        "cuda:0",
        Memory(peak_rss_mb=1599.68, peak_allocated_mb=746.88),
        Host(**SYSTEM, python="3.11.11", gpus=(Gpu(index=0, name="Tesla P100-PCIE-16GB"),)),
        latency_mean_ms=16.0964,
        samples_per_s=497.94,
        mean_power_w=216.24,
    )
    return compare_sessions([ComparedSession.of("cpu", cpu), ComparedSession.of("gpu", gpu)])


def test_reference_comparison_renders_as_expected(reference: SessionComparison, read: Any) -> None:
    section = read(markdown(reference))["B (gpu) against A (cpu)"]
    titles = [
        "Case",
        "Case of B",
        "A latency (ms)",
        "B latency (ms)",
        "Ratio (×)",
        "A samples/s",
        "B samples/s",
        "Throughput ratio (×)",
        "A peak RSS (MB)",
        "B peak RSS (MB)",
        "B device memory (MB)",
        "B mean power (W)",
    ]
    memory = ["1,670", "1,600", "747", "216"]
    expected = [
        "cpu fp32 bs=8",
        "cuda:0 fp32 bs=8",
        "450",
        "16.1",
        "27.9",
        "17.8",
        "498",
        "27.9",
        *memory,
    ]
    assert section.columns(*titles) == [expected]
    assert section.columns("Verdict") == [["UNSURE: no interval"]]
    assert "Cases are paired ignoring device: A is cpu, B is cuda:0." in section.text


def test_comparison_lists_differences_first_then_both_systems(reference: SessionComparison, read: Any) -> None:
    document = read(markdown(reference))
    assert document.titles.index("What differs") < document.titles.index("Systems")
    rows = document["What differs"].tables[0]
    assert ["machine", "GPU 0", "–", "Tesla P100-PCIE-16GB"] in rows
    for title in ("A: cpu (base)", "B: gpu"):
        facts = set(document[title].paragraphs)
        assert {f"Model: {MODEL}", "Processor: x86_64", "CPU count: 4", "PyTorch: 2.5.1+cu124"} <= facts
    assert "GPU 0: Tesla P100-PCIE-16GB" in document["B: gpu"].paragraphs


def test_comparison_summary_counts_verdicts_and_names_the_extremes(bench: Any, read: Any) -> None:
    base = bench.session(bench.case(1, 10.0), bench.case(2, 20.0), bench.case(4, 40.0), bench.case(8, 80.0))
    new = bench.session(
        bench.case(1, 5.0), bench.case(2, 40.0), bench.case(4, 40.0), bench.case(8, outcome="oom")
    )
    document = read(
        markdown(compare_sessions([ComparedSession.of("old", base), ComparedSession.of("new", new)]))
    )
    first, gain, loss, unsure, lost = document["Summary"].paragraphs
    assert first == "B (new) against A (old): 3 cases compared, 1 FASTER, 1 SLOWER and 1 UNSURE."
    assert gain.startswith("Largest gain: 2.00 × (1.87 to 2.14), cpu fp32 bs=1")
    assert loss.startswith("Largest loss: 0.50 × (0.47 to 0.53), cpu fp32 bs=2")
    assert unsure.startswith("Of the unsure ones cpu fp32 bs=4 differs most: 1.000 ×, but the interval")
    assert lost == "1 case measured in A and not in B."
    assert document["What differs"].text == "Same machine, same software, same work, same settings."
    assert "cpu fp32 bs=8: ok in A, out of memory in B" in document["B (new) against A (old)"].paragraphs


def test_marks_of_only_one_session_are_shown(bench: Any, read: Any) -> None:
    base = bench.session(bench.case(1, 10.0, marks=("random weights",)))
    new = bench.session(bench.case(1, 10.0, marks=("random weights", "throttled: hw_thermal")))
    section = read(markdown(compare_sessions([ComparedSession.of("a", base), ComparedSession.of("b", new)])))[
        "B (b) against A (a)"
    ]
    assert section.columns("Notes") == [["B: throttled"]]


def test_comparison_renders_without_a_common_case(bench: Any, read: Any) -> None:
    sides = [
        ComparedSession.of(name, bench.session(bench.case(size, 10.0))) for name, size in (("a", 1), ("b", 2))
    ]
    document = read(markdown(compare_sessions(sides)))
    assert document["Summary"].text == "B (b) against A (a): no case was measured in both."
    assert {"only in A: cpu fp32 bs=1", "only in B: cpu fp32 bs=2"} <= set(
        document["B (b) against A (a)"].paragraphs
    )


def test_session_text_is_escaped_in_a_comparison(bench: Any, read: Any) -> None:
    evil = "<script>|`[x](http://a)\x1b[2J"
    base = bench.session(bench.case(1, 10.0), host=Host(hostname=evil), sweep=Sweep(name=evil, model=evil))
    new = bench.session(bench.case(1, 10.0, marks=(evil,)))
    text = markdown(compare_sessions([ComparedSession.of(evil, base), ComparedSession.of("b", new)]))
    assert "\x1b" not in text
    assert not read(text).kinds & {"html_block", "html_inline", "link_open", "code_inline"}


def test_row_markdown_renders_a_single_case(reference: SessionComparison, read: Any) -> None:
    against = reference.against[0]
    table = read(row_markdown(against, against.rows[0])).sections[0]
    assert table.columns("Case", "Ratio (×)") == [["cpu fp32 bs=8", "27.9"]]


def test_json_matches_the_comparison_document(bench: Any) -> None:
    base = bench.session(bench.case(1, 10.0), bench.case(2, 20.0), bench.case(16, 1.0))
    new = bench.session(bench.case(1, 5.0), bench.case(2, outcome="failed"))
    found = json.loads(
        as_json(compare_sessions([ComparedSession.of("old", base), ComparedSession.of("new", new)]))
    )
    assert [session["letter"] for session in found["sessions"]] == ["A", "B"]
    (against,) = found["against"]
    assert against["counts"] == {"FASTER": 1, "SLOWER": 0, "SAME": 0, "UNSURE": 0}
    assert against["lost"] == 1
    first, second, third = against["rows"]
    assert (first["verdict"], first["ratio"]["value"]) == ("FASTER", pytest.approx(2.0))
    assert first["new"]["latency_p50_ms"] == pytest.approx(5.0)
    assert (second["verdict"], second["ratio"], second["new"]["outcome"]) == (None, None, "failed")
    assert third["new"] is None
    assert found["differences"] == []
