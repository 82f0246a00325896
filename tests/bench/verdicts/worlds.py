"""Worlds of known truth: sessions whose cases differ by exactly what was planted.

A world says how the steps of a process vary, and how processes of one case do. Times are relative: equal cases
have a typical step of 10 ms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchtui.sessions.payloads import CaseRound, Turns
from benchtui.sessions.stats.distribution import median, sample, slices_of
from benchtui.sessions.stats.noise import Spread
from benchtui.sessions.stats.sampling import Sample, Slices, Statistic

TYPICAL_MS = 10.0
PACE = log(1.33)
"""Distance of the two paces that processes of one case were measured at."""
JITTER = 0.03
"""Standard deviation of the steps of a process on a machine that changes its pace."""
RECORDED = 15
"""Cases of two rounds each in the earlier sessions of a machine that has any."""
Random = np.random.Generator


def _lognormal(dice: Random, n: int) -> np.ndarray:
    return 0.02 * dice.standard_normal(n)


def _student(dice: Random, n: int) -> np.ndarray:
    return np.clip(0.01 * dice.standard_t(1.5, n), -0.5, 3)


def _bimodal(dice: Random, n: int) -> np.ndarray:
    return log(1.25) * (dice.random(n) < 0.45) + 0.01 * dice.standard_normal(n)


def _wandering(dice: Random, n: int) -> np.ndarray:
    """Draw an AR(1) process of coefficient 0.95 and standard deviation 6.4%."""
    shocks = 0.064 * np.sqrt(1 - 0.95**2) * dice.standard_normal(n)
    at, walk = 0.064 * dice.standard_normal(), []
    for shock in shocks:
        at = 0.95 * at + shock
        walk.append(at)
    return np.array(walk)


def _drifting(dice: Random, n: int) -> np.ndarray:
    return np.linspace(0, 0.06, n) + 0.01 * dice.standard_normal(n)


def _spiky(dice: Random, n: int) -> np.ndarray:
    return log(8) * (dice.random(n) < 0.03) + 0.02 * dice.standard_normal(n)


def _normal(dice: Random, cases: int) -> np.ndarray:
    return np.ones(cases)


def _unlike(dice: Random, cases: int) -> np.ndarray:
    return np.exp(0.7 * dice.standard_normal(cases))


def _one_noisy(dice: Random, cases: int) -> np.ndarray:
    factors = np.ones(cases)
    factors[dice.integers(cases)] = 4
    return factors


def _first_noisy(dice: Random, cases: int) -> np.ndarray:
    return np.where(np.arange(cases) == 0, 4.0, 1.0)


@dataclass(frozen=True)
class World:
    """How steps and processes vary."""

    name: str
    steps: Callable[[Random, int], np.ndarray] = _lognormal
    """Logarithms of a process's steps."""
    unlike: Callable[[Random, int], np.ndarray] = _normal
    """Factor of each case on the spread between its processes."""
    slow_pace: float = 0.0
    """Probability that a process runs at the slower pace."""

    def process(self, dice: Random, n: int, spread: float) -> list[float]:
        """Draw the steps of one process of a case, in ms."""
        offset = spread * dice.standard_normal() + PACE * (dice.random() < self.slow_pace)
        times: list[float] = (TYPICAL_MS * np.exp(offset + self.steps(dice, n))).tolist()
        return times


WORLDS = (
    World("lognormal"),
    World("Student t", _student),
    World("bimodal", _bimodal),
    World("wandering", _wandering),
    World("drifting", _drifting),
    World("spiky", _spiky),
    World("unlike cases", unlike=_unlike),
    World("one noisy case", unlike=_one_noisy),
)
NOISY_PAIR = World("noisy pair", unlike=_first_noisy)
"""World in which one of the two cases that are compared is noisier than all others."""
PACED = (World("two paces", slow_pace=0.5), World("rare pace", slow_pace=0.15))
"""Worlds in which processes of one case run at two paces."""


def draw_session(
    world: World, dice: Random, factors: np.ndarray, rounds: int, n: int, spread: float, missing: float = 0.0
) -> list[tuple[Sample, ...]]:
    """Draw the rounds of equal cases, given the factor of each on the spread between its processes.

    Each round but the first of a case is missing with a probability.
    """
    return [
        tuple(
            summary
            for number in range(rounds)
            if not number or dice.random() >= missing
            if (summary := sample(world.process(dice, n, spread * factor)))
        )
        for factor in factors
    ]


