"""Further rounds of ``rounds = "auto"``: which cases are measured again, until when, and why not longer."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from benchtui.engine.supervisor.session_writer import SessionLog
from benchtui.sessions.advice.open_questions import OpenQuestion
from benchtui.sessions.advice.race import RacePlan, Settled, cost, plan_rounds
from benchtui.sessions.events import RoundsPlanned, SettledCase
from benchtui.sessions.state.case import OUT_OF_BUDGET
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Case
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.race import asked, conclusions, decided_by, settled_reason

MOST_QUESTIONS = 5
"""Maximum number of open questions that a message names."""


class FurtherPlan(NamedTuple):
    """Planned rounds, or why there are none."""

    dropped: tuple[tuple[int, str], ...]
    """Cases that needn't be measured at all, each with the reason."""
    looks: tuple[int, ...]
    """Cases whose first rounds come next, in start order; the event then doesn't apply."""
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
        self._session = self._log.follower = Session.by_line(self._log.path, metrics)
        for machine in self._session.machines:
            machine.drop_before(self._session.now_s)  # readings don't matter here

    @property
    def budget_is_spent(self) -> bool:
        """Whether no further round may start."""
        return self._session.budget_spent_s >= self._session.budget_s

    def plan(self, unmeasured: Collection[Case], measured: Collection[Case]) -> FurtherPlan:
        """Plan one round for each of the measured cases whose open questions it helps to decide.

        A ``find`` may look at unmeasured cases first, or drop some.
        """
        session = self._session
        plan = plan_rounds(session)
        dropped = tuple((index, reason) for index, reason in plan.dropped if index in _indexes(unmeasured))
        looks = tuple(index for index in plan.rounds if index in _indexes(unmeasured))
        looks = looks if looks[:1] == plan.rounds[:1] else ()
        further = () if self.budget_is_spent else plan.rounds
        rounds = tuple(index for index in further if index in _indexes(measured))
        ended = "" if rounds or looks else _end(plan, spent=self.budget_is_spent)
        event = RoundsPlanned(
            t=self._log.now_s(),
            cases=rounds,
            open_questions=len(plan.questions),
            spent_s=round(session.budget_spent_s, 3),
            budget_s=round(session.budget_s, 3),
            settled=tuple(map(_settled_case, plan.settled)),
            by_turns=plan.by_turns and len(rounds) > 1,
        )
        return FurtherPlan(dropped, looks, event, ended, tuple(_summary(plan, event, ended)))


def _indexes(cases: Iterable[Case]) -> set[int]:
    return {case.index for case in cases}


def _settled_case(settled: Settled) -> SettledCase:
    return SettledCase(case=settled.case, reason=settled_reason(settled))


def _end(plan: RacePlan, *, spent: bool) -> str:
    return plan.ended or (OUT_OF_BUDGET if spent else "the cases of open questions have ended")


def _summary(plan: RacePlan, event: RoundsPlanned, ended: str) -> Iterator[str]:
    if late := sum(reason == OUT_OF_BUDGET for _, reason in plan.dropped):
        yield f"not measured: {count(late, 'case')}, because {OUT_OF_BUDGET}"
    yield f"no further rounds: {ended} (spent {event.spent_s:.0f} s of {event.budget_s:.0f} s)"
    for question in plan.questions[:MOST_QUESTIONS]:
        yield f"stays open: {_question(question)}"
    if (more := len(plan.questions) - MOST_QUESTIONS) > 0:
        yield f"stays open: {count(more, 'more question')}"


def _question(question: OpenQuestion) -> str:
    more = cost(question)
    rounds = f"about {count(more.rounds, 'more round')} ({more.seconds:.0f} s)" if more and more.rounds else ""
    decided = f"decided by {rounds}" if rounds else decided_by(question)
    return f"{': '.join(filter(None, (conclusions(question), asked(question))))}; {decided}"
