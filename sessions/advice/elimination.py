"""Elimination: cases that can't be the best for an objective anymore, measured or not.

A measured case leaves once it is surely worse than the best, or if its answer or a constraint excludes it. A
case without a round leaves if its options make it too slow. The effect of each option is that on the baseline;
effects multiply, up to an allowance per option for their interaction. Only a large difference is enough.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import exp, inf, log, sqrt

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.constraints import NONE, Constraints, violations
from benchtui.sessions.advice.objectives import NEAR, CostMetric, Objective, cost_metrics
from benchtui.sessions.advice.open_questions import Obstacle, OpenQuestion, Pair, choices, merged
from benchtui.sessions.advice.optimal import Decision, decide, total_cost
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.noise import Noise
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import Result, by_work
from benchtui.sessions.stats.sampling import VERDICT_CONFIDENCE
from benchtui.sessions.stats.verdicts import Doubt, Ratio, Verdict
from benchtui.sessions.sweep import Config, Work
from benchtui.sessions.sweep.options import AXES

CLOSE: tuple[Obstacle, ...] = ("close", "many rounds")
"""Reasons against further rounds that a search ignores: they show at least which of two cases may be better."""
CONTENDERS = 4
"""Rivals of the best case that get further rounds in a search, likeliest first."""
WORTH = 0.03
"""Advantage over the best case below which a rival isn't worth measuring."""
PACE_FACTOR = 1.4
"""Ratio to the best case up to which one round, or an estimate, doesn't exclude a rival: processes of one case
may run at two paces, 33% apart."""
INTERACTION = log(1.25)
"""Allowance for the interaction of two options, as a logarithm of the cost."""


class Estimate(msgspec.Struct, frozen=True):
    """Estimated cost of a case that wasn't measured."""

    cost: float
    """Logarithm."""
    readings: int = 1
    """Number of measured costs behind it, which determines its error."""
    interactions: int = 0


def best_cases(session: Session, objective: Objective, results: Sequence[Result]) -> list[Decision]:
    """Return the best case of each work so far. A p99 that needs more steps excludes no case yet."""
    allowed = [row for row in results if not _excluded(row, objective.constraints)]
    free = replace(objective, constraints=NONE)
    return [decide(session, replace(free, work=work), rows) for work, rows in by_work(allowed).items()]


def _excluded(row: Result, constraints: Constraints) -> bool:
    known = constraints if row.metrics.latency_ms.p99 else replace(constraints, p99_ms=None)
    return bool(violations(row, known))


def search_questions(
    session: Session, decisions: Sequence[Decision], results: Sequence[Result]
) -> list[OpenQuestion]:
    """Return the open questions of a search, the likeliest rivals of the best cases first, their gain last."""
    expected = {index: cost for choice in decisions for index, cost in choice.expected.items()}

    def turn(question: OpenQuestion) -> tuple[bool, float]:
        return "verdict" in question.about, expected.get(question.cases[0].index, inf)

    return sorted(merged([*contests(decisions), *gains(session, decisions, results)]), key=turn)


def worth_rounds(questions: Sequence[OpenQuestion]) -> list[OpenQuestion]:
    """Return the questions of the likeliest rivals, and after the first one that of the gain.

    The other rivals may leave without further rounds.
    """
    open_ones = [question for question in questions if question.rounds or question.obstacle in CLOSE]
    rivals = [question for question in open_ones if "verdict" not in question.about]
    gain = [question for question in open_ones if "verdict" in question.about]
    return [*rivals[:1], *gain, *rivals[1:CONTENDERS]]


def contests(decisions: Iterable[Decision]) -> Iterator[Pair]:
    """Yield the cases that may be notably better than the best."""
    for about, row, best, ratio in choices(decisions):
        if _may_be_notably_better(ratio):
            yield about, row, best, ratio


def _may_be_notably_better(ratio: Ratio) -> bool:
    """Return whether the first case of a ratio is worth another round of a search."""
    if ratio.low is None:
        return ratio.doubt is Doubt.OUTSIDE or ratio.value < 1 + NEAR
    return ratio.low < 1 / (1 + WORTH)


def unproven(decisions: Iterable[Decision], objective: Objective) -> Iterator[Result]:
    """Yield the cases that need another round before a best case is certain.

    These are rivals whose only round may have run at a slower pace than others would, and a best case with too
    few steps for the p99 that a constraint limits.
    """
    for choice in decisions:
        if choice.best is None:
            continue
        if objective.constraints.p99_ms is not None and choice.best.metrics.latency_ms.p99 is None:
            yield choice.best
        metrics = cost_metrics(choice.objective, choice.fit)
        most = PACE_FACTOR * total_cost(choice.best, metrics)
        once = [row for row in choice.fit if len(row.rounds) == 1 and total_cost(row, metrics) <= most]
        if once != [choice.best]:
            yield from once


def gains(session: Session, decisions: Iterable[Decision], results: Sequence[Result]) -> Iterator[Pair]:
    """Yield the best cases whose advantage over their baseline is open."""
    bases = baselines(results, session.start.sweep.measure.baseline)
    for choice in decisions:
        base = bases.get(choice.best.config.work) if choice.best else None
        if choice.best is None or base is None or base is choice.best:
            continue
        ratio = comparison(base, choice.best).ratio
        if ratio and ratio.verdict is Verdict.UNSURE:
            yield "verdict", base, choice.best, ratio


