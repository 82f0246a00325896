"""Conclusion of a session: the case to run for each work, how certain that is, and what stays open."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.deciding_sweep import deciding_sweep, further_rounds
from benchtui.sessions.advice.elimination import best_cases, search_questions, worth_rounds
from benchtui.sessions.advice.objectives import (
    SPEED_NEEDS,
    Need,
    Objective,
    cost_metrics,
    find_objective,
    is_need_of,
    usual_objective,
)
from benchtui.sessions.advice.open_questions import (
    Known,
    OpenQuestion,
    choices,
    merged,
    open_questions,
    other_questions,
    speed_decisions,
)
from benchtui.sessions.advice.optimal import Decision, ahead_by, decide
from benchtui.sessions.estimates.eta import StepTimeModel
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of, explain_missing_baseline
from benchtui.sessions.stats.results import Result, by_work, measured
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.plan import included_configs


class Remaining(msgspec.Struct, frozen=True, kw_only=True):
    """Further measurement that would decide the open questions."""

    questions: int
    """Open questions that it decides."""
    cases: int
    rounds: int | None
    """Further rounds of each case; None if the engine plans them."""
    seconds: float | None
    """Expected duration, of planned rounds at most; None if unknown."""


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """Case to run for one work, compared with its baseline and rivals."""

    choice: Decision
    best: Result
    """Case to run."""
    baseline: Result | None
    no_baseline: str
    """Why there is no baseline; empty if there is one."""
    baseline_pending: bool
    """Whether it has yet to be measured."""
    against_baseline: Ratio | None
    """How many times as good the best case is as the baseline; None for the baseline itself."""
    alternative: Decision | None
    """Choice for latency, if that is another case; for throughput if the objective is latency."""
    rivals: tuple[OpenQuestion, ...]
    """Questions whether another case is better than the best one."""

    @property
    def decided(self) -> bool:
        """Whether to run the best case, as the report says."""
        return self.choice.recommended

    @property
    def better_than_baseline(self) -> bool:
        """Whether the best case is surely better than its baseline, even if another one may be the best."""
        return self.against_baseline is not None and self.against_baseline.verdict is Verdict.FASTER

    @property
    def starred(self) -> bool:
        """Whether the case is marked as the one to run: decided, and chosen from several."""
        return self.decided and self.choice.runner_up is not None

    def best_of(self, need: Need) -> Result | None:
        """Return the case to run for a need about speed; None if it isn't decided, or the only case."""
        if need == self.choice.objective.need or self.alternative is None:
            return self.best if self.starred else None
        return self.alternative.best if self.alternative.recommended else None

    @property
    def rival(self) -> tuple[Result, Ratio] | None:
        """The case that may be better than the best one, else the next, and how far it is behind."""
        choice = self.choice
        if choice.unsure and not choice.ties and choice.verdict is Verdict.FASTER:
            return choice.unsure[0].result, choice.unsure[0].ratio
        return (choice.runner_up, choice.ahead) if choice.runner_up and choice.ahead else None


class Conclusions(msgspec.Struct, frozen=True, kw_only=True):
    """Conclusions for all works of a session, and its open questions."""

    works: tuple[Conclusion, ...]
    """Empty if nothing was measured, or no case meets the constraints."""
    open: tuple[OpenQuestion, ...]
    remaining: Remaining | None
    """None if no measurement would decide anything."""
    problem: str = ""
    """Why nothing could be concluded; empty if something was."""

    @property
    def starred(self) -> frozenset[int]:
        """Indices of the cases that are marked as the ones to run."""
        return frozenset(work.best.case.index for work in self.works if work.starred)


def conclude_anyway(session: Session) -> Conclusions:
    """Return what a session says so far. A bug of ours becomes its problem, so that a list stays in sight."""
    try:
        return conclude(session)
    except Exception as error:  # noqa: BLE001  (see above)
        problem = f"the answer can't be computed: {type(error).__name__}: {error}"
        return Conclusions(works=(), open=(), remaining=None, problem=problem)


