"""Sessions of known truth: grids of options whose effects on the step time are planted, played round by round.

How steps and processes vary comes from the worlds of the simulated verdicts. Effects multiply, combinations
deviate from their product by a few percent, and some values have no effect at all, so that cases tie.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import exp, log, prod

from msgspec.structs import replace
from worlds import PACED, TYPICAL_MS, WORLDS, Random, World, recorded_spread

from benchtui.sessions.events import (
    Answered,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Outcome,
    RoundFinished,
    SessionStarted,
    Steps,
)
from benchtui.sessions.payloads import AnswerComparison, Environment, Host, Memory, Model, ProcessSpread
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Axes, Baseline, Config, Find, Measure, Run, Sweep, cases

SPREADS = (0.003, 0.01, 0.03)
"""Relative standard deviations between processes of a case."""
EFFECT, PLAIN = 0.25, 0.25
"""Standard deviation of the logarithm of a value's effect, and the probability that it has none."""
INTERACTION = 0.04
"""Standard deviation by which a combination deviates from the product of its effects."""
FAILS, DIFFERS = 0.03, 0.15
"""Probability that a case fails, and that a value changes the answers."""
START_S, COMPILE_S = 4.0, 25.0
"""Time to start a process and load a model, and to compile it."""
STEPS = 20
MODEL = Model(name="tiny", architecture="Tiny", parameters=1, weights="random", source="folder")
VALUES = {
    "precision": ("fp32", "tf32", "bf16", "fp16"),
    "attention": ("eager", "sdpa", "flash"),
    "compile": ("off", "default", "max-autotune"),
    "threads": (1, 2, 4),
    "padding": ("longest", "max"),
    "batch_size": (1, 2, 4, 8, 16, 32, 64),
}
NUMERIC = ("precision", "attention")
"""Options that may change the answers."""


@dataclass
class Truth:
    """Grid with the true figures of its cases."""

    world: World
    spread: float
    """Standard deviation between processes of one case."""
    sweep: Sweep
    plan: Sequence[Config]
    step_ms: Sequence[float]
    outcomes: Sequence[Outcome]
    broken: frozenset[int]
    """Cases whose answers differ from the baseline's."""
    factors: Sequence[float]
    """Factor of each case on the spread between its processes."""
    recorded: dict[str, ProcessSpread]

    def round_s(self, index: int) -> float:
        """Return the time of one round of a case with its process."""
        compile_s = 0.0 if self.plan[index].compile == "off" else COMPILE_S
        return START_S + compile_s + (STEPS + 3) * self.step_ms[index] / 1000

    @cached_property
    def full_s(self) -> float:
        """Time of the whole grid at five rounds, in which a case that fails isn't repeated."""
        rounds = (5 if outcome == "ok" else 1 for outcome in self.outcomes)
        return sum(number * self.round_s(index) for index, number in enumerate(rounds))

    @property
    def first_s(self) -> float:
        """Time of the first round of all cases."""
        return sum(map(self.round_s, range(len(self.plan))))

    def sample_ms(self, index: int) -> float:
        """Return the true time per sample."""
        return self.step_ms[index] / self.plan[index].batch_size

    @property
    def valid(self) -> list[int]:
        """Cases that run, with answers close to the baseline's."""
        return [
            index for index, outcome in enumerate(self.outcomes) if outcome == "ok" and index not in self.broken
        ]


def draw(dice: Random, most: int = 200, find: Find | None = None, budget_s: float | None = None) -> Truth:
    """Draw a grid of 5 to ``most`` cases in one of the worlds."""
    world = (*WORLDS, *PACED)[dice.integers(len(WORLDS) + len(PACED))]
    spread = float(dice.choice(SPREADS[:1] if world in PACED else SPREADS))
    sweep = replace(_sweep(dice, most), find=find, run=Run(budget_s=budget_s))
    plan = tuple(case.config for case in cases(sweep))
    step_ms, outcomes, broken = _planted(dice, plan)
    pool = recorded_spread(world, dice, STEPS, spread) if dice.random() < 0.5 else None
    recorded = {"cpu": ProcessSpread(between=pool.variance**0.5, freedom=pool.freedom)} if pool else {}
    factors = world.unlike(dice, len(plan)).tolist()
    return Truth(world, spread, sweep, plan, step_ms, outcomes, broken, factors, recorded)


def _sweep(dice: Random, most: int) -> Sweep:
    """Draw the axes of a grid whose number of cases is log-uniform between 5 and ``most``."""
    wanted = exp(dice.uniform(log(5), log(most)))
    sizes = dict.fromkeys(VALUES, 1)
    while prod(sizes.values()) < wanted:
        option = str(dice.choice([option for option in VALUES if sizes[option] < len(VALUES[option])]))
        if prod(sizes.values()) // sizes[option] * (sizes[option] + 1) > max(most, 5):
            break
        sizes[option] += 1
    axes = {option: VALUES[option][:size] for option, size in sizes.items()}
    measure = Measure(iterations=STEPS, baseline=Baseline(**{name: axis[0] for name, axis in axes.items()}))
    return Sweep(name="drawn", model="tiny", axes=Axes(**axes, device=("cpu",)), measure=measure)


