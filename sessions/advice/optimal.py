"""Optimal case: the one to run for an objective, and whether it clearly beats the runner-up."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from math import prod
from operator import attrgetter, itemgetter, le, mul, ne
from typing import Literal

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.constraints import Relaxation, nearest_relaxations, violations
from benchtui.sessions.advice.expected_costs import MOST, UNPREDICTED, Expected, expected_costs, likely_loss
from benchtui.sessions.advice.objectives import (
    NEAR,
    PEAK_MEMORY,
    SAMPLE_TIME,
    SPEED_NEEDS,
    STEP_TIME,
    CostMetric,
    Need,
    Objective,
    cost_metrics,
    job_ms,
    shared_metrics,
)
from benchtui.sessions.state.case import CaseState, failures, outcome
from benchtui.sessions.state.judging import SAME_WITHIN
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, by_work, measured
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import UNTESTED, Doubt, Ratio, Verdict
from benchtui.sessions.sweep import UNKNOWN, Config, Work
from benchtui.sessions.sweep.options import CHOICES

NEAR_ENOUGH = 0.25
"""Largest share by which another case may still be better for a case to be recommended."""
MOST_UNLIKELY = 0.25
"""Largest lead, as a share, that a search gives up for a likelier case, if the lead isn't established."""
TAIL = 1.1
"""Factor by which the best case's tail may exceed the next one's while the lead is still clear."""
ROUNDING = 0.01
"""Relative error of an answer (40 dB) up to which it makes no difference: that of computing in bf16."""
FEW = 60
"""Maximum number of cases by which, and of others for which, a choice other than a search's is estimated."""
MOST_TRIES = 20
"""Maximum number of chosen cases to compare with all others before choosing the one with the best metric."""


class Tail(msgspec.Struct, frozen=True):
    """A percentile at which the chosen case is slower than the other."""

    name: Literal["p99", "p90"]
    best_ms: float
    other_ms: float


class RejectedCase(msgspec.Struct, frozen=True):
    """A case that was ruled out, and why."""

    case: CaseState
    reason: str


class Rival(msgspec.Struct, frozen=True):
    """Another case than the recommended one, and the ratio between them."""

    result: Result
    ratio: Ratio