def conclude(session: Session, objective: Objective | None = None) -> Conclusions:
    """Return what a session says about each work so far.

    Without an objective, the usual one counts.
    """
    results = measured(session)
    objective = objective or usual_objective(session, results)
    decisions = speed_decisions(session, results)
    questions = questions_of(session, (results, decisions))
    works = (
        conclude_work(session, replace(objective, work=work), rows, decisions)
        for work, rows in by_work(results).items()
        if objective.work in (None, work)
    )
    return Conclusions(
        works=tuple(filter(None, works)), open=questions, remaining=remaining(session, questions)
    )


def questions_of(session: Session, known: Known | None = None) -> tuple[OpenQuestion, ...]:
    """Return the open questions of a session. A search only asks for the best case and its gain."""
    find = session.start.sweep.find
    if find is None:
        return open_questions(session, known)
    results = known[0] if known else measured(session)
    best = best_cases(session, find_objective(session, find), results)
    others = other_questions(session, results, ())
    cut_off = (question for question in others if "not measured" in question.about)
    return (*worth_rounds(search_questions(session, best, results)), *cut_off)


def conclude_work(
    session: Session, objective: Objective, rows: Sequence[Result], decisions: Sequence[Decision] = ()
) -> Conclusion | None:
    """Return the conclusion for one work; None if no case meets the constraints.

    ``decisions`` are those that are already known.
    """
    decided = next((row for row in decisions if row.objective == objective), None)
    choice, named = decided or decide(session, objective, rows), session.start.sweep.measure.baseline
    best = choice.best
    if best is None:
        return None
    base = baseline_of(best.config, rows, named)
    planned = baseline_of(best.config, session.cases, named)
    return Conclusion(
        choice=choice,
        best=best,
        baseline=base,
        no_baseline="" if base else explain_missing_baseline(best.config, session.cases, named),
        baseline_pending=base is None and planned is not None and planned.state in ("queued", "running"),
        against_baseline=_against(base, choice, best) if base else None,
        alternative=_alternative(choice, rows, decisions),
        rivals=tuple(merged(list(choices([choice])))),
    )


def _against(base: Result, choice: Decision, best: Result) -> Ratio | None:
    metrics = cost_metrics(choice.objective, choice.fit)
    compared = base.case is not best.case and all(metric.cost(base) is not None for metric in metrics)
    return ahead_by(base, best, metrics) if compared else None


def _alternative(choice: Decision, rows: Sequence[Result], decisions: Sequence[Decision]) -> Decision | None:
    """Return the choice for the other of throughput and latency; None if it is the same case."""
    objective = choice.objective
    need = SPEED_NEEDS[1] if objective.need == SPEED_NEEDS[0] else SPEED_NEEDS[0]
    if objective.need not in SPEED_NEEDS or not is_need_of(need, rows):
        return None
    wanted = replace(Objective(need), work=objective.work)
    other = next((row for row in decisions if row.objective == wanted), None)
    same = other is None or other.best is None or (choice.best and other.best.case is choice.best.case)
    return None if same else other


def remaining(session: Session, questions: Sequence[OpenQuestion]) -> Remaining | None:
    """Return the measurement that would decide these questions; None if none would."""
    sweep = None if session.start.source else deciding_sweep(session, questions)
    if sweep is None:
        return None
    missing = further_rounds(session, sweep)
    seconds, planned = _expected_s(session, missing), missing.measure.rounds_auto
    if planned and seconds is not None:
        seconds += missing.run.budget_after_s(seconds)
    return Remaining(
        questions=sum(question.remedy is not None for question in questions),
        cases=sum(1 for _ in included_configs(missing)),
        rounds=None if planned else missing.measure.rounds,
        seconds=seconds,
    )


def _expected_s(session: Session, sweep: Sweep) -> float | None:
    """Return the duration of a sweep: its rounds take as long as before, or as steps of other cases suggest.

    None if one is unknown.
    """
    times = StepTimeModel(session.cases)
    as_before = sweep.measure.iterations == session.start.sweep.measure.iterations
    before_s = {case.config: case.newest_round_s for case in session.cases if as_before and case.newest_round_s}
    rounds_s = []
    for config in included_configs(sweep):
        estimate = None if config in before_s else times.case(config, sweep.measure)
        rounds_s.append(estimate.seconds if estimate else before_s.get(config))
    seconds = [round_s for round_s in rounds_s if round_s is not None]
    return sum(seconds) * sweep.measure.rounds if seconds and len(seconds) == len(rounds_s) else None
