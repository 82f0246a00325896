"""The comparison document, with the values of the reference comparison of CPU and GPU."""

import json
from functools import partial
from typing import Any

import pytest

from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Gpu, Host, Memory, Model, Reported
from benchtui.sessions.plots.render import render_comparison
from benchtui.sessions.report.compare import markdown, report, row_markdown
from benchtui.sessions.report.compare_json import as_json
from benchtui.sessions.report.document import render
from benchtui.sessions.report.html import page
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep

MODEL = "distilbert-base-uncased-finetuned-sst-2-english"
LOADED = Model(name=MODEL, hidden_size=768, hidden_layers=6, attention_heads=12, parameters=66_955_010)
SYSTEM = {"platform": "Linux-6.6.56+-x86_64-with-glibc2.35", "processor": "x86_64", "cpu_count": 4}


def compared(base: Session, new: Session) -> SessionComparison:
    return compare_sessions([ComparedSession.of("old", base), ComparedSession.of("new", new)])


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
        "A step (ms)",
        "B step (ms)",
        "A samples/s",
        "B samples/s",
        "Ratio (×)",
        "A peak RSS (MB)",
        "B peak RSS (MB)",
        "B device memory (MB)",
        "B mean power (W)",
    ]
    memory = ["1,670", "1,600", "747", "216"]
    expected = ["cpu fp32 bs=8", "cuda:0 fp32 bs=8", "450", "16.1", "17.8", "498", "27.9", *memory]
    assert section.columns(*titles) == [expected]
    assert section.columns("Verdict") == [["REPORTED: the source kept no steps"]]
    assert "Cases are paired ignoring device: A is cpu, B is cuda:0." in section.text


def test_document_decides_first_and_ends_with_its_limitations(reference: SessionComparison, read: Any) -> None:
    document = read(markdown(reference))
    assert [section for section in document.titles if section and " against " not in section] == [
        "Comparison: cpu and gpu",
        "Decision",
        "Interpretation",
        "Caveats",
        "Cases",
        "Systems",
        "What differs",
        "How to reproduce",
        "Limitations",
    ]
    setup, differing = document["Decision"].paragraphs
    assert setup == (
        "B (gpu) is 27.9 × as fast as A (cpu) in the one common case, as reported;"
        " the source kept no steps. If these figures hold, run B."
    )
    assert (
        differing
        == "B differs from A in device (cpu → cuda:0) and GPU 0 (not recorded → Tesla P100-PCIE-16GB)."
    )


def test_reference_is_interpreted_quantity_by_quantity(reference: SessionComparison, read: Any) -> None:
    latency, throughput, memory, power, advice = read(markdown(reference))["Interpretation"].paragraphs
    assert latency == (
        "Latency: B's typical step is 27.9 × as fast as A's (no interval), at batch size 8: 450 ms in A,"
        " 16.1 ms in B."
    )
    assert throughput.startswith(
        "Throughput: B's throughput is 27.9 × that of A (no interval), at batch size 8: 17.8"
    )
    assert memory == (
        "Memory: Peak memory at batch size 8: 1.67 GB in A (resident memory of the worker), 747 MB in B"
        " (memory of the GPU); the two kinds aren't comparable."
    )
    assert power == "Power: 216 W (0.434 J/sample) in B at batch size 8; A has no power reading."
    assert advice.startswith("Recommendation: For throughput, run B with cuda:0 fp32 bs=8 (not established).")
    assert "average" not in latency + throughput, "there is no average of one case"


def test_systems_stand_side_by_side_and_differences_in_a_table(reference: SessionComparison, read: Any) -> None:
    document = read(markdown(reference))
    assert ["machine", "GPU 0", "–", "Tesla P100-PCIE-16GB"] in document["What differs"].tables[0]
    rows = document["Systems"].tables[0]
    assert rows[0] == ["", "A: cpu", "B: gpu"]
    for fact in (["Model", MODEL, MODEL], ["CPU count", "4", "4"], ["PyTorch", "2.5.1+cu124", "2.5.1+cu124"]):
        assert fact in rows
    assert ["GPU 0", "–", "Tesla P100-PCIE-16GB"] in rows


