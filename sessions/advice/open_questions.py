"""Open questions of a session, each with the measurement that would decide it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil, log, sqrt
from statistics import fmean
from typing import Literal

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.objectives import (
    PEAK_MEMORY,
    SAMPLE_TIME,
    SPEED_NEEDS,
    STEP_TIME,
    Need,
    cost_metrics,
    session_objective,
)
from benchtui.sessions.advice.optimal import Decision, ahead_by, decide, front, may_be_better
from benchtui.sessions.estimates.eta import RoundSoFar, StepTimeModel, case_left, steps_left
from benchtui.sessions.estimates.stop_limits import TIME_LIMIT, longest_s, wanted_percent
from benchtui.sessions.state.case import UNFINISHED_STATES, CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.ratios import comparison, matched
from benchtui.sessions.stats.results import Result, by_work, measured
from benchtui.sessions.stats.sampling import LEAST_ROUNDS
from benchtui.sessions.stats.verdicts import FIRST_ROUNDS, UNTESTED, Doubt, Ratio, Verdict
from benchtui.sessions.sweep.options import AXES

ROUNDS_WORTH = 30
"""Maximum number of rounds worth measuring. A ratio that needs more is too close to the limit of a verdict."""
MOST_STEPS_FACTOR = 16
"""Maximum factor on the measured steps of a round."""
MOST_MEASURING_S = 3600.0
"""Maximum measuring time of a round in a recommendation, in seconds."""
SPARE = 1.5
"""Ratio of a case's new time limit to its expected time."""
UNKNOWN_LIMIT = 2.0
"""Factor on a time limit if the remaining time of the case is unknown."""

About = Literal[
    "verdict",
    "best throughput",
    "best latency",
    "best",
    "front",
    "effect",
    "noise",
    "interval",
    "time limit",
    "not measured",
]
"""Subject of a question: a verdict against the baseline, the best case for an objective, a case's place on the
Pareto front, the effect of an option, the noise of the machine, an interval wider than the sweep requests, a
case that timed out, or cases that were never measured."""
Obstacle = Literal["close", "many rounds", "steps", "totals", "no interval", "files", "long", "resume"]
"""Reason that no new sweep decides a question: no number of rounds would; it needs too many rounds; typical and
fast steps disagree; typical steps and the total time disagree; the source has no steps; files
changed during the session; measuring takes over an hour; the session itself must be resumed."""
_CONTESTED: dict[Doubt, Obstacle] = {Doubt.STEPS: "steps", Doubt.TOTALS: "totals"}


class Remedy(msgspec.Struct, frozen=True):
    """Measurement that would decide a question."""

    rounds: int | None = None
    """Rounds of each case; None keeps the sweep's number."""
    steps: int | None = None
    """Measured steps per round; None keeps the sweep's number."""
    repeat_disturbed: bool = False
    """Whether to repeat disturbed rounds."""
    by_turns: bool = False
    """Whether the cases are to take turns, which only the engine plans, with ``rounds = "auto"``."""
    aa: bool = False
    """Whether to run the baseline twice."""
    max_time_s: float | None = None
    timeout_s: float | None = None
    """New limits on the measuring time and on the total time of a case, in seconds; None keeps the sweep's."""


class OpenQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the measurements of a session leave open."""

    about: tuple[About, ...]
    cases: tuple[CaseState, ...]
    """Cases in question; in a pair, the base comes first."""
    ratio: Ratio | None = None
    """Speed of the second case relative to the first."""
    remedy: Remedy | None = None
    obstacle: Obstacle | None = None
    """Why there is no remedy; None if there is one."""
    rounds: int | None = None
    """Rounds of each case of a pair that would decide it without more steps per round; None if no number would,
    or too many."""

    @property
    def late(self) -> bool:
        """Whether no time was left for its cases."""
        return "not measured" in self.about and self.obstacle is None


Known = tuple[Sequence[Result], Sequence[Decision]]
"""Results and decisions about speed of a session that are already computed."""


def open_questions(session: Session, known: Known | None = None) -> tuple[OpenQuestion, ...]:
    """Return the open questions of a session: pairs of cases first, in plan order."""
    results, decisions = known or (rows := measured(session), speed_decisions(session, rows))
    pairs = open_pairs(session, results, decisions)
    return (*pairs, *other_questions(session, results, pairs))


def noise_is_assumed(session: Session) -> bool:
    """Return whether the noise of the machine wasn't measured. That is only a note if everything is decided."""
    return next(_noise(session, measured(session)), None) is not None


def speed_decisions(session: Session, results: Sequence[Result]) -> list[Decision]:
    """Return the best case per need about speed and work."""
    return [
        decide(session, session_objective(session, need, work), rows)
        for need in SPEED_NEEDS
        for work, rows in by_work(results).items()
    ]


def open_pairs(
    session: Session, results: Sequence[Result], decisions: Sequence[Decision]
) -> list[OpenQuestion]:
    """Return the open questions about pairs of measured cases, in plan order."""
    return merged([*_verdicts(session, results), *choices(decisions), *_fronts(results)])