def _planted(dice: Random, plan: Sequence[Config]) -> tuple[list[float], list[Outcome], frozenset[int]]:
    """Draw the true step time, outcome and answers of each case."""
    base_ms, overhead = exp(dice.uniform(log(5), log(300))), dice.uniform(0.05, 0.9)
    effects = {
        (option, value): dice.normal(0, EFFECT) if dice.random() > PLAIN else 0.0
        for option, values in VALUES.items()
        if option != "batch_size"
        for value in values[1:]
    }
    differing = {
        (option, value) for option in NUMERIC for value in VALUES[option][1:] if dice.random() < DIFFERS
    }
    mixed = {(one, other): dice.normal(0, INTERACTION) for one, other in product(effects, repeat=2)}
    largest = float(dice.choice([8, 16, 64, 64]))
    steps, outcomes, broken = [], [], set()
    for index, config in enumerate(plan):
        set_ = [key for key in effects if getattr(config, key[0]) == key[1]]
        off = sum(effects[key] for key in set_)
        off += sum(mixed[one, other] for place, one in enumerate(set_) for other in set_[:place])
        size = overhead + (1 - overhead) * config.batch_size
        steps.append(base_ms * size * exp(off))
        failed = index > 0 and dice.random() < FAILS
        outcomes.append("oom" if config.batch_size > largest else "failed" if failed else "ok")
        if differing & set(set_):
            broken.add(index)
    return steps, outcomes, frozenset(broken)


class Play:
    """A session that measures a drawn grid round by round, with simulated times."""

    def __init__(self, truth: Truth, dice: Random) -> None:
        self.truth = truth
        self.session = Session()
        self._dice = dice
        self.session.apply(
            SessionStarted(
                t=0.0,
                id="drawn",
                created="",
                sweep=truth.sweep,
                plan=tuple(truth.plan),
                host=Host(platform="Linux"),
                process_spread=truth.recorded,
            )
        )

    def run_round(self, index: int) -> None:
        """Measure one round of a case."""
        session, case = self.session, self.session.cases[index]
        if case.finished:  # as if another round had been planned from the start
            end = case.finished
            ended = RoundFinished(
                t=end.t, case=index, round=len(case.rounds), measured_s=end.measured_s, memory=end.memory
            )
            case.rounds, case.finished, case.metrics = (*case.rounds, ended), None, None
        number, start_s = len(case.rounds), session.now_s
        session.apply(CaseStarted(t=start_s, case=index, round=number, config=case.config))
        end_s = start_s + self.truth.round_s(index)
        outcome = self.truth.outcomes[index]
        if outcome != "ok":
            session.apply(CaseFinished(t=start_s + START_S, case=index, outcome=outcome, reason="planted"))
            return
        self._apply_steps(index, number, end_s)
        session.cases[index].metrics = metrics(session.cases[index])

    def skip(self, dropped: Iterable[int]) -> None:
        """End cases that needn't be measured."""
        for index in dropped:
            if self.session.cases[index].finished is None:
                self.session.apply(CaseFinished(t=self.session.now_s, case=index, outcome="skipped"))

    def _apply_steps(self, index: int, number: int, end_s: float) -> None:
        session, truth = self.session, self.truth
        times = self._times(index)
        if not number:
            session.apply(CasePrepared(t=end_s, case=index, model=MODEL))
            compile_ms = 0.0 if truth.plan[index].compile == "off" else 1000 * COMPILE_S
            warmup = [times[0] + compile_ms, *times[1:3]]
            session.apply(Steps(t=end_s, case=index, phase="warmup", wall_ms=warmup))
        session.apply(Steps(t=end_s, case=index, phase="measure", round=number, wall_ms=times))
        if not number and index:
            verdict = "different" if index in truth.broken else "close"
            compared = AnswerComparison(case=index, baseline=0, verdict=verdict)
            session.apply(Answered(t=end_s, case=index, comparisons=(compared,)))
        session.apply(
            CaseFinished(
                t=end_s,
                case=index,
                outcome="ok",
                measured_s=(end_s - sum(times) / 1000, end_s),
                memory=Memory(peak_rss_mb=1000.0 + 10 * truth.plan[index].batch_size),
                environment=Environment(),
            )
        )

    def _times(self, index: int) -> list[float]:
        truth = self.truth
        drawn = truth.world.process(self._dice, STEPS, truth.spread * truth.factors[index])
        return [each * truth.step_ms[index] / TYPICAL_MS for each in drawn]


def every_case(play: Play, rounds: int) -> Iterator[int]:
    """Yield the cases of a sweep with a fixed number of rounds, in running order."""
    for number in range(rounds):
        order = range(len(play.truth.plan))
        for index in reversed(order) if number % 2 else order:
            if not number or play.truth.outcomes[index] == "ok":
                yield index
