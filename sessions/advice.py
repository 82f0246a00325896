"""Which case to run for an objective, and whether the others can be told apart from it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from benchtui.sessions.compare import Ratio, Verdict, latency_ratio, throughput_ratio
from benchtui.sessions.results import Result

Objective = Literal["throughput", "latency", "energy"]
OBJECTIVES: tuple[Objective, ...] = ("throughput", "latency", "energy")


@dataclass(frozen=True, slots=True)
class Choice:
    """The best case for an objective."""

    objective: Objective
    best: Result
    runner_up: Result | None
    ahead: Ratio | None
    """How many times as good the best is as the runner-up; None without one."""
    ties: tuple[Result, ...]
    """The other cases that cannot be told apart from the best, the nearest first."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the best is surely better than the runner-up; None without one."""
        return self.ahead.verdict if self.ahead else None


def best(results: Iterable[Result], objective: Objective) -> Choice | None:
    """The best case for an objective, or None where no case has a figure for it."""
    rated = [(value, row) for row in results if (value := _cost(row, objective)) is not None]
    ranked = [row for _, row in sorted(rated, key=lambda pair: pair[0])]
    if not ranked:
        return None
    first, *others = ranked
    ahead = [(row, _ahead(row, first, objective)) for row in others]
    ties = tuple(row for row, ratio in ahead if ratio and ratio.verdict is Verdict.SAME)
    runner_up, ratio = ahead[0] if ahead else (None, None)
    return Choice(objective, first, runner_up, ratio, ties)


def _cost(result: Result, objective: Objective) -> float | None:
    """What to keep small: seconds a sample, milliseconds a step, or joules a sample."""
    match objective:
        case "throughput":
            rate = result.metrics.samples_per_s
            return 1 / rate if rate else None
        case "latency":
            return result.typical_ms
        case "energy":
            return result.metrics.energy_per_sample_j


def _ahead(other: Result, first: Result, objective: Objective) -> Ratio | None:
    ratios: dict[Objective, Callable[[Result, Result], Ratio | None]] = {
        "throughput": throughput_ratio,
        "latency": latency_ratio,
        "energy": _energy_ratio,
    }
    return ratios[objective](other, first)


def _energy_ratio(base: Result, new: Result) -> Ratio | None:
    costs = base.metrics.energy_per_sample_j, new.metrics.energy_per_sample_j
    return Ratio(costs[0] / costs[1]) if costs[0] and costs[1] else None
