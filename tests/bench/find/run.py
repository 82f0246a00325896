"""How well the planned rounds choose and decide, on simulated sessions of known truth.

``python tests/bench/find/run.py`` plays each drawn grid in six ways: with ``find``, also in half of the time
that the first rounds of all cases take, with ``rounds = "auto"`` in its default budget and in half of the time
of five rounds, and with five rounds or one of every case. It prints how
often the choice is within 3% of the true best, the share of the time of five rounds, false verdicts, and
sessions that exceeded their budget by more than a case. ``tests/sessions/advice/test_simulated_races.py`` runs
a short part of it.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

import numpy as np
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1] / "verdicts"))

from planted import Play, Truth, draw, every_case
from worlds import PACED

from benchtui.sessions.advice.objectives import Objective, find_objective
from benchtui.sessions.advice.optimal import Decision, decide
from benchtui.sessions.advice.race import plan_rounds, seconds_left
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Verdict
from benchtui.sessions.sweep import Find, Run

KINDS = ("find", "find, half", "auto", "auto, half", "five rounds", "one round")
LOOKS = 10
"""Plans in which a search drops cases before each of them has a round. The engine makes one per round."""
NEAR = 0.03
"""Largest loss of a good choice."""


@dataclass
class Verdicts:
    """Verdicts of cases over their baselines, and how many contradict the truth."""

    decided: int = 0
    right: int = 0
    false: int = 0
    pairs: int = 0

    @property
    def decided_percent(self) -> float:
        """Percentage of decided ones."""
        return 100 * self.decided / max(self.pairs, 1)

    def add(self, other: "Verdicts") -> None:
        """Add the verdicts of another session."""
        for name in ("decided", "right", "false", "pairs"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Outcome:
    """What a race or a sweep ended with."""

    world: str
    paced: bool
    """Whether processes of one case run at two paces."""
    cases: int
    rounds: int
    loss: float
    """True cost of the choice over that of the best case, minus 1."""
    sure: bool
    """Whether the choice was called clear."""
    within: float | None
    """Stated bound on the loss; None if there is none."""
    likely: float | None
    """Stated likely loss of a choice that isn't recommended."""
    share: float
    """Time over that of the whole grid at five rounds."""
    over: float
    """Time beyond the budget, over that of the longest case."""
    ended: str
    verdicts: Verdicts

    def __str__(self) -> str:
        sure = "clear" if self.sure else "-"
        return (
            f"{self.world:30} {self.cases:4} cases {self.rounds:4} rounds {100 * self.share:4.0f}%"
            f" loss {100 * self.loss:6.2f}% {sure:6} {self.ended}"
        )


