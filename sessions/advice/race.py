"""Race: which cases get another round while a session runs, and when measuring ends.

First each case gets one round. Then rounds go to the cases of open questions: the best per objective against
its rivals, each case against its baseline, and neighbors on the Pareto front. A case without an open question
is left alone. Which questions are open, and how many rounds would decide them, is the rule of
``open_questions``.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from benchtui.sessions.advice.objectives import SPEED_NEEDS, Objective
from benchtui.sessions.advice.open_questions import About, OpenQuestion, open_pairs, open_questions
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.noise import LEAST_KNOWN, kind_of
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import Result, by_work, measured
from benchtui.sessions.stats.verdicts import Ratio, Verdict

_IMPORTANCE: tuple[About, ...] = ("best throughput", "best latency", "verdict", "front")
"""Subjects of questions about pairs, most important first."""


class Settled(msgspec.Struct, frozen=True):
    """A case that isn't measured further, because its comparison with another one is decided."""

    case: int
    """Index of the case."""
    against: int
    """Index of the case that it was compared with: the best one, or its baseline."""
    ratio: Ratio
    """Speed of the case relative to the other one."""


class Cost(msgspec.Struct, frozen=True):
    """Cost of deciding a question."""

    rounds: int
    """Further rounds of its cases, added up."""
    seconds: float
    """Time of these rounds, one after another."""


class RacePlan(msgspec.Struct, frozen=True):
    """Next rounds of a race, and what is decided so far."""

    rounds: tuple[int, ...] = ()
    """Indexes of the cases that get one more round now, in running order; empty if nothing is left to do."""
    dropped: tuple[tuple[int, str], ...] = ()
    """Cases that weren't measured and can't win anymore, each with the reason."""
    settled: tuple[Settled, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    """Open questions, most important first."""
    ended: str | None = None
    """Why the race is over; None if it goes on."""


def plan_rounds(session: Session) -> RacePlan:
    """Return the rounds to measure next, and what is decided so far.

    Meant to be called again after each round: a plan made in the middle of a wave continues it.
    """
    left_s = seconds_left(session)
    first = _first_looks(session)
    if first and left_s > 0:
        return RacePlan(_affordable(session, first, left_s))
    results = measured(session)
    pairs = sorted(open_pairs(session, results), key=_importance)
    settled = tuple(_settled(session, results, pairs))
    wave = _wave(session, results, pairs) if left_s > 0 else []
    rounds = _affordable(session, wave, left_s)
    if rounds or any(case.state == "running" for case in session.cases):
        return RacePlan(rounds, settled=settled, questions=tuple(pairs))
    questions = tuple(sorted(open_questions(session), key=_importance))
    return RacePlan(settled=settled, questions=questions, ended=_end(session, pairs, left_s))


def seconds_left(session: Session) -> float:
    """Return the rest of the budget, in seconds of the session's time; negative if more was spent."""
    return session.budget_s - session.budget_spent_s


def round_s(case: CaseState) -> float:
    """Return the time of a case's newest round with its process, in seconds; 0 before its first round ends."""
    if not case.ends or case.started is None:
        return 0.0
    return max(case.ends[-1].t - case.started.t, 0.0)


def cost(question: OpenQuestion) -> Cost | None:
    """Return the cost of deciding a question by further rounds; None if they wouldn't."""
    if question.rounds is None:
        return None
    missing = [(case, max(question.rounds - len(case.ends), 0)) for case in question.cases]
    return Cost(sum(rounds for _, rounds in missing), sum(rounds * round_s(case) for case, rounds in missing))


def _first_looks(session: Session) -> list[int]:
    """Return the cases that haven't been measured yet, in start order."""
    return [case.index for case in session.pending if not case.ends]


def _importance(question: OpenQuestion) -> int:
    ranks = [_IMPORTANCE.index(about) for about in question.about if about in _IMPORTANCE]
    return min(ranks, default=len(_IMPORTANCE))


def _wave(session: Session, results: Sequence[Result], pairs: Sequence[OpenQuestion]) -> list[int]:
    """Return the cases that get a round: of each question, the one with fewer rounds, or both.

    Every second wave is reversed, so that drift affects all cases alike.
    """
    wanted: dict[int, int] = {}
    for question in pairs[: _most_questions(session, results)]:
        for index in _behind(question):
            wanted.setdefault(index, len(wanted))

    def turn(index: int) -> tuple[int, int]:
        done = len(session.cases[index].ends)
        return done, -wanted[index] if done % 2 else wanted[index]

    return sorted(wanted, key=turn)


def _behind(question: OpenQuestion) -> Iterator[int]:
    """Yield the cases of a question that need a round next; none if rounds wouldn't decide it."""
    if question.rounds is None:
        return
    least = min(len(case.ends) for case in question.cases)
    if least < question.rounds:
        yield from (case.index for case in question.cases if len(case.ends) == least and _waits(case))


def _waits(case: CaseState) -> bool:
    """Return whether a case can get another round: it isn't running, and its rounds succeeded."""
    return case.state in ("ok", "queued")


def _most_questions(session: Session, results: Sequence[Result]) -> int | None:
    """Return the number of questions to spend rounds on; None for all.

    As long as the spread between processes isn't known, a few repeats of the most important cases measure it.
    """
    kinds = {kind_of(result.case): result.noise.pool for result in results}
    missing = [LEAST_KNOWN - pool.freedom for pool in kinds.values() if not pool.known]
    return max(1, round(max(missing))) if missing else None


def _affordable(session: Session, wave: Sequence[int], left_s: float) -> tuple[int, ...]:
    """Return the rounds that start within the rest of the budget; the last one may end after it."""
    rounds, start_s = [], 0.0
    for index in wave:
        if start_s >= left_s:
            break
        rounds.append(index)
        start_s += round_s(session.cases[index])
    return tuple(rounds)


def _settled(session: Session, results: Sequence[Result], pairs: Iterable[OpenQuestion]) -> Iterator[Settled]:
    """Yield the cases without an open question, with the comparison that settled each."""
    contested = {case.index for question in pairs for case in question.cases}
    rows = [row for row in results if row.case.index not in contested]
    bases = baselines(results, session.start.sweep.measure.baseline)
    best = _best(session, results)
    for row in rows:
        others = [*best.get(row.config.work, ()), bases.get(row.config.work)]
        ratios = ((other, _speed(other, row)) for other in others if other and other.case is not row.case)
        decided = next(((other, ratio) for other, ratio in ratios if ratio), None)
        if decided:
            yield Settled(row.case.index, decided[0].case.index, decided[1])


def _speed(base: Result, new: Result) -> Ratio | None:
    """Return the speed of a case relative to another one if its verdict is sure."""
    ratio = comparison(base, new).ratio
    sure = ratio is not None and ratio.verdict not in (Verdict.UNSURE, Verdict.REPORTED)
    return ratio if sure else None


def _best(session: Session, results: Sequence[Result]) -> dict[object, list[Result]]:
    """Return the best cases of each work, one per objective."""
    chosen: dict[object, list[Result]] = {}
    for work, rows in by_work(results).items():
        best = (decide(session, Objective(need, work=work), rows).best for need in SPEED_NEEDS)
        chosen[work] = [row for row in best if row]
    return chosen


def _end(session: Session, pairs: Sequence[OpenQuestion], left_s: float) -> str:
    """Return why the race is over."""
    if left_s <= 0 and (_first_looks(session) or any(question.rounds for question in pairs)):
        return "the budget is spent"
    if pairs:
        return "more rounds wouldn't decide the open questions"
    return "every question is decided"