def other_questions(
    session: Session, results: Sequence[Result], pairs: Sequence[OpenQuestion]
) -> Iterator[OpenQuestion]:
    """Yield the open questions that aren't about pairs; about assumed noise only if there are open pairs."""
    if pairs:
        yield from _noise(session, results)
    yield from _wide_intervals(session, results)
    yield from _timeouts(session)
    yield from _never_measured(session)


Pair = tuple[About, Result, Result, Ratio]
"""Two cases whose ratio is open, the base first."""


ABOUT_NEED: dict[Need, About] = {"throughput": "best throughput", "latency": "best latency"}
"""Subject of the question for the best case, by need."""


def _verdicts(session: Session, results: Sequence[Result]) -> Iterator[Pair]:
    """Yield the cases that may be faster or slower than their baseline."""
    bases = baselines(results, session.start.sweep.measure.baseline)
    for row in results:
        base = bases.get(row.config.work)
        if base is None or base.config == row.config:
            continue
        ratio = comparison(base, row).ratio
        if ratio and ratio.verdict in UNTESTED:
            yield "verdict", base, row, ratio


def choices(decisions: Iterable[Decision]) -> Iterator[Pair]:
    """Yield the cases that may be better than the recommended one."""
    for choice in decisions:
        best = choice.best
        if best is None or choice.clear:
            continue
        metrics = cost_metrics(choice.objective, choice.fit)
        about = ABOUT_NEED.get(choice.objective.need, "best")
        ratios = {rival.result.case.index: rival.ratio for rival in choice.unsure}
        ties = {row.case.index for row in choice.ties}
        for row in choice.fit:
            index = row.case.index
            if index in ties or not row.case.steps_measured:
                ratios[index] = ahead_by(row, best, metrics)
            ratio = ratios.get(index)
            if row is not best and ratio and may_be_better(ratio):
                yield about, row, best, ratio


def _fronts(results: Sequence[Result]) -> Iterator[Pair]:
    """Yield neighbors on a Pareto front that may not both belong there.

    One has the higher throughput, the other a shorter step or less memory. If either of these differences is
    unsure, so is the front.
    """
    for rows in by_work(results).values():
        for fast, other in pairwise(front(rows)):
            ratios = [SAMPLE_TIME.ratio(other, fast)]
            if not _less_memory(other, fast):
                ratios.append(STEP_TIME.ratio(fast, other))
            unsure = [ratio for ratio in ratios if ratio and ratio.verdict in UNTESTED]
            if unsure:
                yield "front", other, fast, unsure[0]


def effects(session: Session, results: Sequence[Result]) -> Iterator[Pair]:
    """Yield the pair that may show the effect of an option's value soonest, if no pair shows it yet.

    Reports state the largest effect that some pair of cases establishes.
    """
    for option in AXES:
        first, *values = getattr(session.start.sweep.axes, option)
        alike = matched(results, option, first) if values and option != "sequence_length" else []
        for value in values:
            compared = [pair for pair in alike if getattr(pair[1].config, option) == value]
            ratios = [(*pair, ratio) for pair in compared if (ratio := comparison(*pair).ratio)]
            if ratios and all(ratio.verdict is Verdict.UNSURE for _, _, ratio in ratios):
                yield ("effect", *max(ratios, key=lambda pair: abs(log(pair[2].value))))


def _less_memory(one: Result, other: Result) -> bool:
    costs = PEAK_MEMORY.cost(one), PEAK_MEMORY.cost(other)
    return costs[0] is not None and costs[1] is not None and costs[0] < costs[1]


def merged(pairs: Sequence[Pair]) -> list[OpenQuestion]:
    """Return one question per pair of cases, with all of its subjects."""
    pairs_by_cases: dict[frozenset[int], list[Pair]] = {}
    for pair in pairs:
        pairs_by_cases.setdefault(frozenset((pair[1].case.index, pair[2].case.index)), []).append(pair)
    return [_about_pair(same) for same in pairs_by_cases.values()]


def _about_pair(same: Sequence[Pair]) -> OpenQuestion:
    answers = [_remedy(base, new, ratio) for _, base, new, ratio in same]
    remedies = [answer for answer in answers if isinstance(answer, Remedy)]
    obstacles = [answer for answer in answers if not isinstance(answer, Remedy)]
    _, base, new, ratio = same[0]
    return OpenQuestion(
        about=tuple(dict.fromkeys(about for about, *_ in same)),
        cases=(base.case, new.case),
        ratio=ratio,
        remedy=max(remedies, key=lambda remedy: (remedy.rounds or 0, remedy.steps or 0), default=None),
        obstacle=None if remedies else obstacles[0],
        rounds=max(
            (rounds for _, _, _, ratio in same if isinstance(rounds := rounds_to_decide(ratio), int)),
            default=None,
        ),
    )


def _remedy(base: Result, new: Result, ratio: Ratio) -> Remedy | Obstacle:
    """Return the measurement that would decide an unsure ratio, or the obstacle to deciding it.

    If each of several rounds was disturbed, the remedy is to repeat rounds until they are undisturbed, up to a
    limit.
    """
    steps, ratio = _with_more_steps(base, new, ratio)
    rounds = rounds_to_decide(ratio)
    if not isinstance(rounds, int):
        return rounds
    if ratio.by_turns:
        return Remedy(by_turns=True)
    repeat = bool(ratio.outside) and ratio.rounds >= LEAST_ROUNDS
    return Remedy(ratio.rounds if repeat else rounds, steps, repeat_disturbed=repeat)


