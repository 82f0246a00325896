from pathlib import Path
from typing import Any

import pytest

import benchtui
from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.tui.api.comparison import Comparison

FIXTURE = Path(__file__).parents[2] / "fixtures" / "quick-cpu.json"


@pytest.fixture
def compared(bench: Any) -> Comparison:
    base = bench.session(bench.steady(1, 4.0), bench.steady(8, 20.0), bench.steady(16, 30.0))
    new = bench.session(bench.steady(1, 2.0), bench.steady(8, 20.0), bench.case(32, outcome="oom"))
    return Comparison(compare_sessions([ComparedSession.of("<a>", base), ComparedSession.of("b", new)]))


def test_each_case_has_its_ratio_and_verdict(compared: Comparison) -> None:
    cases = compared.cases()
    assert cases.index.name == "name"
    assert cases["verdict"].tolist()[:2] == ["FASTER", "SAME"]
    assert cases["ratio"].tolist()[:2] == pytest.approx([2.0, 1.0], rel=0.01)
    assert cases["base_ms"].tolist()[:2] == pytest.approx([4.0, 20.0], rel=0.01)
    assert (cases["ratio_low"] <= cases["ratio"]).tolist()[:2] == [True, True]
    assert cases["base_outcome"].fillna("").tolist() == ["ok", "ok", "ok", ""]
    assert cases["new_outcome"].fillna("").tolist() == ["ok", "ok", "", "oom"]
    assert cases["verdict"].isna().tolist() == [False, False, True, True]


def test_text_and_html_show_the_verdicts_escaped(compared: Comparison) -> None:
    assert repr(compared).startswith(
        "<benchtui.Comparison Run B: B (b) is 1.41 × as fast as A (<a>) over 2 cases ("
    )
    html = compared._repr_html_()
    assert "&lt;a&gt;" in html and "<a>" not in html
    assert html.count("<tr") == 3


def test_simulated_session_marks_the_comparison() -> None:
    demo = benchtui.load("demo")
    with pytest.raises(benchtui.BenchtuiError, match="no case was measured in both"):
        benchtui.compare(FIXTURE, demo)


def test_session_is_not_compared_with_itself() -> None:
    with pytest.raises(benchtui.BenchtuiError, match="can't be compared with itself"):
        benchtui.compare("demo-cpu", benchtui.load("demo-cpu"))
