"""The comparison document: what it decides, sums up and leaves open."""

from pathlib import Path
from typing import Any

import pytest
from journals import import_results

from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.payloads import Host, Memory
from benchtui.sessions.plots.render import render_comparison
from benchtui.sessions.report.compare import markdown, report, row_markdown
from benchtui.sessions.report.html import page
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Sweep

FIXTURES = Path(__file__).parents[2] / "fixtures"


def compared(base: Session, new: Session) -> SessionComparison:
    return compare_sessions([ComparedSession.of("old", base), ComparedSession.of("new", new)])


def test_mixed_comparison_is_summed_up_with_its_verdicts(bench: Any, read: Any) -> None:
    base = bench.session(bench.case(1, 10.0), bench.case(2, 20.0), bench.case(4, 40.0), bench.case(8, 80.0))
    new = bench.session(
        bench.case(1, 5.0), bench.case(2, 42.0), bench.case(4, 40.0), bench.case(8, outcome="oom")
    )
    document = read(markdown(compared(base, new)))
    summary, next_step = document["Decision"].paragraphs
    assert summary.startswith("It depends on the case: B (new) is 0.984 × as fast as A (old) over 3 cases (")
    assert summary.endswith("; 1 FASTER, 1 SLOWER and 1 UNSURE.")
    assert next_step == (
        "1 case open: too wide (cpu fp32 compile=off bs=4 seq=128);"
        " to decide, measure the sessions again with 5 rounds."
    )
    assert document["What differs"].text == "Same machine, same software, same workload, same settings."
    section = document["B (new) against A (old)"]
    sizes = [name.split("=")[2].removesuffix(" seq") for (name,) in section.columns("Case")]
    assert sizes == ["2", "1", "4"], "the largest change first"
    assert (
        "Not in both: 1 case ok in A, out of memory in B: cpu fp32 compile=off bs=8 seq=128."
        in document["Caveats"].text
    )


def test_both_ends_of_a_range_of_memory_have_one_unit(bench: Any, read: Any) -> None:
    peaks = {1: 983.0, 2: 1310.0}
    cases = [bench.case(size, 10.0, end={"memory": Memory(peak_rss_mb=mb)}) for size, mb in peaks.items()]
    quantities = read(markdown(compared(bench.session(*cases), bench.session(*cases))))["Interpretation"]
    assert ["Peak memory", "0.915 GiB to 1.22 GiB"] in quantities.columns("Quantity", "A")


@pytest.mark.parametrize(
    ("new_ms", "said"),
    [
        ((5.0, 10.0), ("Run B: B (new) is 2.00 ×", "FASTER.")),
        ((20.0, 40.0), ("Keep A: B (new) is 0.500 ×", "SLOWER.")),
        ((10.0, 20.0), ("Run either: B (new) is 1.000 ×", "SAME.")),
    ],
)
def test_the_sum_of_all_cases_decides(
    bench: Any, read: Any, new_ms: tuple[float, ...], said: tuple[str, str]
) -> None:
    base, new = (
        bench.session(*(bench.steady(size, ms) for size, ms in zip((1, 2), times, strict=True)))
        for times in ((10.0, 20.0), new_ms)
    )
    first = read(markdown(compared(base, new)))["Decision"].paragraphs[0]
    assert first.startswith(f"{said[0]} as fast as A (old) over 2 cases (")
    assert first.endswith(f"), {said[1]}")


def test_sum_that_cannot_tell_does_not_hide_cases_that_are_the_same(bench: Any, read: Any) -> None:
    times = (10.0, 20.0, 40.0, 80.0, 160.0)
    base, new = (
        bench.session(*(bench.steady(2**place, ms) for place, ms in enumerate((*times[:4], last))))
        for last in (times[4], 120.0)
    )
    (only,) = read(markdown(compared(base, new)))["Decision"].paragraphs
    assert only.startswith("Decided in part: B (new) is 1.059 × as fast as A (old) over 5 cases (")
    assert only.endswith("; 1 FASTER and 4 SAME.")


def test_disturbed_cases_are_to_be_measured_on_an_idle_machine(read: Any) -> None:
    session = Session.load(FIXTURES / "recorded/classify.json", metrics)
    said = read(markdown(compared(session, session)))["Decision"].paragraphs[1]
    names = [f"cpu fp32 compile=off threads=1 bs={size} seq=32" for size in (1, 4)]
    assert f"load or clock may explain it ({' and '.join(names)})" in said
    assert said.endswith("to decide, measure the sessions again on an idle machine.")


def test_steps_without_a_time_have_no_ratio(bench: Any, read: Any) -> None:
    made = bench.session(bench.case(1, [0.0] * 10))
    document = read(markdown(compared(made, made)))
    assert document["Decision"].paragraphs[0] == (
        "B (new) can't be compared with A (old): no case has a time in both."
    )
    assert document["B (new) against A (old)"].columns("Verdict") == [["UNSURE: no time"]]


def test_several_sessions_are_compared_with_the_first(bench: Any, read: Any) -> None:
    sides = [
        ComparedSession.of(name, bench.session(bench.steady(1, ms)))
        for name, ms in (("a", 10.0), ("b", 5.0), ("c", 20.0), ("d", 10.0), ("e", 10.0))
    ]
    document = read(markdown(compare_sessions(sides)))
    first, second, _, rest = document["Decision"].paragraphs
    assert first.startswith("Run B: B (b) is 2.00 ×") and second.startswith("Keep A: C (c) is 0.500 ×")
    assert rest == "1 more session below."
    best = document.need("Maximum throughput", "Best session for each need")
    assert best["Run"].startswith("B: cpu fp32 compile=off bs=1 seq=128, ")
    assert [title for title in document.titles if " against " in title][-1] == "E (e) against A (a)"
    assert (
        "Same session: A, B, C, D and E are the same record, compared with itself." in document["Caveats"].text
    )


def test_nothing_is_decided_over_unknown_work(tmp_path: Path, read: Any) -> None:
    sides = []
    for name in ("hyperfine.json", "optimum-benchmark.json", "batch-sweep-runner.jsonl"):
        sides.append(ComparedSession.of(name, import_results(FIXTURES / name, tmp_path / name, metrics)))
    document = read(markdown(compare_sessions(sides)))
    assert all("can't be compared" in said for said in document["Decision"].paragraphs)
    assert "Best session for each need" not in document.titles
    assert "128 tokens" not in markdown(compare_sessions(sides))


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
    for only in (
        "Only in A: 1 case: cpu fp32 compile=off bs=1 seq=128.",
        "Only in B: 1 case: cpu fp32 compile=off bs=2 seq=128.",
    ):
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
    shown = "".join(page(report(sides), plots, skipped))
    assert "<script>|" not in shown and "\x1b" not in shown


def test_row_markdown_renders_a_single_case(bench: Any, read: Any) -> None:
    made = bench.session(bench.case(1, 10.0))
    (against,) = compared(made, made).against
    table = read(row_markdown(against, against.rows[0])).sections[0]
    assert table.columns("Case", "Ratio (×)") == [["cpu fp32 compile=off bs=1 seq=128", "1.000"]]
