"""How often each verdict is given to cases of known truth, by the rule in use and by the former one.

``python tests/bench/verdicts/run.py`` draws sessions in every world and prints a table of the shares, in
percent. Never: equal cases FASTER or SLOWER in more than 1 of 100, a true 5% SAME, a 95% interval that holds
the truth in fewer than 93 of 100. ``tests/sessions/stats/test_simulated_verdicts.py`` runs a short part of it.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

import numpy as np
import welch
from msgspec.structs import replace
from worlds import (
    JITTER,
    NOISY_PAIR,
    PACED,
    WORLDS,
    World,
    draw_alone,
    draw_by_turns,
    draw_session,
    draw_turns,
    recorded_spread,
    scaled,
    true_ms,
)

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import bounds_ms
from benchtui.sessions.stats.noise import Evidence, Noise, Spread, spread_between, spread_by_turns
from benchtui.sessions.stats.ratios import latency_ratio
from benchtui.sessions.stats.sampling import Sample
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep import Config

SLOWER = (0.03, 0.05, 0.1, 0.2)
"""Planted differences."""
SPREADS = (0.003, 0.01, 0.03)
ROUNDS = (1, 3, 5)
CASES = (2, 4, 8, 16)
SESSION = Session()
SWITCHING = World("switching pace")
"""Machine that changes its pace; its cases are drawn differently."""
SWITCHING_PACED = tuple(World(f"switching, {world.name}", slow_pace=world.slow_pace) for world in PACED)
"""The same, with processes at two paces."""
T = TypeVar("T")


@dataclass(frozen=True)
class Cell:
    """Sessions of one kind."""

    world: World
    spread: float
    rounds: int
    cases: int
    recorded: bool = False
    """Whether earlier sessions of the machine recorded its spread."""
    common: float | None = None
    """Share of the variance that two cases in turns have in common; None for a sweep."""
    others: int = 0
    """Other cases, of three rounds each, in a session whose close cases alternate."""
    by_turns: bool | None = None
    """Whether cases take turns on a machine that changes its pace, or two alternate on it; None for others."""
    steps: int = 40
    jitter: float = JITTER
    """Variation of the steps of cases that take turns."""
    missing: float = 0.0
    """Probability that a round after the first is missing."""

    @property
    def name(self) -> str:
        """Name of the row."""
        kind = f"{self.cases:2} cases" if self.common is None else f"turns, {100 * self.common:.0f}% common"
        kind += f", {self.others} others" if self.others else ""
        if self.by_turns is not None:
            kind = f"{self.cases} cases by turns" if self.by_turns else "two cases alternating"
        kind += f", jitter {100 * self.jitter:.0f}%" if self.jitter != JITTER else ""
        more = f"{', holes' if self.missing else ''}{', recorded' if self.recorded else ''}"
        return f"{self.world.name:14} {100 * self.spread:3.1f}%  {self.rounds} x {self.steps:2}  {kind}{more}"


@dataclass
class Tally:
    """Verdicts and intervals of one rule."""

    pairs: int = 0
    equal: Counter[Verdict] = field(default_factory=Counter)
    planted: dict[float, Counter[Verdict]] = field(default_factory=lambda: {by: Counter() for by in SLOWER})
    held: int = 0
    surely_held: int = 0
    cases: int = 0
    cases_held: int = 0

    def add(self, equal: Ratio, planted: Sequence[Ratio]) -> None:
        """Add the ratios of one pair: without a difference, and with each planted one."""
        if equal.bounds is None:
            raise AssertionError("a drawn pair has no interval")
        self.pairs += 1
        self.equal[equal.verdict] += 1
        self.held += equal.bounds.low <= 1 <= equal.bounds.high
        self.surely_held += equal.bounds.sure_low <= 1 <= equal.bounds.sure_high
        for by, ratio in zip(SLOWER, planted, strict=True):
            self.planted[by][ratio.verdict] += 1

    @property
    def false(self) -> float:
        """Percentage of equal pairs that are called different."""
        return 100 * (self.equal[Verdict.FASTER] + self.equal[Verdict.SLOWER]) / self.pairs

    def same(self, by: float) -> float:
        """Percentage of different pairs that are called the same."""
        return 100 * self.planted[by][Verdict.SAME] / self.pairs

    def power(self, by: float) -> float:
        """Percentage of slower cases that are called slower."""
        return 100 * self.planted[by][Verdict.SLOWER] / self.pairs

    @property
    def coverage(self) -> tuple[float, float, float]:
        """Percentage of 95% and 99% intervals of ratios, and of 95% intervals of cases, that hold the truth."""
        of_cases = 100 * self.cases_held / self.cases if self.cases else float("nan")
        return 100 * self.held / self.pairs, 100 * self.surely_held / self.pairs, of_cases

    def __str__(self) -> str:
        power = " ".join(f"{self.power(by):3.0f}" for by in SLOWER)
        held = " ".join(f"{share:5.1f}" for share in self.coverage)
        same = 100 * self.equal[Verdict.SAME] / self.pairs
        return f"{self.false:5.2f} {self.same(0.05):4.1f} | {held} | {power} | {same:3.0f}"


def judge(cell: Cell, sessions: int, seed: int = 1, former: bool = True) -> tuple[Tally, Tally]:
    """Return the verdicts of the rule in use and of the former one over drawn sessions."""
    dice = np.random.default_rng([seed, *cell.name.encode()])
    ours, theirs = Tally(), Tally()
    for _ in range(sessions):
        factors = cell.world.unlike(dice, cell.cases + cell.others)
        cases = _drawn(cell, dice, factors[: cell.cases])
        others = draw_session(cell.world, dice, factors[cell.cases :], 3, cell.steps, cell.spread)
        pool = spread_between([[each.median for each in rounds] for rounds in (*cases, *others)])
        earlier = recorded_spread(cell.world, dice, cell.steps, cell.spread) if cell.recorded else Spread()
        noise = Noise(pool if pool.known else pool.plus(earlier))
        _add_ours(ours, cell, cases, noise)
        if former:
            _add_theirs(theirs, cases)
    return ours, theirs


def _drawn(cell: Cell, dice: np.random.Generator, factors: np.ndarray) -> list[tuple[Sample, ...]]:
    if cell.by_turns is not None:
        if cell.by_turns:
            return draw_by_turns(
                cell.world, dice, cell.rounds, cell.steps, cell.spread, cell.cases, cell.jitter
            )
        return draw_alone(dice, cell.rounds, cell.steps, cell.spread)
    if cell.common is not None:
        return draw_turns(cell.world, dice, factors, cell.rounds, cell.steps, cell.spread, cell.common)
    return draw_session(cell.world, dice, factors, cell.rounds, cell.steps, cell.spread, cell.missing)


def _add_ours(tally: Tally, cell: Cell, cases: Sequence[tuple[Sample, ...]], noise: Noise) -> None:
    in_turns = cell.common is not None
    found = [_evidence(rounds, place, noise, in_turns) for place, rounds in enumerate(cases)]
    noise = replace(noise, by_turns=spread_by_turns(found).get("cpu", Spread()))
    found = [replace(each, noise=noise) for each in found]
    for base, new in _pairs(found):
        slower = (Evidence(new.case, scaled(new.rounds, 1 + by), noise, SESSION) for by in SLOWER)
        tally.add(_ratio(base, new), [_ratio(base, each) for each in slower])
    truth = true_ms(cell.world, cell.steps, cell.spread)
    for each in found if not in_turns and cell.by_turns is None else ():
        bounds = bounds_ms(each)
        tally.cases += 1
        tally.cases_held += bounds is not None and bounds.low <= truth <= bounds.high


def _add_theirs(tally: Tally, cases: Sequence[tuple[Sample, ...]]) -> None:
    between = welch.between_processes([[each.median for each in rounds] for rounds in cases])
    for base, new in _pairs(cases):
        slower = [welch.ratio(base, scaled(new, 1 + by), between) for by in SLOWER]
        tally.add(welch.ratio(base, new, between), slower)


def _pairs(cases: Sequence[T]) -> Iterator[tuple[T, T]]:
    """Yield the cases with the first one, as with a baseline; at most seven pairs a session."""
    return ((cases[0], other) for other in cases[1:8])


def _ratio(base: Evidence, new: Evidence) -> Ratio:
    ratio = latency_ratio(base, new)
    if ratio is None:
        raise AssertionError("a drawn pair has no ratio")
    return ratio


def _evidence(rounds: tuple[Sample, ...], place: int, noise: Noise, in_turns: bool) -> Evidence:
    """Return a case with its rounds, each a second long, at once or an hour after those of the other cases."""
    case = CaseState(place, Config(device="cpu"))
    starts = [
        number * 4.0 + 2 * place if in_turns else 3600.0 * (number + place) for number in range(len(rounds))
    ]
    spans = [(start, start + 1) for start in starts]
    case.rounds = tuple(
        RoundFinished(t=0.0, case=place, round=number, measured_s=span)
        for number, span in enumerate(spans[:-1])
    )
    case.finished = CaseFinished(t=0.0, case=place, outcome="ok", measured_s=spans[-1])
    return Evidence(case, rounds, noise, SESSION)


def every_cell() -> Iterator[Cell]:
    """Yield the kinds of sessions of the whole table."""
    for world, spread, rounds, cases in product(WORLDS, SPREADS, ROUNDS, CASES):
        yield Cell(world, spread, rounds, cases)
    for world, rounds, cases in product(PACED, (1, 2, *ROUNDS[1:]), CASES):
        yield Cell(world, 0.003, rounds, cases)
    for world, spread in product((*WORLDS, *PACED), (0.003, 0.01)):
        for steps in (12, 40):
            yield Cell(world, spread, 1, 8, recorded=True, steps=steps)
            yield Cell(world, spread, 1, 8, steps=steps)
    for world, rounds in product(WORLDS, ROUNDS[1:]):
        yield Cell(world, 0.01, rounds, 8, missing=0.1)
    yield Cell(WORLDS[0], 0.02, 3, 8)
    yield Cell(WORLDS[0], 0.02, 5, 8)
    yield Cell(WORLDS[0], 0.02, 5, 16)
    for common, recorded in product((0.14, 0.43, 0.66), (False, True)):
        yield Cell(WORLDS[0], 0.02, 6, 2, recorded, common)
    for world, common in product((WORLDS[0], *WORLDS[-2:], NOISY_PAIR), (0.0, 0.14, 0.43)):
        yield Cell(world, 0.02, 6, 2, common=common, others=6)
    yield from cells_by_turns()


def cells_by_turns() -> Iterator[Cell]:
    """Yield the kinds of sessions on a machine that changes its pace."""
    for rounds, spread in product((4, 6, 8, 12), (0.005, 0.015)):  # a round takes as long by turns or alone
        yield Cell(SWITCHING, spread, rounds, 2, by_turns=True)
        yield Cell(SWITCHING, spread, rounds, 2, by_turns=False, steps=120)
    for cases, rounds, spread in product((3, 4), (3, 4, 6), (0.005, 0.015)):
        yield Cell(SWITCHING, spread, rounds, cases, by_turns=True)
    for cases, rounds in product((2, 3, 4), (3, 4, 6)):  # long steps: few turns, which vary more
        yield Cell(SWITCHING, 0.005, rounds, cases, by_turns=True, steps=12, jitter=0.06)
    for world, rounds, cases in product(SWITCHING_PACED, (3, 4, 6), (2, 4)):
        yield Cell(world, 0.005, rounds, cases, by_turns=True)


HEAD = f"{'':56}  false  S5 | cov95 cov99  case |   3   5  10  20 | SAME"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=200, help="drawn per row and seven pairs")
    options.add_argument("--only", default="", help="rows whose name contains this text")
    wanted = options.parse_args()
    print(HEAD)
    for cell in every_cell():
        if wanted.only in cell.name:
            sessions = max(1, wanted.sessions * 7 // min(7, cell.cases - 1))
            ours, theirs = judge(cell, sessions)
            print(f"{cell.name:56} {ours}\n{'  formerly':56} {theirs}", flush=True)


if __name__ == "__main__":
    main()
