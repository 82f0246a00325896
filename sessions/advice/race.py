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
FEW_CASES = 40
"""Cases of a sweep up to which the choice of the best one comes before verdicts that are cheaper to decide."""
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
    find = session.start.sweep.find
    return _plan(session) if find is None else _search(session, find)


def _plan(session: Session) -> RacePlan:
    """Plan the rounds that decide the comparisons of all cases."""
    looks = [case.index for case in session.unmeasured]
    if looks and seconds_left(session) > 0:
        return RacePlan(_affordable(session, looks))
    results = measured(session)
    decisions = speed_decisions(session, results)
    pairs = _by_importance(open_pairs(session, results, decisions), decisions)
    turns = Turns(session, results)
    ordinary = [question for question in pairs if not turns.suit(question)]
    chosen = ordinary if _missing_repeats(results) else _decidable(session, ordinary)
    plan = _next_rounds(session, results, chosen, turns.next(pairs, seconds_left(session)))
    plan = _race(session, results, decisions, pairs, plan)
    if plan.ended and not _missing_repeats(results):
        return _with_effects(session, results, decisions, pairs, turns)
    return plan


def _with_effects(
    session: Session,
    results: Sequence[Result],
    decisions: Sequence[Decision],
    pairs: Sequence[OpenQuestion],
    turns: Turns,
) -> RacePlan:
    """Plan the rounds that show the effects of options, once nothing else can be decided."""
    asked = [question.cases for question in pairs]
    shown = [question for question in merged(list(effects(session, results))) if question.cases not in asked]
    ordinary = [question for question in shown if not turns.suit(question)]
    by_turns = turns.next(shown, seconds_left(session))
    plan = _next_rounds(session, results, _decidable(session, ordinary), by_turns)
    return _race(session, results, decisions, [*pairs, *shown], plan)


def _search(session: Session, find: Find) -> RacePlan:
    """Plan the rounds that find the best case for an objective."""
    results = measured(session)
    objective = find_objective(session, find)
    decisions = best_cases(session, objective, results)
    pairs = search_questions(session, decisions, results)
    unmeasured = Unmeasured(session, session.unmeasured, results)
    dropped = unmeasured.dropped(objective, decisions)
    looks = unmeasured.ordered(dropped, decisions)
    turns, contenders = Turns(session, results), worth_rounds(pairs)
    ordinary = [question for question in contenders if not turns.suit(question)]
    plan = _next_rounds(session, results, ordinary, turns.next(contenders, seconds_left(session)))
    plan = _race(session, results, decisions, pairs, plan, looks)
    if looks and seconds_left(session) <= 0:
        dropped |= dict.fromkeys(looks, OUT_OF_BUDGET)
    elif looks and (_looks_have_time(session) or not plan.rounds):
        plan = replace(plan, rounds=tuple(looks), by_turns=False, ended=None)
    elif better := promising(decisions, looks):
        plan = replace(plan, rounds=tuple(better), by_turns=False, ended=None)
    elif not looks and plan.ended and (again := _affordable(session, _again(unproven(decisions, objective)))):
        plan = replace(plan, rounds=again, ended=None)
    settled = tuple(case for case in plan.settled if case.case not in plan.rounds)
    return replace(plan, dropped=tuple(dropped.items()), settled=settled)


def _looks_have_time(session: Session) -> bool:
    """Return whether first looks may go on before rivals are measured again, within a stated limit."""
    limited = session.start.sweep.run.budget_s is not None
    return not limited or session.budget_spent_s < LOOKS_SHARE * session.budget_s


def _again(rows: Iterable[Result]) -> list[int]:
    """Return the cases that get another round, without those that have too many."""
    return list(dict.fromkeys(row.case.index for row in rows if len(row.rounds) < ROUNDS_WORTH))


def _next_rounds(
    session: Session, results: Sequence[Result], ordinary: Iterable[OpenQuestion], by_turns: tuple[int, ...]
) -> RacePlan:
    """Return the next rounds: of the questions that ordinary rounds decide, or of cases by turns.

    As long as the spread between processes isn't known, turns come first, which measure it as well.
    """
    rounds = _affordable(session, _wave(session, results, ordinary))
    if by_turns and (not rounds or _missing_repeats(results)):
        return RacePlan(by_turns, by_turns=True)
    return RacePlan(rounds)


def _race(
    session: Session,
    results: Sequence[Result],
    decisions: Sequence[Decision],
    pairs: Sequence[OpenQuestion],
    plan: RacePlan,
    looks: Sequence[int] = (),
) -> RacePlan:
    """Add to the next rounds what is decided and open, and say why the race is over if there are none."""
    settled = tuple(_settled(session, results, decisions, pairs))
    going_on = plan.rounds or any(case.state == "running" for case in session.cases)
    others = () if going_on else other_questions(session, results, pairs)
    open_ones = [question for question in others if question.obstacle != "resume"]  # the end leaves none
    return replace(
        plan,
        settled=settled,
        questions=(*pairs, *open_ones),
        ended=None if going_on else _end(session, results, pairs, looks),
    )


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