def race(truth: Truth, seed: int) -> Outcome:
    """Play a race to its end."""
    play = Play(truth, np.random.default_rng(seed))
    session = play.session
    while (plan := plan_rounds(session)).rounds:
        play.skip(index for index, _ in plan.dropped)
        looks = [index for index in plan.rounds if not session.cases[index].ends]
        batch = looks[: 1 + len(looks) // LOOKS] if truth.sweep.find else looks
        for index in batch or plan.rounds:
            play.run_round(index)
            if seconds_left(session) <= 0:
                break
    return outcome_of(play, plan.ended or "")


def sweep(truth: Truth, seed: int, rounds: int) -> Outcome:
    """Play a sweep with a fixed number of rounds."""
    play = Play(truth, np.random.default_rng(seed))
    for index in every_case(play, rounds):
        play.run_round(index)
    return outcome_of(play, "")


def outcome_of(play: Play, ended: str) -> Outcome:
    """Return how a session ended, against its truth."""
    truth, session = play.truth, play.session
    objective = find_objective(session, truth.sweep.find) if truth.sweep.find else Objective()
    choice = decide(session, objective)
    longest = max(truth.round_s(index) for index in range(len(truth.plan)))
    return Outcome(
        world=f"{truth.world.name} {100 * truth.spread:g}%{' recorded' if truth.recorded else ''}",
        paced=truth.world in PACED,
        cases=len(truth.plan),
        rounds=sum(len(case.ends) for case in session.cases),
        loss=_loss(truth, choice),
        sure=choice.clear,
        within=choice.within,
        likely=choice.likely_within,
        share=session.now_s / truth.full_s,
        over=-seconds_left(session) / longest,
        ended=ended,
        verdicts=_verdicts(play),
    )


def _loss(truth: Truth, choice: Decision) -> float:
    able = truth.valid if truth.sweep.find else [i for i, o in enumerate(truth.outcomes) if o == "ok"]
    if choice.best is None:
        return float("inf") if able else 0.0
    return truth.sample_ms(choice.best.case.index) / min(map(truth.sample_ms, able)) - 1


def _verdicts(play: Play) -> Verdicts:
    """Count the verdicts on the first case as the baseline."""
    truth, results = play.truth, measured(play.session)
    base = baselines(results, play.session.start.sweep.measure.baseline)
    tally = Verdicts()
    for row in results:
        first = base.get(row.config.work)
        if first is None or first is row:
            continue
        true = truth.sample_ms(first.case.index) / truth.sample_ms(row.case.index)
        verdict = comparison(first, row).verdict
        same = row.noise.margin
        wrong = {
            Verdict.FASTER: true <= 1,
            Verdict.SLOWER: true >= 1,
            Verdict.SAME: not 1 / (1 + 2 * same) <= true <= 1 + 2 * same,
        }.get(verdict, False)
        tally.pairs += 1
        tally.decided += verdict is not Verdict.UNSURE
        tally.right += verdict is not Verdict.UNSURE and not wrong
        tally.false += wrong
    return tally


@dataclass
class Table:
    """Outcomes of one way to measure."""

    title: str
    outcomes: list[Outcome] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the figures as text."""
        found = self.outcomes
        steady = [each for each in found if not each.paced]
        sure = [each for each in found if each.sure]
        verdicts = self.verdicts
        shares = [100 * each.share for each in found]
        decided, decided_steady = self.verdicts.decided_percent, total(steady).decided_percent
        yield f"{self.title}: {len(found)} sessions"
        yield f"  choice within 3% of the best: {good(found):.1f}%, {good(steady):.1f}% with one pace"
        yield f"  share of the time of five rounds: mean {fmean(shares):.0f}%, median {median(shares):.0f}%"
        yield f"  called clear: {len(sure)}, wrong: {self.wrong}"
        bounds = [each.within for each in found if each.within is not None]
        middle = 100 * median(bounds or [0])
        yield f"  bound on the loss: {len(bounds)}, median {middle:.0f}%, exceeded: {self.exceeded}"
        likely = [(each.likely, each.loss) for each in found if each.likely is not None]
        exceeded = sum(loss > stated + MIN_EFFECT for stated, loss in likely)
        middle = 100 * median([stated for stated, _ in likely] or [0])
        yield f"  likely loss: {len(likely)}, median {middle:.0f}%, exceeded: {exceeded}"
        yield (
            f"  verdicts on the baseline: {verdicts.pairs}, {decided:.0f}% decided, {verdicts.false} false;"
            f" {decided_steady:.0f}% decided with one pace"
        )
        for text in sorted({each.ended for each in found} - {""}):
            yield f"  ended {sum(each.ended == text for each in found):4}: {text}"
        if "round" not in self.title:
            yield f"  over the budget by more than a case: {sum(each.over > 1 for each in found)}"

    @property
    def wrong(self) -> int:
        """Number of choices called clear that aren't the best."""
        return sum(each.sure and each.loss > MIN_EFFECT for each in self.outcomes)

    @property
    def exceeded(self) -> int:
        """Number of choices whose true loss exceeds the stated bound, by more than is worth reporting."""
        return sum(each.within is not None and each.loss > each.within + MIN_EFFECT for each in self.outcomes)

    @property
    def verdicts(self) -> Verdicts:
        """Verdicts of all sessions."""
        return total(self.outcomes)


def total(outcomes: Iterable[Outcome]) -> Verdicts:
    """Return the verdicts of several sessions together."""
    verdicts = Verdicts()
    for each in outcomes:
        verdicts.add(each.verdicts)
    return verdicts


def good(outcomes: Sequence[Outcome]) -> float:
    """Return the percentage of choices within 3% of the best."""
    return 100 * fmean(each.loss <= NEAR for each in outcomes) if outcomes else 100.0


def play_all(numbers: Iterable[int], kinds: Sequence[str], most: int) -> dict[str, Table]:
    """Play the same grids in each way."""
    tables = {kind: Table(kind) for kind in kinds}
    for number in numbers:
        for kind, table in tables.items():
            find = Find() if kind.startswith("find") else None
            truth = draw(np.random.default_rng([1, number]), most, find)
            if kind == "find, half":
                truth.sweep = replace(truth.sweep, run=Run(budget_s=truth.first_s / 2))
            if kind == "auto, half":
                truth.sweep = replace(truth.sweep, run=Run(budget_s=truth.full_s / 2 - truth.first_s))
            rounds = {"five rounds": 5, "one round": 1}.get(kind)
            played = sweep(truth, number, rounds) if rounds else race(truth, number)
            table.outcomes.append(played)
    return tables


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=200)
    options.add_argument("--first", type=int, default=0, help="number of the first session")
    options.add_argument("--most", type=int, default=200, help="cases of the largest grid")
    options.add_argument("--kinds", default="/".join(KINDS), help="separated by slashes")
    options.add_argument("--each", action="store_true", help="print each session")
    wanted = options.parse_args()
    kinds = wanted.kinds.split("/")
    if unknown := set(kinds).difference(KINDS):
        options.error(f"--kinds: {'/'.join(sorted(unknown))}: must be of {'/'.join(KINDS)}")
    numbers = range(wanted.first, wanted.first + wanted.sessions)
    for table in play_all(numbers, kinds, wanted.most).values():
        if wanted.each:
            print(*table.outcomes, sep="\n")
        print(*table.lines(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
