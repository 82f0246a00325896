"""Race: which cases get another round while a session runs, and when measuring ends.

First each case gets one round. Then rounds go to the cases of open questions: the best per objective against
its rivals, each case against its baseline, and neighbors on the Pareto front. A case without an open question
is left alone. Which questions are open, and how many rounds would decide them, is the rule of
``open_questions``.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from math import ceil
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.elimination import (
    CLOSE,
    CONTENDERS,
    Unmeasured,
    best_cases,
    promising,
    search_questions,
    unproven,
    worth_rounds,
)
from benchtui.sessions.advice.objectives import find_objective
from benchtui.sessions.advice.open_questions import (
    ABOUT_NEED,
    ROUNDS_WORTH,
    About,
    OpenQuestion,
    effects,
    merged,
    open_pairs,
    other_questions,
    speed_decisions,
)
from benchtui.sessions.advice.optimal import Decision
from benchtui.sessions.advice.turns import Turns
from benchtui.sessions.state.case import OUT_OF_BUDGET
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.noise import LEAST_KNOWN, kind_of_result
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.verdicts import UNTESTED, Ratio
from benchtui.sessions.sweep import MOST_ROUNDS, Find

LOOKS_SHARE = 0.7
"""Share of a search's time limit for first looks. After that, only cases that are expected to be better than
the best one are measured before its rivals. In 150 simulated searches, limited to half of the time of all
first rounds, the choice was within 3% of the best in 89% (86% with a share of 0.5 or 0.85)."""
COMMON_CASE = 4
"""Questions about one case, such as a baseline, from which it gets twice as many rounds as the others."""
_IMPORTANCE: tuple[About, ...] = ("best", "best throughput", "best latency", "verdict", "front")
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
    by_turns: bool = False
    """Whether these are cases that take turns on their device."""
    dropped: tuple[tuple[int, str], ...] = ()
    """Cases that weren't measured and can't win anymore, each with the reason."""
    settled: tuple[Settled, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    """Open questions, most important first."""
    ended: str | None = None
    """Why the race is over; None if it goes on."""


def plan_rounds(session: Session) -> RacePlan:
    """Return the rounds to measure next, and what is decided so far.

    Meant to be called again after each wave. Called in the middle of one, it continues it.
    """
    find, looks = session.start.sweep.find, [case.index for case in session.unmeasured]
    if find is None and looks and seconds_left(session) > 0:
        return RacePlan(_affordable(session, looks))
    race = _Race(session)
    return race.decide() if find is None else race.search(find)


class _Race:
    """Rounds of a session, by what it has measured so far."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._results = measured(session)
        self._turns = Turns(session, self._results)
        self._left_s = seconds_left(session)
        pools = {kind_of_result(row): row.noise.pool for row in self._results}
        self._missing = max(
            (ceil(LEAST_KNOWN - pool.freedom) for pool in pools.values() if not pool.known), default=0
        )
        """Repeats until the spread between processes is known on each kind of device."""

    def decide(self) -> RacePlan:
        """Plan the rounds that decide the comparisons of all cases, then those that show effects of options."""
        decisions = speed_decisions(self._session, self._results)
        pairs = _by_importance(open_pairs(self._session, self._results, decisions), decisions)
        plan = self._with_outcome(self._next_rounds(pairs, in_time=not self._missing), decisions, pairs)
        if not plan.ended or self._missing:
            return plan
        asked = [question.cases for question in pairs]
        shown = merged(list(effects(self._session, self._results)))
        shown = [question for question in shown if question.cases not in asked]
        return self._with_outcome(self._next_rounds(shown, in_time=True), decisions, [*pairs, *shown])

    def search(self, find: Find) -> RacePlan:
        """Plan the rounds that find the best case for an objective."""
        session, results = self._session, self._results
        objective = find_objective(session, find)
        decisions = best_cases(session, objective, results)
        pairs = search_questions(session, decisions, results)
        unmeasured = Unmeasured(session, session.unmeasured, results)
        dropped = unmeasured.dropped(objective, decisions)
        looks = unmeasured.ordered(dropped, decisions)
        plan = self._next_rounds(worth_rounds(pairs), in_time=False)
        plan = self._with_outcome(plan, decisions, pairs, looks)
        limited = session.start.sweep.run.budget_s is not None
        looks_have_time = not limited or session.budget_spent_s < LOOKS_SHARE * session.budget_s
        if looks and self._left_s <= 0:
            dropped |= dict.fromkeys(looks, OUT_OF_BUDGET)
        elif looks and (looks_have_time or not plan.rounds):
            plan = replace(plan, rounds=tuple(looks), by_turns=False, ended=None)
        elif better := promising(decisions, looks):
            plan = replace(plan, rounds=tuple(better), by_turns=False, ended=None)
        elif not looks and plan.ended:
            rows = (row for row in unproven(decisions, objective) if len(row.rounds) < ROUNDS_WORTH)
            again = _affordable(session, list(dict.fromkeys(row.case.index for row in rows)))
            plan = replace(plan, rounds=again, ended=None) if again else plan
        settled = tuple(case for case in plan.settled if case.case not in plan.rounds)
        return replace(plan, dropped=tuple(dropped.items()), settled=settled)

    def _next_rounds(self, questions: Sequence[OpenQuestion], *, in_time: bool) -> RacePlan:
        """Return the next rounds: ordinary ones, or of cases by turns.

        ``in_time`` leaves out the questions that the rest of the budget doesn't decide. As long as the spread
        between processes isn't known, turns come first, which measure it as well.
        """
        ordinary = [question for question in questions if not self._turns.suit(question)]
        rounds = _affordable(self._session, self._wave(self._decidable(ordinary) if in_time else ordinary))
        by_turns = self._turns.next(questions, self._left_s)
        if by_turns and (not rounds or self._missing):
            return RacePlan(by_turns, by_turns=True)
        return RacePlan(rounds)

    def _with_outcome(
        self,
        plan: RacePlan,
        decisions: Sequence[Decision],
        pairs: Sequence[OpenQuestion],
        looks: Sequence[int] = (),
    ) -> RacePlan:
        """Add to the next rounds what is decided and open, and say why the race is over if there are none."""
        going_on = plan.rounds or any(case.state == "running" for case in self._session.cases)
        others = () if going_on else other_questions(self._session, self._results, pairs)
        open_ones = [question for question in others if question.obstacle != "resume"]  # the end leaves none
        return replace(
            plan,
            settled=tuple(self._settled(decisions, pairs)),
            questions=(*pairs, *open_ones),
            ended=None if going_on else self._end(pairs, looks),
        )

    def _wave(self, questions: Iterable[OpenQuestion]) -> list[int]:
        """Return the cases that get a round: of each question, the one with fewer rounds, or both.

        Every second wave is reversed, so that drift affects all cases alike. As long as the spread between
        processes isn't known, a few repeats of the most important cases measure it.
        """
        asked = list(questions)
        questions_of = Counter(case.index for question in asked for case in question.cases)
        common = {index for index, number in questions_of.items() if number >= COMMON_CASE}
        wanted: dict[int, int] = {}
        for question in asked:
            if self._missing and len(wanted) >= self._missing:
                break
            for index in self._behind(question, common):
                wanted.setdefault(index, len(wanted))

        def turn(index: int) -> tuple[int, int]:
            done = len(self._session.cases[index].ends)
            return done, -wanted[index] if done % 2 else wanted[index]

        return sorted(wanted, key=turn)

    def _decidable(self, questions: Iterable[OpenQuestion]) -> Iterator[OpenQuestion]:
        """Yield the questions that further rounds decide within the rest of the budget, the cheapest first.

        Questions share the rounds of their common cases. Those about the best case get the rest of the time.
        """
        session, left_s = self._session, self._left_s
        costs = [(needed.seconds, question) for question in questions if (needed := cost(question))]
        cheapest = [question for _, question in sorted(costs, key=itemgetter(0))]
        planned: dict[int, int] = {}
        for question in cheapest:
            rounds = question.rounds or 0
            more = {
                case.index: rounds - max(len(case.ends), planned.get(case.index, 0)) for case in question.cases
            }
            seconds = sum(
                max(number, 0) * session.cases[index].newest_round_s for index, number in more.items()
            )
            if seconds <= left_s:
                left_s -= seconds
                planned |= {index: rounds for index, number in more.items() if number > 0}
                yield question
        if not planned:
            yield from _nearest_rivals(cheapest) or cheapest

    def _behind(self, question: OpenQuestion, common: Container[int]) -> Iterator[int]:
        """Yield the cases of a question that need a round next; none if rounds wouldn't decide it.

        ``common`` are the cases of several questions, which get twice as many rounds as the others.
        """
        cases = [self._session.cases[case.index] for case in question.cases]
        least = min(len(case.ends) for case in cases)
        if least < self._most_rounds(question):
            for case in cases:
                most = 2 * least if case.index in common else least
                if len(case.ends) <= most and case.state in ("ok", "queued"):
                    yield case.index

    def _most_rounds(self, question: OpenQuestion) -> int:
        """Return the rounds that a question is worth; 0 if rounds wouldn't decide it."""
        if self._session.start.sweep.find and question.obstacle in CLOSE:
            return ROUNDS_WORTH
        return question.rounds or 0

    def _settled(self, decisions: Sequence[Decision], pairs: Iterable[OpenQuestion]) -> Iterator[Settled]:
        """Yield the cases without an open question, but the best ones, with the comparison that settled each.

        In a search, that is the comparison with the best case, even if only a small advantage isn't excluded.
        """
        sweep = self._session.start.sweep
        contested = {case.index for question in pairs for case in question.cases}
        best = [choice.best for choice in decisions if choice.best]
        bases = {} if sweep.find else baselines(self._results, sweep.measure.baseline)
        for row in self._results:
            if row.case.index in contested or any(row is other for other in best):
                continue
            alike = [other for other in best if other.config.work == row.config.work]
            ratios = ((other, _speed(other, row)) for other in (*alike, bases.get(row.config.work)))
            sure = (
                (other, ratio)
                for other, ratio in ratios
                if other and ratio and (sweep.find or ratio.verdict not in UNTESTED)
            )
            if decided := next(sure, None):
                yield Settled(row.case.index, decided[0].case.index, decided[1])

    def _end(self, pairs: Sequence[OpenQuestion], looks: Sequence[int]) -> str:
        """Return why the race is over."""
        session, turns = self._session, self._turns
        asked = worth_rounds(pairs) if session.start.sweep.find else pairs
        by_turns = any(turns.suit(question) and turns.pairs(question) for question in asked)
        alone = any(self._most_rounds(question) for question in asked if not turns.suit(question))
        short = self._left_s <= 0 and (looks or session.unmeasured or alone)
        if short or by_turns:  # turns that are asked for are left out only if they would take too long
            return OUT_OF_BUDGET
        return "more rounds wouldn't decide the open questions" if pairs else "every question is decided"


