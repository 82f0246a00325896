"""Elimination: cases that can't be the best for an objective anymore, measured or not.

A measured case leaves once it is surely worse than the best, or if its answer or a constraint excludes it. A
case without a round leaves if the cost expected from its options is too high, with an allowance per option
for their interaction. Only a large difference is enough.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import exp, hypot, log

from msgspec.structs import replace

from benchtui.sessions.advice.constraints import NONE, Constraints, violations
from benchtui.sessions.advice.expected_costs import UNPREDICTED, Expected
from benchtui.sessions.advice.objectives import NEAR, Objective, cost_metrics
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
from benchtui.sessions.stats.verdicts import Doubt, Verdict
from benchtui.sessions.sweep import Config
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
INTERACTION = log(1.18)
"""Allowance for the interaction of two options, as a logarithm of the cost. In 600 simulated searches, 1.25
left out fewer cases, in more time, and the choice was near the best less often (in 95.0%, not 95.7%)."""


def best_cases(session: Session, objective: Objective, results: Sequence[Result]) -> list[Decision]:
    """Return the best case of each work so far. A p99 that needs more steps excludes no case yet."""
    allowed = [row for row in results if not _excluded(row, objective.constraints)]
    free = replace(objective, constraints=NONE)
    return [decide(session, replace(free, work=work), rows) for work, rows in by_work(allowed).items()]


def _excluded(row: Result, constraints: Constraints) -> bool:
    limits = constraints if row.metrics.latency_ms.p99 else replace(constraints, p99_ms=None)
    return bool(violations(row, limits))


def search_questions(
    session: Session, decisions: Sequence[Decision], results: Sequence[Result]
) -> list[OpenQuestion]:
    """Return the open questions of a search, the likeliest rivals of the best cases first, their gain last."""
    expected = expected_of(decisions)

    def turn(question: OpenQuestion) -> tuple[bool, float]:
        return "verdict" in question.about, expected.get(question.cases[0].index, UNPREDICTED).cost

    return sorted(merged([*contests(decisions), *gains(session, decisions, results)]), key=turn)


def expected_of(decisions: Iterable[Decision]) -> dict[int, Expected]:
    """Return the expected costs of the cases of all works."""
    return {index: cost for choice in decisions for index, cost in choice.expected.items()}


def promising(decisions: Iterable[Decision], looks: Iterable[int]) -> list[int]:
    """Return the unmeasured cases that are expected to be better than the best one of their work."""

    def cost(choice: Decision, index: int) -> float:
        return choice.expected.get(index, UNPREDICTED).cost

    best = [(choice, cost(choice, choice.best.case.index)) for choice in decisions if choice.best]
    return [index for choice, least in best for index in looks if cost(choice, index) < least]


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
        if ratio.low is None:
            notably_better = ratio.doubt is Doubt.OUTSIDE or ratio.value < 1 + NEAR
        else:
            notably_better = ratio.low < 1 / (1 + WORTH)
        if notably_better:
            yield about, row, best, ratio


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
        """Return the other cases: the baseline, those with one different option, then those with several.

        Among these, those of a lower expected cost come first, because a better best case excludes more.
        """
        out, expected = set(dropped), expected_of(decisions)
        looks = [case for case in self._looks if case.index not in out]

        def turn(case: CaseState) -> tuple[int, float]:
            several = min(len(self._varied(case.config)), 2)
            return several, expected.get(case.index, UNPREDICTED).cost if several == 2 else 0.0

        return [case.index for case in sorted(looks, key=turn)]

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
        least = total_cost(best, cost_metrics(choice.objective, choice.fit))
        dropped = {}
        for case in self._looks:
            expected, varied = choice.expected.get(case.index), self._varied(case.config)
            if case.config.work != best.config.work or expected is None or len(varied) < 2:
                continue
            if _lowest(expected, len(varied) - 1, best.noise) > least:
                factor = expected.cost / least
                dropped[case.index] = f"its options make it about {factor:.2g}x worse than the best"
        return dropped


def _ruled_out(row: Result, objective: Objective, batch_size: int) -> str | None:
    """Return why a batch size rules out another one of the same options: its answers, or growing limits."""
    limits, larger = objective.constraints, batch_size > row.config.batch_size
    growing = Constraints(vram_mb=limits.vram_mb, latency_ms=limits.latency_ms) if larger else NONE
    answers = Constraints(answer=limits.answer) if row.case.comparison else NONE
    reasons = [*violations(row, growing), *violations(row, answers)]
    return reasons[0] if reasons else None


def _lowest(expected: Expected, interactions: int, noise: Noise) -> float:
    """Return the lowest cost that is possible next to the best case's."""
    error = log(PACE_FACTOR)
    if noise.known:
        quantile = student_t_quantile((1 + VERDICT_CONFIDENCE) / 2, noise.pool.freedom)
        error = quantile * hypot(expected.error, noise.between)
    return expected.cost * exp(-error - interactions * INTERACTION)
