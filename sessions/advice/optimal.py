"""Which case to run for a need, under constraints, and whether the next one can be told apart from it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import mul
from typing import Literal

import msgspec
from msgspec import structs

from benchtui.sessions.advice.constraints import Relaxed, nearest_relaxations, violations
from benchtui.sessions.advice.objectives import (
    PEAK_MEMORY,
    SAMPLE_TIME,
    STEP_TIME,
    CostMetric,
    Need,
    Objective,
    cost_metrics,
    job_ms,
    known_to_all,
    memory_mb,
    step_ms,
)
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SAME_WITHIN
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import (
    Ratio,
    Verdict,
)
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.sweep import AXES, UNKNOWN, Axes, Config, Sweep

NEAR = 0.1
"""Share up to which a lead that isn't established is given up for a simpler case."""
MOST_TRIES = 20
"""Simpler cases that are held against all others before the one with the best figure is taken."""
TAIL = 1.1
"""How many times as long as the next case's a tail may be before the lead isn't clear any more."""

TAILED: tuple[Need, ...] = ("throughput", "latency")
"""The needs to which slow steps matter."""
CHOICES = ("machine", "precision", "attention", "compile", "threads", "padding")
"""Options that a case may have other than the defaults, batch size and device aside."""

NEVER_ENDED = {"queued": "not measured", "running": "unfinished", "oom": "out of memory", "skipped": ""}
"""Where the words for a state aren't the session's own; the reason for skipping says enough."""


@dataclass(frozen=True, slots=True)
class RejectedCase:
    """A case that isn't chosen from, and why."""

    case: CaseState
    reason: str


@dataclass(frozen=True, slots=True)
class Tail:
    """A percentile of two cases in which the chosen one is the slower."""

    name: Literal["p99", "p90"]
    best_ms: float
    other_ms: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The case to run, or why there is none."""

    objective: Objective
    best: Result | None
    runner_up: Result | None
    ahead: Ratio | None
    """How many times as good the best is as the runner-up."""
    ties: tuple[Result, ...]
    """The other cases among which no figure decides, the nearest first: the same, or a lead that isn't
    established and is small."""
    leader: Result | None
    """The case with the best figure, where a simpler one was chosen in its place; else None."""
    unsure: int
    """How many further cases can't be told apart from the best for want of certainty."""
    tail: Tail | None
    """How far the slow steps of the best lie above those of the runner-up, where they are longer."""
    fit: tuple[Result, ...]
    """The cases that keep to the constraints."""
    left_out: tuple[RejectedCase, ...]
    relaxed: tuple[Relaxed, ...]
    """Without a best case: each constraint that alone is in the way, the nearest to letting one in first."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the best is surely better than the runner-up; None without one."""
        return self.ahead.verdict if self.ahead else None

    @property
    def front(self) -> tuple[Result, ...]:
        """Of the cases that fit, those not beaten in all of samples/s, step and peak memory."""
        return front(self.fit)

    @property
    def clear(self) -> bool:
        """Whether the best is surely better than every other, its slow steps among them."""
        sure = self.verdict is Verdict.FASTER and not self.ties and not self.unsure
        return sure and self.tail is None


def decide(session: Session, objective: Objective, results: Sequence[Result] | None = None) -> Decision:
    """The best measured case for what is wanted; ``results`` are those of the session where they are known.

    Where several cases can't be told apart, the simplest of them: see ``simplest``.
    """
    known = measured(session) if results is None else results
    rows = [row for row in known if objective.sequence_length in (None, row.config.sequence_length)]
    able = [row for row in rows if _lack(row, objective) is None]
    fit = [row for row in able if not violations(row, objective.constraints)]
    figures = cost_metrics(objective, fit)
    costs = sorted(((_cost(row, figures), row) for row in fit), key=lambda each: each[0])
    ranked = [row for _, row in costs]
    leader = ranked[0] if ranked else None
    near = _undecided(
        [row for cost, row in costs if row is leader or _near(cost, row, *costs[0], figures)], figures
    )
    best = simplest(near) if near else None
    runner_up = next((row for row in ranked if row is not best), None)
    return Decision(
        objective=objective,
        best=best,
        runner_up=runner_up,
        ahead=_ahead(runner_up, best, figures) if best and runner_up else None,
        ties=tuple(row for row in near if row is not best),
        leader=None if leader is best else leader,
        unsure=_unsure(ranked, near, best, figures) if best else 0,
        tail=_tail(best, runner_up, objective.need) if best and runner_up else None,
        fit=tuple(fit),
        left_out=(*_unfit(rows, objective), *_not_measured(session, objective)),
        relaxed=() if ranked else nearest_relaxations(able, objective.constraints),
    )


