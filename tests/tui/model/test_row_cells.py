from typing import Any

from benchtui.sessions.events import Answered
from benchtui.sessions.payloads import AnswerComparison, Effective
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.model.row_cells import answer_span, note, ratio_cell, state_text


def test_every_verdict_has_a_sign_besides_its_color() -> None:
    cells = [
        ratio_cell(value, verdict, UNICODE)
        for value, verdict in zip((2.0, 0.5, 1.0, 2.0, 2.0), Verdict, strict=True)
    ]
    assert cells == [
        ("2.00x", "good"),
        ("0.500x", "bad"),
        ("≈1.000x", "plain"),
        ("2.00x?", "muted"),
        ("2.00x*", "bright"),
    ]
    assert ratio_cell(1.0, Verdict.SAME, ASCII)[0] == "~1.000x"


def test_row_of_a_settled_case_says_why_it_is_not_measured_further(story: Any) -> None:
    story.begin(batch_sizes=(1, 2), auto=True).round(0).round(1, 21.0)
    story.plan_rounds(0, settled={1: "2.1x slower, sure"})
    fast, slow = Session.load(story.path).cases
    assert note(slow) == "not measured further: 2.1x slower, sure" and note(fast) == ""
    assert state_text(slow, Session.load(story.path).start.sweep.measure, UNICODE).endswith(" 20 steps")


def test_answer_has_a_sign_besides_its_color(story: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4)).case(0, 10.0).case(1, 10.0)
    session = Session.load(story.path)
    assert answer_span(session.cases[1], False, UNICODE) == ("–", "muted")
    assert answer_span(session.cases[2], False, UNICODE) == ("", "muted")
    broken = AnswerComparison(case=1, baseline=0, verdict="broken")
    session.apply(Answered(t=99.0, case=0, comparisons=(broken,)))
    made = CaseRows(session, UNICODE)
    made.refresh(session.cases[:2])
    assert [made.row(case).cells["answer"] for case in (0, 1)] == [("base", "muted"), ("✗ BROKEN", "bad")]
    assert answer_span(session.cases[1], False, ASCII) == ("x BROKEN", "bad")
    assert "answer" not in made.empty_columns


def test_acceptance_of_a_draft_is_a_column_only_where_there_is_one(story: Any) -> None:
    story.begin(batch_sizes=(1, 2)).case(0).case(1, effective=Effective(draft_acceptance=0.625))
    session = Session.load(story.path)
    made = CaseRows(session, UNICODE)
    made.refresh(session.cases[:1])
    assert "accepted" in made.empty_columns
    made.refresh(session.cases[1:])
    assert "accepted" not in made.empty_columns
    assert [made.row(case).cells["accepted"][0] for case in (0, 1)] == ["–", "62.5"]


def test_row_follows_a_baseline_that_answers_late(story: Any) -> None:
    story.begin(batch_sizes=(1, 2)).case(0, 10.0).case(1, 10.0)
    session = Session.load(story.path)
    made = CaseRows(session, UNICODE)
    made.refresh(session.cases)
    assert made.row(1).cells["answer"] == ("–", "muted")
    assert "answer" in made.empty_columns
    close = AnswerComparison(case=1, baseline=0, verdict="close", kl_mean=4e-4)
    session.apply(Answered(t=99.0, case=0, comparisons=(close,)))
    assert made.row(1).cells["answer"] == ("≈ CLOSE 0.0004", "plain")
