from typing import Any

import pytest

from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.model.case_rows import CaseRows


def case_rows(story: Any) -> CaseRows:
    session = Session.load(story.path)
    made = CaseRows(session, UNICODE)
    made.refresh(case for case in session.cases if case.finished)
    return made


def stars(made: CaseRows, count: int = 3) -> list[bool]:
    return [made.row(index).lead[0] == UNICODE.best for index in range(count)]


def test_the_star_stands_on_the_clearly_best_row(story: Any) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 10.0, rounds=3).case(2, 10.0, rounds=3).end()
    assert stars(case_rows(story)) == [False, False, True]


@pytest.mark.parametrize("mark", ["disturbed: other processes used 60% CPU", "throttled: hw thermal"])
def test_a_doubtful_row_has_no_star(story: Any, mark: str) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 10.0, rounds=3).case(
        2, 10.0, 20, mark, rounds=3
    ).end()
    assert stars(case_rows(story)) == [False, False, False]


def test_an_undecided_lead_has_no_star(story: Any) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 20.0, rounds=3).case(2, 40.0, rounds=3).end()
    assert stars(case_rows(story)) == [False, False, False]


def test_a_single_case_has_no_star(story: Any) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).end()
    assert stars(case_rows(story)) == [False, False, False]


def test_a_best_case_that_ends_later_takes_the_star(story: Any) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 10.0, rounds=3)
    assert stars(case_rows(story)) == [False, True, False]
    story.case(2, 10.0, rounds=3)
    assert stars(case_rows(story)) == [False, False, True]


def test_the_best_throughput_fills_its_bar(story: Any) -> None:
    story.begin().case(0, 10.0).case(1, 10.0).case(2, 10.0).end()
    made = case_rows(story)
    drawn = ["".join(text for text, _ in made.row(index).graph("samples", 10)) for index in range(3)]
    assert drawn == ["▕██······▏", "▕████····▏", "▕████████▏"]


def test_the_span_of_ratio_bars_reaches_the_farthest_case(story: Any) -> None:
    story.begin().case(0, 10.0).case(1, 10.0).case(2, 10.0).end()
    assert case_rows(story).best.span == pytest.approx(4.0)


def test_pending_rows_have_no_bars(story: Any) -> None:
    story.begin().case(0, 10.0)
    made = case_rows(story)
    assert made.row(1).graph("samples", 9) == made.row(1).graph("base", 9) == ()


def test_many_cases_are_compared_over_several_frames(story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.tui.live.best_cases.COMPARED_PER_FRAME", 1)
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 10.0, rounds=3).case(2, 10.0, rounds=3).end()
    made = case_rows(story)
    shown = []
    for _ in range(3):
        shown.append(stars(made))
        made.find_best()
    assert shown == [[False, False, False], [False, False, False], [False, False, True]]
