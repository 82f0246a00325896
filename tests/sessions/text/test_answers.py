from typing import Any

import pytest

from benchtui.sessions.events import Answered
from benchtui.sessions.payloads import AnswerComparison, Model
from benchtui.sessions.text.answers import (
    answer_cell,
    answer_facts,
    answer_note,
    distance,
    meaningful_comparison,
)


def compared(**figures: Any) -> AnswerComparison:
    return AnswerComparison(case=1, baseline=0, **figures)


@pytest.mark.parametrize(
    ("figures", "cell", "twin"),
    [
        ({"verdict": "identical", "kl_mean": 0.0}, "= IDENTICAL", "= IDENTICAL"),
        ({"verdict": "close", "kl_mean": 0.000412}, "≈ CLOSE 0.0004", "~ CLOSE 0.0004"),
        ({"verdict": "different", "equal_tokens": 0.25}, "≠ DIFFERENT 25% equal", "! DIFFERENT 25% equal"),
        ({"verdict": "different", "loss_difference": 0.034}, "≠ DIFFERENT 3.40% off", "! DIFFERENT 3.40% off"),
        ({"verdict": "close", "sqnr_db": 41.2}, "≈ CLOSE 41 dB", "~ CLOSE 41 dB"),
        ({"verdict": "broken"}, "✗ BROKEN", "x BROKEN"),
        ({"absent": "other shape"}, None, None),
    ],
)
def test_cell_has_a_sign_besides_its_word(figures: Any, cell: str | None, twin: str | None) -> None:
    assert answer_cell(compared(**figures)) == cell
    assert answer_cell(compared(**figures), ascii_only=True) == twin
    assert twin is None or twin.isascii()


def noted(bench: Any, weights: str = "pretrained", **figures: Any) -> str | None:
    model = Model(name="tiny", weights=weights)
    cases = [bench.case(size, 10.0, model=model) for size in (1, 2)]
    session = bench.session(*cases, more=[bench.answered(0), bench.answered(1, **figures)])
    return answer_note(session.cases[1])


def test_note_names_the_unit(bench: Any) -> None:
    assert noted(bench, verdict="different", kl_mean=0.03) == "answers DIFFERENT (mean KL 0.03 nats)"
    assert noted(bench, verdict="close", equal_tokens=1.0) == "answers CLOSE (100% equal)"
    assert noted(bench, absent="why") is None


def test_comparisons_sort_by_verdict_then_by_figure() -> None:
    ordered = [
        compared(verdict="identical", kl_mean=0.0),
        compared(verdict="close", kl_mean=1e-4),
        compared(verdict="close", kl_mean=1e-2),
        compared(verdict="different", equal_tokens=0.5),
        compared(verdict="different", equal_tokens=0.0),
        compared(verdict="broken"),
    ]
    places = [distance(each) for each in ordered]
    assert None not in places and places == sorted(places, key=lambda place: place or 0.0)
    assert distance(compared(absent="why")) is None


def test_facts_of_a_case_name_random_weights_and_reasons(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0),
        bench.case(2, 10.0),
        bench.case(4, 10.0),
        more=[
            bench.answered(0),
            bench.answered(1, verdict="close", kl_mean=1e-4, kl_p99=2e-4, top1_agreement=0.99, sqnr_db=40.0),
            bench.answered(2, absent="the step has no method answer()"),
        ],
    )
    assert answer_facts(session.cases[0]) == [("output", "logits at 128 positions"), ("digest", "a")]
    assert answer_facts(session.cases[1])[:5] == [
        ("verdict", "CLOSE"),
        ("compared with", "case 1"),
        ("KL divergence", "mean 0.0001, p99 0.0002 nats"),
        ("same top token", "99.0 %"),
        ("SQNR", "40.0 dB"),
    ]
    assert answer_facts(session.cases[2]) == [("not compared", "the step has no method answer()")]


@pytest.mark.parametrize("value", [-1.0, -1e18, 1e18])
@pytest.mark.parametrize("name", ["kl_mean", "sqnr_db", "equal_tokens", "loss_difference"])
def test_figures_of_an_untrusted_file_are_formatted(name: str, value: float) -> None:
    found = compared(verdict="close", **{name: value})
    assert answer_cell(found)
    assert 1 <= (distance(found) or 0.0) <= 2


def test_random_weights_have_no_divergence_and_no_largest_difference(bench: Any) -> None:
    model = Model(name="tiny", weights="random")
    figures = {"verdict": "close", "kl_mean": 1e-4, "kl_p99": 2e-4, "largest_difference": 2.25, "sqnr_db": 40.0}
    cases = [bench.case(size, 10.0, model=model) for size in (1, 2)]
    case = bench.session(*cases, more=[bench.answered(0), bench.answered(1, **figures)]).cases[1]
    labels = [label for label, _ in answer_facts(case)]
    assert labels == ["verdict", "compared with", "SQNR", "output", "digest", "weights"]
    assert answer_cell(meaningful_comparison(case)) == "≈ CLOSE 40 dB"


def test_facts_name_the_case_that_answered(bench: Any) -> None:
    compared = AnswerComparison(case=1, baseline=0, verdict="close", kl_mean=1e-3)
    shared = Answered(t=1.0, case=1, shared_with=2, comparisons=(compared,))
    session = bench.session(bench.case(1, 10.0), bench.case(2, 10.0), bench.case(4, 10.0), more=[shared])
    assert dict(answer_facts(session.cases[1]))["shared with"] == "case 3, which differs only in size"
    assert "shared with" not in dict(answer_facts(session.cases[0]))