def seconds_left(session: Session) -> float:
    """Return the rest of the budget, in seconds of the session's time; negative if more was spent."""
    return session.budget_s - session.budget_spent_s


def cost(question: OpenQuestion) -> Cost | None:
    """Return the cost of deciding a question by further rounds; None if they wouldn't."""
    if question.rounds is None:
        return None
    by_turns = question.ratio.rounds if question.ratio and question.ratio.by_turns else None
    done = [len(case.ends) if by_turns is None else by_turns for case in question.cases]
    missing = [(case, max(question.rounds - n, 0)) for case, n in zip(question.cases, done, strict=True)]
    return Cost(
        sum(rounds for _, rounds in missing), sum(rounds * case.newest_round_s for case, rounds in missing)
    )


def _by_importance(questions: Iterable[OpenQuestion], decisions: Iterable[Decision]) -> list[OpenQuestion]:
    """Return questions by subject, then those of works without a case to recommend, then by rounds needed."""
    answered = {
        (ABOUT_NEED.get(choice.objective.need), choice.objective.work)
        for choice in decisions
        if choice.recommended
    }

    def importance(question: OpenQuestion) -> tuple[int, bool, int]:
        ranked = [about for about in question.about if about in _IMPORTANCE]
        first = min(ranked, key=_IMPORTANCE.index, default=None)
        rank = len(_IMPORTANCE) if first is None else _IMPORTANCE.index(first)
        work = question.cases[0].config.work
        return rank, (first, work) in answered, question.rounds or MOST_ROUNDS

    return sorted(questions, key=importance)


def _nearest_rivals(questions: Iterable[OpenQuestion]) -> list[OpenQuestion]:
    """Return the questions about the nearest rivals of the cases with the most throughput."""
    rivals = [question for question in questions if question.ratio and "best throughput" in question.about]
    return sorted(rivals, key=lambda rival: abs(rival.ratio.value - 1) if rival.ratio else 0.0)[:CONTENDERS]


def _affordable(session: Session, wave: Sequence[int]) -> tuple[int, ...]:
    """Return the rounds that start within the rest of the budget; the last one may end after it."""
    rounds: list[int] = []
    left_s = seconds_left(session)
    for index in wave:
        if left_s <= 0:
            break
        rounds.append(index)
        left_s -= session.cases[index].newest_round_s
    return tuple(rounds)


def _speed(base: Result | None, new: Result) -> Ratio | None:
    return None if base is None or base is new else comparison(base, new).ratio
