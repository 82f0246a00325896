"""Further rounds of ``rounds = "auto"``: which cases are measured again, until when, and why not longer."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from benchtui.engine.supervisor.session_writer import SessionLog
from benchtui.sessions.advice.open_questions import OpenQuestion
from benchtui.sessions.advice.race import RacePlan, Settled, cost, plan_rounds
from benchtui.sessions.events import RoundsPlanned, SettledCase
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize
from benchtui.sessions.sweep import Case
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.race import settled_reason

MOST_QUESTIONS = 5
"""Maximum number of open questions that a message names."""
OUT_OF_BUDGET = "the budget is spent"


class FurtherPlan(NamedTuple):
    """Planned rounds, or why there are none."""

    event: RoundsPlanned
    ended: str
    """Why measuring ends; empty if further rounds are planned."""
    summary: tuple[str, ...]
    """The same for the reader, with the questions that stay open and what they would cost; a line each."""

    def reason(self, case: int) -> str:
        """Return why a case isn't measured further."""
        reasons = {settled.case: settled.reason for settled in self.event.settled}
        return reasons.get(case, self.ended)


class FurtherRounds:
    """Plans further rounds from the session as it is recorded. Statistics are computed only while planning."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._session = Session()

    def begin(self) -> None:
        """Follow the session, from what its file contains so far."""
        self._session = self._log.follower = Session.by_line(self._log.path, summarize)
        for machine in self._session.machines:
            machine.drop_before(self._session.now_s)  # readings don't matter here

    @property
    def budget_is_spent(self) -> bool:
        """Whether no further round may start."""
        return self._session.budget_spent_s >= self._session.budget_s

    def dropped(self, unmeasured: Collection[Case]) -> list[tuple[int, str]]:
        """Return the cases of a ``find`` that needn't be measured at all, each with the reason."""
        if not (self._session.start.sweep.find and unmeasured):
            return []
        if self.budget_is_spent:
            return [(case.index, OUT_OF_BUDGET) for case in unmeasured]
        indexes = {case.index for case in unmeasured}
        return [(index, reason) for index, reason in plan_rounds(self._session).dropped if index in indexes]

    def plan(self, measured: Collection[Case]) -> FurtherPlan:
        """Plan one round for each of the measured cases whose open questions it helps to decide."""
        session = self._session
        plan = plan_rounds(session)
        waiting = {case.index for case in measured}
        rounds = () if self.budget_is_spent else tuple(index for index in plan.rounds if index in waiting)
        ended = "" if rounds else _end(plan, spent=self.budget_is_spent)
        event = RoundsPlanned(
            t=self._log.now_s(),
            cases=rounds,
            open_questions=len(plan.questions),
            spent_s=round(session.budget_spent_s, 3),
            budget_s=round(session.budget_s, 3),
            settled=tuple(
                SettledCase(case=settled.case, reason=settled_reason(settled)) for settled in plan.settled
            ),
        )
        return FurtherPlan(event, ended, tuple(_summary(plan, event, ended)))


def _settled_case(settled: Settled) -> SettledCase:
    return SettledCase(case=settled.case, reason=settled_reason(settled))


def _end(plan: RacePlan, *, spent: bool) -> str:
    """Return why measuring ends."""
    return plan.ended or (OUT_OF_BUDGET if spent else "the cases of open questions have ended")


def _summary(plan: RacePlan, event: RoundsPlanned, ended: str) -> Iterator[str]:
    yield f"no further rounds: {ended} (spent {event.spent_s:.0f} s of {event.budget_s:.0f} s)"
    for question in plan.questions[:MOST_QUESTIONS]:
        yield f"stays open: {_question(question)}"
    if (more := len(plan.questions) - MOST_QUESTIONS) > 0:
        yield f"stays open: {count(more, 'more question')}"


def _question(question: OpenQuestion) -> str:
    names = " or ".join(case.name for case in question.cases[:2])
    more = cost(question)
    if more is None or not more.rounds:
        return f"{names}, which more rounds don't decide"
    return f"{names}, which about {count(more.rounds, 'more round')} ({more.seconds:.0f} s) would decide"