def _unsure(
    ranked: Iterable[Result], near: Iterable[Result], best: Result, figures: Sequence[CostMetric]
) -> int:
    """How many cases beside those near the leader can't be told apart from the best."""
    tied = {row.case.index for row in near}
    apart = (_ahead(row, best, figures) for row in ranked if row.case.index not in tied)
    return sum(ratio.verdict is Verdict.UNSURE for ratio in apart)


def _undecided(near: list[Result], figures: Sequence[CostMetric]) -> list[Result]:
    """The leader and the cases that it isn't told apart from, the simplest of which none of them surely beats.

    Two cases that a scattered leader isn't told apart from may well be told apart from each other.
    """
    left = list(near)
    for _ in range(MOST_TRIES):
        best = simplest(left) if left else None
        if best is None or best is near[0]:
            return left
        others = (_ahead(best, row, figures) for row in near if row is not best)
        if not any(ratio.verdict is Verdict.FASTER for ratio in others):
            return left
        left = [row for row in left if row is not best]
    return near[:1]


def simplest(rows: Sequence[Result]) -> Result:
    """Of cases that can't be told apart the one that asks for least, the first where that doesn't say.

    In this order: no compiler; the least memory; the shortest step; the fewest options that aren't defaults.
    What lies within the margin of equivalence counts as equal.
    """
    left = list(rows)
    for cost in (_compiled, memory_mb, step_ms, _options):
        known = [value for row in left if (value := cost(row)) is not None]
        if len(known) == len(left):
            most = min(known) + SAME_WITHIN * abs(min(known))  # a reading may be below 0
            left = [row for row in left if (cost(row) or 0.0) <= most]
    return left[0]


def _cost(row: Result, figures: Sequence[CostMetric]) -> float:
    """What is to be kept small, as one number."""
    return prod(figure.cost(row) or 0.0 for figure in figures)


def _near(cost: float, row: Result, least: float, leader: Result, figures: Sequence[CostMetric]) -> bool:
    """Whether the leader's lead over a case is none to speak of, by its figures and by its typical steps."""
    if not cost < (1 + NEAR) * least:
        return False  # most cases, without their ratio, which takes a hundred times as long
    ahead = _ahead(row, leader, figures)
    most = 1 + (SAME_WITHIN if ahead.bounds is None else NEAR)
    return ahead.verdict is not Verdict.FASTER and cost < most * least and ahead.value < most


def _tail(best: Result, other: Result, need: Need) -> Tail | None:
    """The longest percentile that both have, where it is longer in the best case by more than a little.

    For latency that of a step; for throughput that of a sample, since larger batches take longer steps.
    """
    if need not in TAILED:
        return None
    sizes = (1, 1) if need == "latency" else (best.metrics.samples_per_step, other.metrics.samples_per_step)
    one, two = best.metrics.latency_ms, other.metrics.latency_ms
    name: Literal["p99", "p90"]
    for name in ("p99", "p90"):
        mine, theirs = getattr(one, name), getattr(two, name)
        if mine is not None and theirs is not None:
            return Tail(name, mine, theirs) if mine / sizes[0] > TAIL * theirs / sizes[1] else None
    return None


