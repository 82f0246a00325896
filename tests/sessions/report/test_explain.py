from typing import Any

from explained import explained

from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.report import compare
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.document import report as contents
from benchtui.sessions.report.html import report_page

NAME = "cpu fp32 compile=off bs=1 seq=128"


def report(bench: Any, *events: Any, full: bool = False) -> str:
    cases = (bench.steady(1, 28.5), bench.steady(1, 16.3, precision="bf16"))
    return markdown(bench.session(*cases, more=events), full=full)


def test_full_report_has_the_operators(bench: Any, read: Any) -> None:
    document = read(report(bench, explained(0), full=True))
    row = document[f"Operators of {NAME}"].columns("operator or kernel", "calls", "rate")[0]
    assert row == ["aten::addmm", "36", "28.8 TFLOP/s"]
    assert "Operators of" not in report(bench, explained(0))


def test_missing_profile_has_its_reason(bench: Any) -> None:
    assert "No profile of cpu bf16 compile=off bs=1 seq=128: the import failed." in report(
        bench, explained(1, absent="the import failed")
    )


def test_page_has_the_section_with_sortable_values(bench: Any) -> None:
    cases = (bench.steady(1, 28.5), bench.steady(1, 16.3, precision="bf16"))
    session = bench.session(*cases, more=[explained(0), explained(1, fast=True)])
    page = "".join(report_page(contents(session, full=True), []))
    assert "Where a step&#x27;s time goes" in page or "Where a step's time goes" in page
    assert "aten::copy_" in page and 'data-value="8.0"' in page


def test_comparison_has_the_families_that_make_the_difference(bench: Any, read: Any) -> None:
    sides = [
        ComparedSession.of(name, bench.session(bench.steady(1, ms), more=[explained(0, fast=name == "after")]))
        for name, ms in (("before", 28.5), ("after", 16.3))
    ]
    block = read(compare.markdown(compare_sessions(sides)))[f"Where the difference comes from: {NAME}"]
    assert f"A step of B, {NAME} is 12.2 ms shorter than one of A, {NAME} (43%)." in block.text
    assert block.columns("family", "difference, ms")[0] == ["waiting", "-8.00"]
    plain = [ComparedSession.of("a", bench.session(bench.steady(1, 10.0)))] * 2
    assert "Where the difference" not in compare.markdown(compare_sessions(plain))