def test_mixed_comparison_names_both_extremes_and_what_is_not_settled(bench: Any, read: Any) -> None:
    base = bench.session(bench.case(1, 10.0), bench.case(2, 20.0), bench.case(4, 40.0), bench.case(8, 80.0))
    new = bench.session(
        bench.case(1, 5.0), bench.case(2, 40.0), bench.case(4, 40.0), bench.case(8, outcome="oom")
    )
    document = read(markdown(compared(base, new)))
    setup, differing, unsettled = document["Decision"].paragraphs
    assert setup == (
        "It depends on the case: B (new) is faster than A (old) in 1 of 3 common cases, most at cpu fp32 bs=1:"
        " 2.00 × (1.87 to 2.13); it is slower in 1, most at cpu fp32 bs=2: 0.500 × (0.469 to 0.533)."
    )
    assert differing == "B and A don't differ in anything that they record."
    assert unsettled.startswith("One case is unsure, cpu fp32 bs=4: 1.000 ×, but the interval")
    assert document["What differs"].text == "Same machine, same software, same workload, same settings."
    assert document["B (new) against A (old)"].paragraphs[0] == (
        "3 cases compared, 1 FASTER, 1 SLOWER and 1 UNSURE. 1 case measured in A and not in B."
        " All cases together (geometric mean of 3): 1.000 × (0.937 to 1.067),"
        " unsure: can't resolve below 9.7 %."
    )
    assert "Not in both: 1 case ok in A, out of memory in B: cpu fp32 bs=8." in document["Caveats"].text


@pytest.mark.parametrize(
    ("old_ms", "new_ms", "said"),
    [
        (
            (10.0, 20.0),
            (5.0, 10.0),
            "Run B (new): it is 2.00 × as fast as A (old) in both common cases (FASTER).",
        ),
        ((10.0, 20.0), (20.0, 40.0), "Keep A (old): B (new) is 0.500 × as fast in both common cases (SLOWER)."),
        (
            (10.0, 20.0),
            (10.0, 20.0),
            "Run either: B (new) is 1.000 × as fast as A (old) in both common cases,"
            " which is the same within 2 %.",
        ),
    ],
)
def test_verdicts_that_agree_decide(
    bench: Any, read: Any, old_ms: tuple[float, ...], new_ms: tuple[float, ...], said: str
) -> None:
    base, new = (
        bench.session(*(bench.steady(size, ms) for size, ms in zip((1, 2), times, strict=True)))
        for times in (old_ms, new_ms)
    )
    assert read(markdown(compared(base, new)))["Decision"].paragraphs[0] == said


def test_unsure_cases_decide_nothing(bench: Any, read: Any) -> None:
    base = bench.session(bench.steady(1, 10.0), bench.case(2, 20.0))
    new = bench.session(bench.steady(1, 10.0), bench.case(2, 20.3))
    first = read(markdown(compared(base, new)))["Decision"].paragraphs[0]
    assert first.startswith("No difference is established: B (new) is 0.985 to 1.000 × as fast as A (old)")
    assert first.endswith(" in both common cases, SAME in 1 and UNSURE in 1.")
    assert "run A or B with cpu fp32 bs=1" in read(markdown(compared(base, new)))["Interpretation"].text


def test_steps_without_a_time_have_no_ratio(bench: Any, read: Any) -> None:
    made = bench.session(bench.case(1, [0.0] * 10))
    document = read(markdown(compared(made, made)))
    assert document["Decision"].paragraphs[0] == (
        "B (new) can't be compared with A (old): no case has a time in both."
    )
    assert document["B (new) against A (old)"].columns("Verdict") == [["UNSURE: no time"]]


def test_average_is_the_geometric_mean_and_names_its_extremes(bench: Any, read: Any) -> None:
    base = bench.session(bench.steady(1, 10.0), bench.steady(2, 20.0))
    new = bench.session(bench.steady(1, 5.0), bench.steady(2, 2.5))
    text = read(markdown(compared(base, new)))["Interpretation"].text
    assert (
        "Throughput: On average over 2 cases (geometric mean), B's throughput is 4.00 × that of A:"
        " at most 8.00 × at batch size 2 (100 samples/s in A, 800 samples/s in B),"
        " at least 2.00 × at batch size 1."
    ) in text


def test_equal_ratios_are_given_once_with_an_example(bench: Any, read: Any) -> None:
    base, new = (bench.session(bench.steady(1, ms), bench.steady(2, ms)) for ms in (10.0, 5.0))
    latency, throughput, *_ = read(markdown(compared(base, new)))["Interpretation"].paragraphs
    assert latency == (
        "Latency: B's typical step is 2.00 × as fast as A's in both common cases,"
        " such as 10.0 ms in A, 5.00 ms in B at batch size 2."
    )
    assert throughput.endswith(
        "in both common cases, such as 200 samples/s in A, 400 samples/s in B at batch size 2."
    )