def rounds_to_decide(ratio: Ratio) -> int | Obstacle:
    """Return the rounds of each case that would decide an unsure ratio, or the obstacle to deciding it.

    With fewer than three rounds, the spread between processes is mostly an assumption, and a disturbance or a
    disagreement between steps may come from a single process. The next step is then a few rounds.
    """
    if ratio.unlike_files:
        return "files"
    if ratio.rounds < LEAST_ROUNDS:
        return FIRST_ROUNDS
    if ratio.outside:
        return max(FIRST_ROUNDS, ratio.rounds)
    if ratio.doubt is not Doubt.WIDE:
        return _CONTESTED.get(ratio.doubt or Doubt.NO_INTERVAL, "no interval")
    wanted = ratio.next_rounds
    if wanted is None:
        return "close"
    return wanted if wanted <= ROUNDS_WORTH else "many rounds"


def _with_more_steps(base: Result, new: Result, ratio: Ratio) -> tuple[int | None, Ratio]:
    """Return the steps per round that make their own noise small, and the ratio expected with that number.

    The number is None if there are already enough steps: if they account for less than half of the variance
    between rounds, only more rounds help.
    """
    rounds = [round_ for row in (base, new) for round_ in row.rounds]
    errors = [round_.median.error for round_ in rounds if round_.median.error is not None]
    if not errors or not ratio.between or ratio.by_turns:
        return None, ratio
    of_steps = fmean(error**2 for error in errors)
    others = max(ratio.between**2 - of_steps, of_steps / MOST_STEPS_FACTOR)
    factor = ceil(of_steps / others)
    if factor < 2:
        return None, ratio
    most = max(round_.n for round_ in rounds)
    return factor * most, replace(ratio, between=sqrt(others + of_steps / factor))


def _noise(session: Session, results: Sequence[Result]) -> Iterator[OpenQuestion]:
    """Yield a question about the first baseline whose verdicts rely on an assumed noise of the machine."""
    named = session.start.sweep.measure.baseline
    for work, base in baselines(results, named).items():
        others = [row for row in results if row.config.work == work and row.config != base.config]
        if others and not base.noise.pool.freedom:
            yield OpenQuestion(about=("noise",), cases=(base.case,), remedy=Remedy(aa=True))
            return  # one pair measures the noise of the session


def _wide_intervals(session: Session, results: Sequence[Result]) -> Iterator[OpenQuestion]:
    """Yield the cases that reached their time limit with an interval wider than the sweep requests."""
    for row in results:
        rules = session.start.sweep.measure.for_device(row.config.device)
        latency, stop = row.metrics.latency_ms, row.case.finished.stop if row.case.finished else None
        wanted, width = wanted_percent(rules, on_host=row.config.device == "cpu"), latency.interval_percent
        limit_s = longest_s(rules)
        if not (stop and stop.startswith(TIME_LIMIT) and wanted and width and width > wanted and limit_s):
            continue
        done = RoundSoFar(latency.n, latency.n * latency.mean / 1000, width, on_host=True)
        needed = steps_left(
            done, replace(rules, until_auto=False, until_percent=wanted, max_time_s=MOST_MEASURING_S)
        )
        most_s = float(ceil(SPARE * ((latency.n + needed.steps) * latency.mean / 1000)))
        timeout_s = max(rules.timeout_s, float(ceil(rules.timeout_s - limit_s + most_s)))
        yield OpenQuestion(
            about=("interval",),
            cases=(row.case,),
            remedy=None if needed.limited else Remedy(max_time_s=most_s, timeout_s=timeout_s),
            obstacle="long" if needed.limited else None,
        )


def _timeouts(session: Session) -> Iterator[OpenQuestion]:
    """Yield the cases that timed out, with the time limit that they would have needed."""
    rules = replace(session.start.sweep.measure, rounds=1)
    step_times = StepTimeModel(session.cases)
    for case in session.cases:
        if case.state != "timeout" or case.finished is None:
            continue
        remaining = case_left(case, rules, step_times, case.finished.t)
        if remaining is None or not remaining.seconds:
            limit_s = UNKNOWN_LIMIT * rules.timeout_s
        else:
            limit_s = float(ceil(SPARE * (rules.timeout_s + remaining.seconds)))
        yield OpenQuestion(about=("time limit",), cases=(case,), remedy=Remedy(timeout_s=limit_s))


def _never_measured(session: Session) -> Iterator[OpenQuestion]:
    """Yield the cases that a resume would run, and those for which no time was left."""
    if session.left:
        unfinished = tuple(case for case in session.cases if case.state in UNFINISHED_STATES)
        yield OpenQuestion(about=("not measured",), cases=unfinished, obstacle="resume")
    if late := tuple(case for case in session.cases if case.late):
        yield OpenQuestion(about=("not measured",), cases=late, remedy=Remedy())