def _wave(session: Session, results: Sequence[Result], questions: Iterable[OpenQuestion]) -> list[int]:
    """Return the cases that get a round: of each question, the one with fewer rounds, or both.

    Every second wave is reversed, so that drift affects all cases alike. As long as the spread between
    processes isn't known, a few repeats of the most important cases measure it.
    """
    missing, asked = _missing_repeats(results), list(questions)
    questions_of = Counter(case.index for question in asked for case in question.cases)
    common = {index for index, number in questions_of.items() if number >= COMMON_CASE}
    wanted: dict[int, int] = {}
    for question in asked:
        if missing and len(wanted) >= missing:
            break
        for index in _behind(session, question, common):
            wanted.setdefault(index, len(wanted))

    def turn(index: int) -> tuple[int, int]:
        done = len(session.cases[index].ends)
        return done, -wanted[index] if done % 2 else wanted[index]

    return sorted(wanted, key=turn)


def _decidable(session: Session, questions: Iterable[OpenQuestion]) -> Iterator[OpenQuestion]:
    """Yield the questions that further rounds decide within the rest of the budget, the cheapest first.

    Questions share the rounds of their common cases. Of few cases, those about the best one come earlier, and
    get the rest of the time. In 600 simulated sweeps of at most 40 cases, in half of the time of five rounds,
    the choice was within 3% of the best in 84% (81% otherwise), within a bound of 8% (9%), and 60% of the
    verdicts were decided (61%); of more cases, fewer were, and the choice was no better.
    """
    left_s, few = seconds_left(session), len(session.cases) <= FEW_CASES

    def factor(question: OpenQuestion) -> float:
        return 0.5 if few and any(about.startswith("best") for about in question.about) else 1.0

    costs = [
        (factor(question) * needed.seconds, question) for question in questions if (needed := cost(question))
    ]
    cheapest = [question for _, question in sorted(costs, key=itemgetter(0))]
    planned: dict[int, int] = {}
    for question in cheapest:
        rounds = question.rounds or 0
        more = {case.index: rounds - max(len(case.ends), planned.get(case.index, 0)) for case in question.cases}
        seconds = sum(max(number, 0) * session.cases[index].newest_round_s for index, number in more.items())
        if seconds <= left_s:
            left_s -= seconds
            planned |= {index: rounds for index, number in more.items() if number > 0}
            yield question
    if not planned:
        yield from (few and _nearest_rivals(cheapest)) or cheapest


def _nearest_rivals(questions: Iterable[OpenQuestion]) -> list[OpenQuestion]:
    """Return the questions about the nearest rivals of the cases with the most throughput."""
    rivals = [question for question in questions if question.ratio and "best throughput" in question.about]
    return sorted(rivals, key=lambda rival: abs(rival.ratio.value - 1) if rival.ratio else 0.0)[:CONTENDERS]


def _behind(session: Session, question: OpenQuestion, common: Container[int]) -> Iterator[int]:
    """Yield the cases of a question that need a round next; none if rounds wouldn't decide it.

    ``common`` are the cases of several questions, which get twice as many rounds as the others.
    """
    cases = [session.cases[case.index] for case in question.cases]
    least = min(len(case.ends) for case in cases)
    if least < _most_rounds(session, question):
        for case in cases:
            most = 2 * least if case.index in common else least
            if len(case.ends) <= most and case.state in ("ok", "queued"):
                yield case.index


def _most_rounds(session: Session, question: OpenQuestion) -> int:
    """Return the rounds that a question is worth; 0 if rounds wouldn't decide it."""
    if session.start.sweep.find and question.obstacle in CLOSE:
        return ROUNDS_WORTH
    return question.rounds or 0


def _missing_repeats(results: Sequence[Result]) -> int:
    """Return the repeats until the spread between processes is known on each kind of device."""
    pools = {kind_of_result(row): row.noise.pool for row in results}
    return max((ceil(LEAST_KNOWN - pool.freedom) for pool in pools.values() if not pool.known), default=0)


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


def _settled(
    session: Session, results: Sequence[Result], decisions: Sequence[Decision], pairs: Iterable[OpenQuestion]
) -> Iterator[Settled]:
    """Yield the cases without an open question, with the comparison that settled each, but not the best ones.

    In a search, that is the comparison with the best case, even if only a small advantage isn't excluded.
    """
    search = session.start.sweep.find is not None
    contested = {case.index for question in pairs for case in question.cases}
    best = [choice.best for choice in decisions if choice.best]
    bases = {} if search else baselines(results, session.start.sweep.measure.baseline)
    for row in results:
        if row.case.index in contested or any(row is other for other in best):
            continue
        alike = [other for other in best if other.config.work == row.config.work]
        ratios = ((other, _speed(other, row)) for other in (*alike, bases.get(row.config.work)))
        sure = (
            (other, ratio)
            for other, ratio in ratios
            if other and ratio and (search or ratio.verdict not in UNTESTED)
        )
        if decided := next(sure, None):
            yield Settled(row.case.index, decided[0].case.index, decided[1])


def _speed(base: Result | None, new: Result) -> Ratio | None:
    return None if base is None or base is new else comparison(base, new).ratio


def _end(
    session: Session, results: Sequence[Result], pairs: Sequence[OpenQuestion], looks: Sequence[int]
) -> str:
    turns = Turns(session, results)
    asked = worth_rounds(pairs) if session.start.sweep.find else pairs
    by_turns = any(turns.suit(question) and turns.pairs(question) for question in asked)
    alone = any(_most_rounds(session, question) for question in asked if not turns.suit(question))
    short = seconds_left(session) <= 0 and (looks or session.unmeasured or alone)
    if short or by_turns:  # turns that are asked for are left out only if they would take too long
        return OUT_OF_BUDGET
    return "more rounds wouldn't decide the open questions" if pairs else "every question is decided"