def _compiled(result: Result) -> float:
    return float(result.config.compile not in ("off", UNKNOWN))


def _options(result: Result) -> float:
    """How many options of a case aren't the defaults of a sweep."""
    plain = Config(device=result.config.device)
    return float(sum(getattr(result.config, option) != getattr(plain, option) for option in CHOICES))


def lengths(session: Session) -> tuple[int, ...]:
    """The sequence lengths of the measured cases, in tokens: another length is other work, and no choice."""
    return tuple(sorted({row.config.sequence_length for row in measured(session)}))


def front(results: Sequence[Result]) -> tuple[Result, ...]:
    """The Pareto front in samples/s, time of a step and peak memory, the highest throughput first.

    A figure that not all of the results have is left out.
    """
    known = known_to_all((SAMPLE_TIME, STEP_TIME, PEAK_MEMORY), results)
    costs = sorted(([figure.cost(row) or 0.0 for figure in known], place) for place, row in enumerate(results))
    kept: list[tuple[list[float], int]] = []
    for cost, place in costs:  # in this order none beats one before it
        if not any(_beats(other, cost) for other, _ in kept):
            kept.append((cost, place))
    return tuple(sorted((results[place] for _, place in kept), key=lambda row: SAMPLE_TIME.cost(row) or 0.0))


def _ahead(base: Result, new: Result, figures: Sequence[CostMetric]) -> Ratio:
    """How many times as good the new case is as the base; bounded where every figure is."""
    parts = [figure.ratio(base, new) or Ratio(1.0) for figure in figures]
    if len(parts) == 1:
        return parts[0]
    return Ratio(
        prod(part.value for part in parts),
        _product([part.bounds for part in parts]),
        fast=_product([part.fast or part.bounds for part in parts]),
        totals=_product([part.totals or part.bounds for part in parts]),
        same_within=parts[0].same_within if parts else 0.0,
        outside=tuple(dict.fromkeys(why for part in parts for why in part.outside)),
    )


def _product(parts: Sequence[Bounds | None]) -> Bounds | None:
    """Bounds of a product; None where not every factor has some."""
    known = [part for part in parts if part]
    return reduce(mul, known) if known and len(known) == len(parts) else None


def _unfit(rows: Sequence[Result], objective: Objective) -> Iterator[RejectedCase]:
    for row in rows:
        lack = _lack(row, objective)
        reasons = [lack] if lack else violations(row, objective.constraints)
        if reasons:
            yield RejectedCase(row.case, "; ".join(reasons))


def _lack(result: Result, objective: Objective) -> str | None:
    """The figure without which a case can't be ranked, or None."""
    if objective.steps is not None and job_ms(result, objective.steps) is None:
        return "the cost of its first step isn't known: its source kept no steps"
    needed = cost_metrics(objective, [result])
    return next((each.lacking for each in needed if each.cost(result) is None), None)


def _not_measured(session: Session, objective: Objective) -> Iterator[RejectedCase]:
    for case in session.cases:
        if case.state != "ok" and objective.sequence_length in (None, case.config.sequence_length):
            reason = case.finished.reason if case.finished else None
            word = NEVER_ENDED.get(case.state, case.state)
            yield RejectedCase(case, ": ".join(part for part in (word, reason) if part))


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def single_case_sweep(sweep: Sweep, config: Config) -> Sweep:
    """The sweep with this one configuration in place of its axes, without a baseline to compare it with.

    Raises:
        BenchtuiError: for a case of another tool, whose options aren't all known.
    """
    if config.label:
        name = visible(config.name, LONGEST_VALUE)
        raise BenchtuiError(f"{name}: a case of another tool, which benchtui can't run")
    axes = msgspec.convert({axis: (getattr(config, axis),) for axis in AXES}, Axes)
    measure = structs.replace(sweep.measure, baseline=None, aa=False)
    return structs.replace(sweep, name=f"{sweep.name}-optimal", axes=axes, measure=measure, exclude=())