def test_needs_name_the_better_session_and_the_next(bench: Any, read: Any) -> None:
    base = bench.session(bench.steady(1, 10.0), bench.steady(2, 12.0))
    new = bench.session(bench.steady(1, 20.0), bench.steady(2, 8.0))
    document = read(markdown(compared(base, new)))
    throughput, latency = (document.need(title) for title in ("Maximum throughput", "Minimum latency"))
    assert throughput["Run"] == "B: cpu fp32 bs=2"
    assert throughput["Next best session"] == "A: cpu fp32 bs=2, 167 samples/s"
    assert (
        throughput["Ahead by (95% interval)"].startswith("1.50 × (")
        and "faster" in throughput["Ahead by (95% interval)"]
    )
    assert throughput["Confidence"] == "clearly ahead of the next"
    assert (latency["Run"], latency["Next best session"]) == (
        "B: cpu fp32 bs=2",
        "A: cpu fp32 bs=1, median over rounds 10.0 ms",
    )


def test_memory_of_the_same_kind_is_a_ratio(bench: Any, read: Any) -> None:
    def session(mb: float) -> Any:
        return bench.session(bench.steady(1, 10.0, end={"memory": Memory(peak_rss_mb=mb)}))

    document = read(markdown(compared(session(500.0), session(600.0))))
    assert "Memory: B's peak memory at batch size 1 is 1.20 × A's: 500 MB in A, 600 MB in B." in document.text
    assert document.need("Most throughput per MB of memory")["Run"].startswith("A: ")


def test_several_sessions_are_compared_with_the_first(bench: Any, read: Any) -> None:
    sides = [
        ComparedSession.of(name, bench.session(bench.steady(1, ms)))
        for name, ms in (("a", 10.0), ("b", 5.0), ("c", 20.0), ("d", 10.0), ("e", 10.0))
    ]
    document = read(markdown(compare_sessions(sides)))
    first, second, rest = document["Decision"].paragraphs
    assert first.startswith("Run B (b): ") and second.startswith("Keep A (a): C (c) is 0.500 ×")
    assert rest == "2 more sessions follow below."
    assert document.need("Maximum throughput")["Run"] == "B: cpu fp32 bs=1"
    assert [title for title in document.titles if " against " in title][-1] == "E (e) against A (a)"
    assert (
        "Same session: A, B, C, D and E are the same record, compared with itself." in document["Caveats"].text
    )


def test_equal_columns_follow_the_table(bench: Any, read: Any) -> None:
    base, new = (bench.session(bench.case(1, ms), bench.case(2, 3 * ms)) for ms in (10.0, 5.0))
    section = read(markdown(compared(base, new)))["B (new) against A (old)"]
    assert "All rows: A n = 30, B n = 30." in section.text
    assert "A n" not in section.tables[0][0]


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
    assert (
        document["Decision"].paragraphs[0]
        == "B (b) can't be compared with A (a): no case was measured in both."
    )
    assert document["B (b) against A (a)"].text == "No case was measured in both."
    for only in ("Only in A: 1 case: cpu fp32 bs=1.", "Only in B: 1 case: cpu fp32 bs=2."):
        assert only in document["Caveats"].text


def test_session_text_is_escaped_in_a_comparison(bench: Any, read: Any) -> None:
    evil = "<script>|`[x](http://a)\x1b[2J"
    base = bench.session(bench.case(1, 10.0), host=Host(hostname=evil), sweep=Sweep(name=evil, model=evil))
    new = bench.session(bench.case(1, 10.0, marks=(evil,)))
    text = markdown(compare_sessions([ComparedSession.of(evil, base), ComparedSession.of("b", new)]))
    assert "\x1b" not in text
    assert not read(text).kinds & {"html_block", "html_inline", "link_open", "code_inline"}
    sides = compare_sessions([ComparedSession.of(evil, base), ComparedSession.of("b", new)])
    plots, skipped = render_comparison(sides)
    shown = "".join(page(partial(render, report(sides)), plots, skipped))
    assert "<script>|" not in shown and "\x1b" not in shown


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
    assert against["counts"] == {"FASTER": 1, "SLOWER": 0, "SAME": 0, "UNSURE": 0, "REPORTED": 0}
    assert against["lost"] == 1
    first, second, third = against["rows"]
    assert (first["verdict"], first["ratio"]["value"]) == ("FASTER", pytest.approx(2.0))
    assert first["new"]["latency_p50_ms"] == pytest.approx(5.0)
    assert (second["verdict"], second["ratio"], second["new"]["outcome"]) == (None, None, "failed")
    assert third["new"] is None
    assert found["differences"] == []
