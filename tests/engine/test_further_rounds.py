"""Rounds where a comparison is open, with real processes and steps of one's own."""

from collections.abc import Callable

from watching import Watched

from benchtui.sessions.events import RoundsPlanned
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Sweep

BODY = """
import time
step_s = {"fp32": 0.04, "bf16": 0.002, "fp16": 0.00205}[case.precision]
return Step(lambda: time.sleep(step_s))"""


def test_open_comparisons_get_rounds_until_the_budget_is_spent(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep]
) -> None:
    watched = start(own(BODY, "precision=fp32,bf16,fp16", "iterations=10", "rounds=auto", "budget=2s"))
    session = watched.until_ended()
    assert watched.states == ["ok"] * 3
    plans = [event for event in watched.events if isinstance(event, RoundsPlanned)]
    assert plans[0].cases and plans[-1].cases == () and plans[0].budget_s == 2.0
    rounds = [len(case.ends) for case in session.cases]
    assert rounds[0] >= 1 and max(rounds) > 1
    assert [len(case.measured) for case in session.cases] == [10 * each for each in rounds]
    counted = [len(row.metrics.rounds) for row in measured(session)]
    assert all(1 <= some <= every for some, every in zip(counted, rounds, strict=True)), "not disturbed ones"
    assert all(case.finished and case.finished.not_measured_further for case in session.cases)
    assert any(message.text.startswith("no further rounds: ") for message in session.messages)