class Unmeasured:
    """Cases without a round, in an order that shows early what isn't worth measuring."""

    def __init__(self, session: Session, looks: Sequence[CaseState], results: Sequence[Result]) -> None:
        self._session = session
        self._results = {row.case.config: row for row in results}
        self._cases = {case.config: case for case in session.cases}
        named = session.start.sweep.measure.baseline
        self._bases = baselines(session.cases, named)
        self._looks = sorted(looks, key=lambda case: len(self._varied(case.config)))

    def dropped(self, objective: Objective, decisions: Sequence[Decision]) -> dict[int, str]:
        """Return the cases that can't win, each with the reason."""
        reasons = ((case, self._reason(case, objective)) for case in self._looks)
        dropped = {case.index: reason for case, reason in reasons if reason}
        for choice in decisions:
            if choice.best:
                dropped = self._too_slow(choice, choice.best) | dropped
        return dropped

    def ordered(self, dropped: Iterable[int], decisions: Sequence[Decision]) -> list[int]:
        """Return the other cases: the baseline, those with one different option, with two, and so on.

        Among the latter, those of a lower estimated cost come first, because a better best case excludes more.
        """
        out, costs = set(dropped), self._costs(decisions)
        looks = [case for case in self._looks if case.index not in out]
        return [case.index for case in sorted(looks, key=lambda case: self._turn(case, costs))]

    def _turn(self, case: CaseState, costs: dict[Work, "_Estimates"]) -> tuple[int, float]:
        """Return the sort key of a first look."""
        varied, estimates = self._varied(case.config), costs.get(case.config.work)
        estimate = estimates.of(case.config, varied) if estimates else None
        return len(varied), estimate.cost if estimate else -inf

    def _costs(self, decisions: Iterable[Decision]) -> dict[Work, "_Estimates"]:
        chosen = [(choice, choice.best.config.work) for choice in decisions if choice.best]
        return {
            work: _Estimates(
                self._results, self._bases[work].config, cost_metrics(choice.objective, choice.fit)
            )
            for choice, work in chosen
        }

    def _varied(self, config: Config) -> list[str]:
        """Return the options in which a case differs from its baseline."""
        base = self._bases.get(config.work)
        return [axis for axis in AXES if base and getattr(config, axis) != getattr(base.config, axis)]

    def _reason(self, case: CaseState, objective: Objective) -> str | None:
        """Return why another batch size of the same options rules a case out."""
        for size in self._session.start.sweep.axes.batch_size:
            config = replace(case.config, batch_size=size)
            other, row = self._cases.get(config), self._results.get(config)
            if other is None or other is case:
                continue
            if size < case.config.batch_size and other.state == "oom":
                return f"{size:,} samples per step ran out of memory"
            if row and (reason := _ruled_out(row, objective, case.config.batch_size)):
                return f"with {size:,} samples per step: {reason}"
        return None

    def _too_slow(self, choice: Decision, best: Result) -> dict[int, str]:
        """Return the cases whose options make them surely worse than the best."""
        metrics = cost_metrics(choice.objective, choice.fit)
        estimates = self._costs([choice])[best.config.work]
        least = log(total_cost(best, metrics))
        dropped = {}
        for case in self._looks:
            if case.config.work == best.config.work:
                estimate = estimates.of(case.config, self._varied(case.config))
                if estimate and _lowest(estimate, best.noise) > least:
                    factor = exp(estimate.cost - least)
                    dropped[case.index] = f"its options make it about {factor:.2g}x worse than the best"
        return dropped


class _Estimates:
    """Estimated costs of cases, from the effect of each option on the baseline."""

    def __init__(self, results: dict[Config, Result], base: Config, metrics: Sequence[CostMetric]) -> None:
        self._results = results
        self._base = base
        self._metrics = metrics
        self._known: dict[Config, Estimate | None] = {}

    def of(self, config: Config, varied: Sequence[str]) -> Estimate | None:
        """Return the lowest estimate of a case's cost; None without the measured effects of its options."""
        if config not in self._known:
            measured = self._measured(config)
            self._known[config] = measured or min(
                self._combined(config, varied), key=lambda estimate: estimate.cost, default=None
            )
        return self._known[config]

    def _combined(self, config: Config, varied: Sequence[str]) -> Iterator[Estimate]:
        if len(varied) < 2:
            return
        base = self._measured(self._base)
        for option in varied:
            plain = {option: getattr(self._base, option)}
            others = [name for name in varied if name != option]
            without = self.of(replace(config, **plain), others)
            alone = self._measured(replace(self._base, **{option: getattr(config, option)}))
            if base and without and alone:
                yield Estimate(
                    without.cost + alone.cost - base.cost, without.readings + 2, without.interactions + 1
                )

    def _measured(self, config: Config) -> Estimate | None:
        row = self._results.get(config)
        cost = total_cost(row, self._metrics) if row else 0.0
        return Estimate(log(cost)) if cost > 0 else None


def _ruled_out(row: Result, objective: Objective, batch_size: int) -> str | None:
    """Return why a batch size rules out another one of the same options: its answers, or growing limits."""
    limits, larger = objective.constraints, batch_size > row.config.batch_size
    growing = Constraints(vram_mb=limits.vram_mb, latency_ms=limits.latency_ms) if larger else NONE
    answers = Constraints(answer=limits.answer) if row.case.comparison else NONE
    reasons = [*violations(row, growing), *violations(row, answers)]
    return reasons[0] if reasons else None


def _lowest(estimate: Estimate, noise: Noise) -> float:
    """Return the lowest cost that an estimate allows next to the best case's, as a logarithm."""
    if not estimate.interactions:
        return -inf
    error = log(PACE_FACTOR)
    if noise.known:
        quantile = student_t_quantile((1 + VERDICT_CONFIDENCE) / 2, noise.pool.freedom)
        error = quantile * noise.between * sqrt(estimate.readings + 1)
    return estimate.cost - error - estimate.interactions * INTERACTION
