"""Scales of the bars in the case table."""

from typing import Any

from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.model.case_rows import CaseRows


def case_rows(story: Any) -> CaseRows:
    session = Session.load(story.path)
    made = CaseRows(session, UNICODE)
    made.refresh(case for case in session.cases if case.finished)
    return made


def test_a_running_case_above_the_scale_widens_it(story: Any) -> None:
    story.begin().case(0, 10.0).start(2).prepare(2).steps(2, [10.0] * 6)
    made = case_rows(story)
    before = "".join(text for text, _ in made.row(0).graph("samples", 10))
    running = "".join(text for text, _ in made.row(2).graph("samples", 10))
    after = "".join(text for text, _ in made.row(0).graph("samples", 10))
    assert (before, running, after) == ("▕████████▏", "▕████████▏", "▕██······▏")
