from typing import Any

import pytest

from benchtui.sessions.estimates.eta import Estimate
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep.model import LEAST_BUDGET_S
from benchtui.tui.live.eta import RemainingTime


def remaining(story: Any) -> RemainingTime:
    session = Session.load(story.path)
    return RemainingTime(session, lambda case: None)


def test_skipped_cases_are_no_progress(story: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8)).finish(0, "skipped").finish(1, "skipped")
    found = remaining(story)
    assert (found.done, found.total, found.skipped) == (0, 2, 2)
    assert found.progress(1.0, None) == 0.0


def test_further_rounds_take_at_most_the_rest_of_their_budget(story: Any) -> None:
    story.begin(batch_sizes=(1, 2), auto=True).round(0)
    before = remaining(story).sweep_left(1.0)
    assert before is not None and before.rough
    assert LEAST_BUDGET_S < before.seconds < LEAST_BUDGET_S + 1.0
    story.round(1).plan_rounds(1).start(1, round_index=1).wait(20.0).round(1, round_index=1)
    during = remaining(story).sweep_left(20.4)
    assert during is not None and during.seconds == pytest.approx(LEAST_BUDGET_S - 20.2)
    story.plan_rounds()
    assert remaining(story).sweep_left(20.4) == Estimate(0.0, rough=True)


def test_progress_never_runs_backwards(story: Any) -> None:
    found = remaining(story.begin(batch_sizes=(1, 2)).case(0))
    shown = [
        found.progress(now_s, None if left_s is None else Estimate(left_s))
        for now_s, left_s in ((10.0, None), (11.0, 100.0), (60.0, 40.0), (61.0, 120.0))
    ]
    assert shown == [0.5, 0.5, 0.6, 0.6]
