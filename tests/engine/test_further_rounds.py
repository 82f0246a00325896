"""Rounds where a comparison is open, with real processes and steps of one's own."""

from collections.abc import Callable

from watching import Watched

from benchtui.sessions.events import RoundsPlanned
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.noise import pairs_by_turns
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Sweep

BODY = """
import time
step_s = {"fp32": 0.04, "bf16": 0.002, "fp16": 0.00205}[case.precision]
return Step(lambda: time.sleep(step_s))"""


def test_open_comparisons_get_rounds_until_the_budget_is_spent(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep]
) -> None:
    watched = start(own(BODY, "precision=fp32,bf16,fp16", "iterations=10", "rounds=auto", "budget=4s"))
    session = watched.until_ended()
    assert watched.states == ["ok"] * 3
    plans = [event for event in watched.events if isinstance(event, RoundsPlanned)]
    assert plans[0].cases and plans[-1].cases == () and plans[0].budget_s == 4.0
    rounds = [len(case.ends) for case in session.cases]
    assert rounds[0] >= 1 and max(rounds) > 1
    for case in session.cases:
        alone = [case.measured.of_round(number) for number, end in enumerate(case.ends) if not end.turns]
        assert alone == [10] * len(alone)
    counted = [len(row.metrics.rounds) for row in measured(session)]
    assert all(1 <= some <= every for some, every in zip(counted, rounds, strict=True)), "not disturbed ones"
    assert all(case.finished and case.finished.not_measured_further for case in session.cases)
    assert any(message.text.startswith("no further rounds: ") for message in session.messages)
    require_turns(session, plans)


def require_turns(session: Session, plans: list[RoundsPlanned]) -> None:
    """Check that cases took turns, and that their rounds are complete."""
    by_turns = [plan.cases for plan in plans if plan.by_turns]
    assert by_turns and all(2 <= len(cases) <= 3 for cases in by_turns)
    one, other = (row for row in measured(session) if row.case.index in by_turns[0][:2])
    for first, second in pairs_by_turns(one, other):
        assert first.slices and second.slices
        assert abs(len(first.slices.medians_ms) - len(second.slices.medians_ms)) <= 1
    ends = {(case.index, number): end for case in session.cases for number, end in enumerate(case.ends)}
    turns = {place: set(end.turns.partners.items()) for place, end in ends.items() if end.turns}
    assert turns and all(place in turns[partner] for place, partners in turns.items() for partner in partners)