class Decision(msgspec.Struct, frozen=True):
    """The case to run, or why there is none."""

    objective: Objective
    best: Result | None = None
    runner_up: Result | None = None
    ahead: Ratio | None = None
    """Ratio of the best case to the runner-up; above 1."""
    ties: tuple[Result, ...] = ()
    """Other cases that can't be distinguished from the best, nearest first: SAME, or behind by a small
    lead that isn't established."""
    open_ties: bool = False
    """Whether one of them isn't surely the same as the best."""
    leader: Result | None = None
    """The case with the best metric, if a simpler or likelier one was chosen instead; else None."""
    unsure: tuple[Rival, ...] = ()
    """Further cases, too far behind to be ties, that aren't surely worse than the best, nearest first. The
    ratio is that of the best case to it, above 1."""
    within: float | None = None
    """Share by which another fitting case may be better at most: 0.12 is 12%. None if nothing bounds that."""
    likely_within: float | None = None
    """Share by which no other case is likely to be better, measured or not, by the effects of options. Only for
    a choice about speed that isn't recommended, of cases that nothing from outside slowed down."""
    tail: Tail | None = None
    """Percentile at which the best case's slow steps are longer than the runner-up's; None if there is none."""
    changing: tuple[Rival, ...] = ()
    """Better cases that aren't recommended because their answers aren't the baseline's, best first. The
    ratio is that of the case to the best one, above 1."""
    fit: tuple[Result, ...] = ()
    """Cases that meet the constraints."""
    expected: dict[int, Expected] = msgspec.field(default_factory=dict)
    """Expected cost by the index of the case, measured or not; empty unless a search chose."""
    rejected: tuple[RejectedCase, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    """Constraints that alone exclude all cases, the nearest miss first. Empty if there is a best case."""

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the best case over the runner-up; None without a runner-up."""
        return self.ahead.verdict if self.ahead else None

    @property
    def front(self) -> tuple[Result, ...]:
        """Pareto front of the fitting cases: samples/s, step time and peak memory."""
        return front(self.fit)

    @property
    def clear(self) -> bool:
        """Whether the best case clearly beats every other, including in its slow steps."""
        sure = self.verdict is Verdict.FASTER and not self.ties and not self.unsure
        return sure and self.tail is None

    @property
    def established(self) -> bool:
        """Whether the best case surely is the best, or the same as the best, as far as sources are believed."""
        if self.runner_up is None:
            return True
        sure = not self.contenders and self.verdict in (Verdict.FASTER, Verdict.SAME)
        return sure and not self.open_ties

    @property
    def recommended(self) -> bool:
        """Whether to run the best case: it is established, near enough to the best, or as sources reported."""
        near = self.within is not None and self.within <= NEAR_ENOUGH
        return self.established or near or self.as_reported

    @property
    def contenders(self) -> tuple[Rival, ...]:
        """Cases in ``unsure`` that may be the best. Sources are believed if they are far apart."""
        return tuple(rival for rival in self.unsure if may_be_better(rival.ratio))

    @property
    def tied(self) -> bool:
        """Whether the best case can't be told from others, so that its figure was partly luck."""
        return bool(self.ties) or (self.recommended and self.verdict is Verdict.UNSURE)

    @property
    def as_reported(self) -> bool:
        """Whether all that is known about the lead is what sources without steps reported."""
        return self.verdict is Verdict.REPORTED and not self.established


def decide(session: Session, objective: Objective, results: Sequence[Result] | None = None) -> Decision:
    """Choose the best measured case for an objective. Of indistinguishable ones, choose the preferred one.

    ``results`` are the session's, if already computed.
    """
    candidates = measured(session) if results is None else results
    rows = [row for row in candidates if objective.work in (None, row.config.work)]
    needed = () if objective.need == "balanced" else cost_metrics(objective, ())
    reasons = [(row, _reasons(row, objective, needed)) for row in rows]
    rejected = (
        *(RejectedCase(row.case, "; ".join(against)) for row, against in reasons if against),
        *_not_measured(session, objective),
    )
    able = tuple(row for row, against in reasons if not against)
    if not able:
        return Decision(objective, rejected=rejected, relaxations=_relaxations(rows, objective, needed))
    kept = tuple(row for row in able if not row.case.changes_answer)
    fit = kept if kept and objective.keeps_answers else able
    metrics = cost_metrics(objective, fit)
    choice = _choose(fit, objective, metrics, _expected(session, rows, metrics) if objective.search else {})
    return replace(
        choice,
        rejected=(*rejected, *_with_other_answers(able, fit)),
        changing=_changing(able, fit, choice, metrics),
        likely_within=_likely_within(session, choice, metrics),
    )


def _likely_within(session: Session, choice: Decision, metrics: Sequence[CostMetric]) -> float | None:
    """Return the likely loss of a choice about speed that isn't recommended; None if nothing estimates it."""
    best, need = choice.best, choice.objective.need
    if best is None or choice.recommended or need not in SPEED_NEEDS:
        return None
    ratios = [*(ahead_by(row, best, metrics) for row in choice.ties), *(rival.ratio for rival in choice.unsure)]
    if any(ratio.bounds is None or ratio.outside or ratio.unlike_files for ratio in ratios):
        return None
    pending = list(_without_a_round(session, best.config.work))
    if len(pending) > FEW and not choice.expected:
        return None  # most of the sweep is still to come
    expected = choice.expected or _expected(session, choice.fit, metrics, FEW)
    rivals = [*choice.ties, *(rival.result for rival in choice.unsure)]
    others = [*(row.case for row in rivals), *pending]
    predicted = [expected[case.index] for case in others if case.index in expected]
    return likely_loss(expected[best.case.index], predicted) if best.case.index in expected else None


def _without_a_round(session: Session, work: Work) -> Iterator[CaseState]:
    """Yield the cases of a work that may still be measured, or would have been with more time."""
    late = (case for case in session.cases if case.late)
    return (case for case in (*session.unmeasured, *late) if case.config.work == work)


def _changing(
    able: Sequence[Result], fit: Sequence[Result], choice: Decision, metrics: Sequence[CostMetric]
) -> tuple[Rival, ...]:
    """Return the cases left out because of their answers that would be better than the recommended one."""
    best, kept = choice.best, {row.case.index for row in fit}
    if best is None or not all(metric.cost(row) for row in able for metric in metrics):
        return ()
    others = sorted(
        (row for row in able if row.case.index not in kept), key=lambda row: total_cost(row, metrics)
    )
    rivals = (Rival(row, ahead_by(best, row, metrics)) for row in others)
    return tuple(rival for rival in rivals if rival.ratio.value > 1 and rival.ratio.verdict is not Verdict.SAME)


def _with_other_answers(able: Iterable[Result], fit: Iterable[Result]) -> Iterator[RejectedCase]:
    kept = {row.case.index for row in fit}
    for row in able:
        if row.case.index not in kept and row.case.comparison:
            verdict = (row.case.comparison.verdict or "").upper()
            yield RejectedCase(row.case, f"answer {verdict}; --answer any includes it")


def _expected(
    session: Session, rows: Sequence[Result], metrics: Sequence[CostMetric], most: int = MOST
) -> dict[int, Expected]:
    """Return the expected costs of cases, from those of the best of them that have one."""
    works = {row.config.work for row in rows}
    pending = [case for work in works for case in _without_a_round(session, work)]
    return expected_costs(_by_cost(rows, metrics), pending, most)


def _by_cost(rows: Iterable[Result], metrics: Sequence[CostMetric]) -> list[tuple[float, Result]]:
    return sorted(((total_cost(row, metrics), row) for row in rows), key=itemgetter(0))


def _choose(
    fit: Sequence[Result], objective: Objective, metrics: Sequence[CostMetric], expected: dict[int, Expected]
) -> Decision:
    """Choose from the cases that meet the constraints. There must be at least one."""
    costs = _leader_first(_by_cost(fit, metrics), metrics)
    ranked = [row for _, row in costs]
    if expected:
        best, near = _likeliest(costs, metrics, expected)
    else:
        best, near = _preferred(costs, metrics)
    runner_up = next((row for row in ranked if row is not best), None)
    ties = tuple(Rival(row, ahead_by(row, best, metrics)) for row in near if row is not best)
    unsure = _unsure(ranked, near, best, metrics)
    return Decision(
        objective,
        best=best,
        runner_up=runner_up,
        ahead=ahead_by(runner_up, best, metrics) if runner_up else None,
        ties=tuple(rival.result for rival in ties),
        open_ties=any(rival.ratio.verdict is not Verdict.SAME for rival in ties),
        leader=None if ranked[0] is best else ranked[0],
        unsure=unsure,
        within=_within([rival.ratio for rival in (*ties, *unsure)]),
        tail=longer_tail(best, runner_up, objective.need) if runner_up else None,
        fit=tuple(fit),
        expected=expected,
    )


def _preferred(
    costs: Sequence[tuple[float, Result]], metrics: Sequence[CostMetric]
) -> tuple[Result, list[Result]]:
    """Return the case to prefer, and those indistinguishable from the leader, of which it is one.

    The leader of many cases is partly lucky, so what is expected of them decides, if their steps are known.
    """
    near = _near_the_leader(costs, metrics, NEAR)
    estimable = len(near) > 1 and all(row.case.steps_measured for row in near)
    expected = expected_costs(costs, most=FEW) if estimable else {}
    choose = partial(_first_choice, metrics=metrics, expected=expected)
    near = _undecided(near, metrics, choose)
    return choose(near), near


def _likeliest(
    costs: Sequence[tuple[float, Result]], metrics: Sequence[CostMetric], expected: dict[int, Expected]
) -> tuple[Result, list[Result]]:
    """Return the case of the lowest expected cost, and those indistinguishable from it.

    That is one of the cases that are not surely worse than the leader, nor than another one.
    """

    def likeliest(rows: Iterable[Result]) -> Result:
        return min(rows, key=lambda row: expected.get(row.case.index, UNPREDICTED).cost)

    near = _undecided(_near_the_leader(costs, metrics, MOST_UNLIKELY), metrics, likeliest)
    best = likeliest(near)
    most = (1 + SAME_WITHIN) * total_cost(best, metrics)
    return best, [row for row in near if total_cost(row, metrics) < most]


def _leader_first(
    costs: Sequence[tuple[float, Result]], metrics: Sequence[CostMetric]
) -> Sequence[tuple[float, Result]]:
    """Return cases sorted by cost, but first the one that is surely better than another one at the front.

    Only cases that took turns contradict their typical steps, which depend on the pace of the machine.
    """
    leader = costs[0]
    for entry in costs[1:]:
        by_turns = any(round_.slices for round_ in entry[1].rounds)
        if by_turns and _is_faster(leader[1], entry[1], metrics):
            leader = entry
    return [leader, *(entry for entry in costs if entry is not leader)]


def _near_the_leader(
    costs: Sequence[tuple[float, Result]], metrics: Sequence[CostMetric], near: float
) -> list[Result]:
    """Return the leader of cases sorted by cost, and the cases that may be indistinguishable from it."""
    least, leader = costs[0]
    candidates = [(cost / least, row) for cost, row in costs[1:] if cost < (1 + near) * least]
    return [leader, *(row for behind, row in candidates if _near(behind, row, leader, metrics, near))]


def _unsure(
    ranked: Iterable[Result], near: Iterable[Result], best: Result, metrics: Sequence[CostMetric]
) -> tuple[Rival, ...]:
    """Return the cases, other than ``near``, that can't be distinguished from the best."""
    tied = {row.case.index for row in near}
    others = (row for row in ranked if row.case.index not in tied)
    rivals = (Rival(row, ahead_by(row, best, metrics)) for row in others)
    return tuple(rival for rival in rivals if rival.ratio.verdict in UNTESTED)


def may_be_better(ratio: Ratio) -> bool:
    """Return whether the first case of a ratio may be the better one. Sources are believed if far apart."""
    far = ratio.value >= 1 + NEAR
    return ratio.verdict is Verdict.UNSURE or (ratio.verdict is Verdict.REPORTED and not far)


def _within(ratios: Iterable[Ratio]) -> float | None:
    """Return the share by which another case may be better at most; None if a ratio to one has no interval.

    This is the upper bound of multiple comparisons with the best (Hsu, Annals of Statistics 9(5), 1981). Only
    one of the others is the best, so the bounds of pairs hold without a correction.
    """
    lows = [0.0 if ratio.low is None or ratio.unlike_files else ratio.low for ratio in ratios]
    return max((1 / min(low, 1.0) - 1 for low in lows), default=0.0) if all(low > 0 for low in lows) else None


def _undecided(
    near: list[Result], metrics: Sequence[CostMetric], choose: Callable[[Sequence[Result]], Result]
) -> list[Result]:
    """Return the cases to choose from: the leader, and those indistinguishable from it.

    Chosen cases that another one clearly beats are dropped. Two cases that can't be distinguished from a noisy
    leader may still be distinguishable from each other.
    """
    remaining = list(near)
    for _ in range(MOST_TRIES):
        best = choose(remaining) if remaining else None
        if best is None or best is near[0]:  # no other case is surely better than the leader
            return remaining
        if not any(_is_faster(best, row, metrics) for row in near if row is not best):
            return remaining
        remaining = [row for row in remaining if row is not best]
    return near[:1]


def _first_choice(
    rows: Sequence[Result], metrics: Sequence[CostMetric], expected: Mapping[int, Expected]
) -> Result:
    """Return the case to prefer among indistinguishable ones, the first of several that are equally good.

    The criteria are, in this order: nearest answer, no compilation, least expected cost, least memory, shortest
    step, fewest non-default options.
    """
    plain = _least(rows, (_answer_error, _compiled))
    known = all(row.case.index in expected for row in plain)

    def cost(row: Result) -> float:
        return expected[row.case.index].cost if known else total_cost(row, metrics)

    return _least(plain, (cost, PEAK_MEMORY.cost, STEP_TIME.cost, _options))[0]


def _least(rows: Sequence[Result], costs: Iterable[Callable[[Result], float | None]]) -> Sequence[Result]:
    """Return the rows with the least costs, by one after the other, if all of them have that cost.

    Values within the margin of equivalence count as equal.
    """
    remaining = rows
    for cost in costs:
        values = [cost(row) for row in remaining]
        readings = [value for value in values if value is not None]
        if len(readings) == len(remaining):
            most = min(readings) + SAME_WITHIN * abs(min(readings))  # a reading may be negative
            remaining = [row for row, value in zip(remaining, readings, strict=True) if value <= most]
    return remaining


def total_cost(row: Result, metrics: Sequence[CostMetric]) -> float:
    """Return the cost of a case as one number, the product of its metrics."""
    return prod(metric.cost(row) or 0.0 for metric in metrics)


def _near(behind: float, row: Result, leader: Result, metrics: Sequence[CostMetric], near: float) -> bool:
    """Return whether the leader's lead over a case is negligible, by its metrics and its typical steps.

    ``behind`` is the cost of the case over that of the leader.
    """
    ahead = ahead_by(row, leader, metrics)
    most = 1 + (SAME_WITHIN if ahead.doubt is Doubt.NO_INTERVAL else near)
    return ahead.verdict is not Verdict.FASTER and behind < most and ahead.value < most


def longer_tail(best: Result, other: Result, need: Need) -> Tail | None:
    """Return the percentile at which the best case's slow steps are notably longer; None if there is none.

    Times are compared per step for latency, and per sample for throughput, because steps of larger batches take
    longer.
    """
    if need not in SPEED_NEEDS:
        return None
    sizes = (1, 1) if need == "latency" else (best.metrics.samples_per_step, other.metrics.samples_per_step)
    names: tuple[Literal["p99", "p90"], ...] = ("p99", "p90")
    for name in names:  # the highest percentile that both have
        mine, theirs = (getattr(row.metrics.latency_ms, name) for row in (best, other))
        if mine is not None and theirs is not None:
            return Tail(name, mine, theirs) if mine / sizes[0] > TAIL * theirs / sizes[1] else None
    return None


def _answer_error(result: Result) -> float | None:
    """Return the relative error of a case's answer, or ``ROUNDING`` if it's less; None if it is unknown."""
    compared = result.case.comparison
    if compared is None or compared.verdict == "identical":
        return ROUNDING
    return None if compared.sqnr_db is None else max(ROUNDING, 10 ** (-compared.sqnr_db / 20))


def _compiled(result: Result) -> float:
    return float(result.config.compile not in ("off", UNKNOWN))


def _options(result: Result) -> float:
    """Count the options of a case whose values aren't a sweep's defaults."""
    return float(sum(map(ne, _options_of(result.config), _PLAIN)))


_options_of = attrgetter(*(option for option in CHOICES if option != "device"))
"""Reads the options that make a case less simple if they differ from their defaults."""
_PLAIN = _options_of(Config(device="cpu"))


def works(session: Session) -> tuple[Work, ...]:
    """Return the distinct works of the measured cases."""
    return tuple(by_work(measured(session)))


def front(results: Sequence[Result]) -> tuple[Result, ...]:
    """Return the Pareto front of samples/s, step time and peak memory, highest throughput first.

    A metric that some of the results lack is ignored.
    """
    metrics = shared_metrics((SAMPLE_TIME, STEP_TIME, PEAK_MEMORY), results)
    costs = sorted(
        ([metric.cost(row) or 0.0 for metric in metrics], place) for place, row in enumerate(results)
    )
    kept: list[tuple[list[float], int]] = []
    for cost, place in costs:  # in this order, no case beats an earlier one
        if not any(all(map(le, other, cost)) and other != cost for other, _ in kept):
            kept.append((cost, place))
    return tuple(sorted((results[place] for _, place in kept), key=lambda row: SAMPLE_TIME.cost(row) or 0.0))


def ahead_by(base: Result, new: Result, metrics: Sequence[CostMetric]) -> Ratio:
    """Return how many times as good the new case is by these metrics, with bounds if every metric has them."""
    parts = [metric.ratio(base, new) or Ratio(1.0) for metric in metrics]
    if len(parts) == 1:
        return parts[0]
    inner = [part.inner or part.bounds for part in parts]
    return Ratio(
        prod(part.value for part in parts),
        _product([part.bounds for part in parts]),
        fast=_product([part.fast or part.bounds for part in parts]),
        totals=_product([part.totals or part.bounds for part in parts]),
        inner=_product(inner) if any(part.inner for part in parts) else None,
        same_within=max((part.same_within for part in parts), default=0.0),
        outside=tuple(dict.fromkeys(why for part in parts for why in part.outside)),
        assumed=any(part.assumed for part in parts),
        rounds=min((part.rounds for part in parts if part.rounds), default=0),
        reported=any(part.reported for part in parts),
        unlike_files=any(part.unlike_files for part in parts),
    )


def _product(parts: Sequence[Bounds | None]) -> Bounds | None:
    """Return the bounds of a product; None if a factor has none."""
    factors = list(filter(None, parts))
    return reduce(mul, factors) if factors and len(factors) == len(parts) else None


def _is_faster(base: Result, new: Result, metrics: Sequence[CostMetric]) -> bool:
    return ahead_by(base, new, metrics).verdict is Verdict.FASTER


def _reasons(row: Result, objective: Objective, needed: Sequence[CostMetric]) -> list[str]:
    """Return the reasons to rule out a case: changed files, a missing metric, or the violated constraints."""
    if row.case.file_changes:
        return list(row.case.file_changes)
    lack = _missing_metric(row, objective, needed)
    return [lack] if lack else violations(row, objective.constraints)


def _relaxations(
    rows: Iterable[Result], objective: Objective, needed: Sequence[CostMetric]
) -> tuple[Relaxation, ...]:
    complete = (row for row in rows if _missing_metric(row, objective, needed) is None)
    able = [row for row in complete if not row.case.file_changes]
    return nearest_relaxations(able, objective.constraints)


def _missing_metric(result: Result, objective: Objective, needed: Sequence[CostMetric]) -> str | None:
    """Return why a case can't be ranked: diverged training, or a missing metric. None if it can."""
    if failed := failures(result.case):
        return f"{failed}, so it did less than the others"
    if result.metrics.diverged:
        return "loss not finite: the steps train nothing"
    if objective.steps is not None and job_ms(result, objective.steps) is None:
        return "cold cost unknown: the source has no steps"
    return next((metric.missing_reason for metric in needed if metric.cost(result) is None), None)


def _not_measured(session: Session, objective: Objective) -> Iterator[RejectedCase]:
    for case in session.cases:
        if not case.has_result and objective.work in (None, case.config.work):
            reason = case.finished.reason if case.finished else None
            word = None if case.state == "skipped" else outcome(case)  # a skip is explained by its reason
            yield RejectedCase(case, ": ".join(filter(None, (word, reason))))