def draw_turns(
    world: World, dice: Random, factors: np.ndarray, rounds: int, n: int, spread: float, common: float
) -> list[tuple[Sample, ...]]:
    """Draw two equal cases that ran in turns and share a part of the variance between their processes."""
    found: list[tuple[Sample, ...]] = []
    together = np.sqrt(common) * spread * dice.standard_normal(rounds)
    for factor in factors:
        alone = np.sqrt(1 - common) * spread * dice.standard_normal(rounds)
        offsets = factor * (together + alone)
        times = (TYPICAL_MS * np.exp(offset + world.steps(dice, n)) for offset in offsets)
        found.append(tuple(each for one in times if (each := sample(one.tolist()))))
    return found


class SwitchingMachine:
    """A virtual machine whose pace changes within seconds, as other machines use its processors' hyperthreads.

    Measured: medians of half a second deviate by 19%, and last for 1 to 5 s.
    """

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._now_s = self._until_s = self._pace = 0.0

    def run(self, offset: float, n: int, jitter: float = JITTER) -> list[float]:
        """Run steps of a process, and return their times in ms."""
        times = []
        for own in jitter * self._dice.standard_normal(n):
            if self._now_s >= self._until_s:
                self._pace = 0.19 * self._dice.standard_normal()
                self._until_s = self._now_s + self._dice.uniform(1, 5)
            times.append(TYPICAL_MS * float(np.exp(offset + self._pace + own)))
            self._now_s += times[-1] / 1000
        return times

    def load(self) -> None:
        """Let the time pass that a fresh process takes to load and warm up."""
        self._now_s += 0.5


def draw_alone(dice: Random, rounds: int, n: int, spread: float) -> list[tuple[Sample, ...]]:
    """Draw two equal cases whose rounds alternate on such a machine."""
    machine = SwitchingMachine(dice)
    drawn: tuple[list[Sample], list[Sample]] = ([], [])
    for _ in range(rounds):
        for side in drawn:
            machine.load()
            if summary := sample(machine.run(spread * dice.standard_normal(), n)):
                side.append(summary)
    return [tuple(side) for side in drawn]


def draw_by_turns(
    world: World, dice: Random, rounds: int, slices: int, spread: float, cases: int, jitter: float = JITTER
) -> list[tuple[Sample, ...]]:
    """Draw equal cases that take turns of two steps on such a machine, after one that isn't recorded.

    With another ``jitter`` than usual, the steps of the first case vary twice as much.
    """
    jitters = [2 * jitter if not place and jitter != JITTER else jitter for place in range(cases)]
    machine = SwitchingMachine(dice)
    drawn: list[list[Sample]] = [[] for _ in range(cases)]
    for number in range(rounds):
        offsets = spread * dice.standard_normal(cases) + PACE * (dice.random(cases) < world.slow_pace)
        times: list[list[float]] = [[] for _ in range(cases)]
        for _ in offsets:
            machine.load()
        for _ in range(slices):
            for steps, offset, own in zip(times, offsets, jitters, strict=True):
                steps += machine.run(offset, 3, own)[1:]
        for place, steps in enumerate(times):
            first, *others = (CaseRound(case=case, round=number) for case in range(cases) if case != place)
            turns = Turns(case=first.case, round=number, slice_steps=2, others=tuple(others))
            if summary := sample(steps):
                drawn[place].append(replace(summary, slices=slices_of(steps, turns, number)))
    return [tuple(side) for side in drawn]


def recorded_spread(world: World, dice: Random, n: int, spread: float) -> Spread:
    """Draw the spread that earlier sessions of the machine recorded."""
    pool = Spread()
    for factor in world.unlike(dice, RECORDED):
        pairs = [median(world.process(dice, n, spread * factor)) for _ in range(2)]
        pool = pool.plus(Spread.of([each for each in pairs if each]))
    return pool


@cache
def true_ms(world: World, n: int, spread: float, draws: int = 4000) -> float:
    """Return the typical step of a world's cases: the geometric mean of the medians of many processes."""
    dice = np.random.default_rng(7)
    medians = [np.median(world.process(dice, n, spread)) for _ in range(draws)]
    return float(np.exp(np.mean(np.log(medians))))


def scaled(rounds: Sequence[Sample], factor: float) -> tuple[Sample, ...]:
    """Return the rounds of a case whose steps are a factor longer."""

    def longer_slices(slices: Slices | None) -> Slices | None:
        if slices is None:
            return None
        return replace(slices, medians_ms=tuple(factor * each for each in slices.medians_ms))

    def longer(figure: Statistic | None) -> Any:
        return None if figure is None else replace(figure, ms=figure.ms * factor)

    return tuple(
        replace(
            each,
            median=longer(each.median),
            low=longer(each.low),
            mean=longer(each.mean),
            slices=longer_slices(each.slices),
        )
        for each in rounds
    )
