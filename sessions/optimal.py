"""Which case to run for a need, under constraints, and whether the next one can be told apart from it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import msgspec
from msgspec import structs

from benchtui.sessions.case_state import CaseState
from benchtui.sessions.compare import Ratio, Verdict, latency_ratio, throughput_ratio
from benchtui.sessions.constraints import NONE, Constraints, Relaxed, broken, relaxed
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.results import Result, measured
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import AXES, Axes, Config, Sweep
from benchtui.sessions.visible import LONGEST_VALUE, visible

Need = Literal["throughput", "latency", "memory", "energy", "balanced"]
NEEDS: tuple[Need, ...] = ("throughput", "latency", "memory", "energy", "balanced")

NEVER_ENDED = {"queued": "not measured", "running": "unfinished", "oom": "out of memory", "skipped": ""}
"""Where the words for a state aren't the session's own; the reason for skipping says enough."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a configuration is wanted for."""

    need: Need = "throughput"
    constraints: Constraints = NONE
    steps: int | None = None
    """Length of the job in steps, of which the first pays for compiling; None for a job without end."""
    sequence_length: int | None = None
    """The cases to choose from, in tokens; None for all, which must then have one length to be a choice."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A case that isn't chosen from, and why."""

    case: CaseState
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The case to run, or why there is none."""

    wish: Wish
    best: Result | None
    runner_up: Result | None
    ahead: Ratio | None
    """How many times as good the best is as the runner-up."""
    ties: tuple[Result, ...]
    """The cases that can't be told apart from the best, the nearest first."""
    front: tuple[Result, ...]
    """Of the cases that keep to the constraints, those not beaten in all of samples/s, step and peak memory."""
    left_out: tuple[LeftOut, ...]
    relaxed: tuple[Relaxed, ...]
    """Without a best case: each constraint that alone is in the way, the nearest to letting one in first."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the best is surely better than the runner-up; None without one."""
        return self.ahead.verdict if self.ahead else None


@dataclass(frozen=True, slots=True)
class _Figure:
    """Something to keep small, how two cases compare in it, and what to say of a case without."""

    cost: Callable[[Result], float | None]
    ratio: Callable[[Result, Result], Ratio | None]
    """How many times as much the first needs as the second."""
    lacking: str


def decide(session: Session, wish: Wish, results: Sequence[Result] | None = None) -> Decision:
    """The best measured case for what is wanted; ``results`` are those of the session where they are known."""
    known = measured(session) if results is None else results
    rows = [row for row in known if wish.sequence_length in (None, row.config.sequence_length)]
    able = [row for row in rows if _lack(row, wish) is None]
    fit = [row for row in able if not broken(row, wish.constraints)]
    figures = _figures(wish, fit)
    ranked = sorted(fit, key=lambda row: prod(figure.cost(row) or 0.0 for figure in figures))
    ahead = [(row, _ahead(row, ranked[0], figures)) for row in ranked[1:]]
    return Decision(
        wish=wish,
        best=ranked[0] if ranked else None,
        runner_up=ahead[0][0] if ahead else None,
        ahead=ahead[0][1] if ahead else None,
        ties=tuple(row for row, ratio in ahead if ratio.verdict is Verdict.SAME),
        front=front(fit),
        left_out=(*_unfit(rows, wish), *_not_measured(session, wish)),
        relaxed=() if ranked else relaxed(able, wish.constraints),
    )


def lengths(session: Session) -> tuple[int, ...]:
    """The sequence lengths of the measured cases, in tokens: another length is other work, and no choice."""
    return tuple(sorted({row.config.sequence_length for row in measured(session)}))


def front(results: Sequence[Result]) -> tuple[Result, ...]:
    """The Pareto front in samples/s, time of a step and peak memory, the highest throughput first.

    A figure that not all of the results have is left out.
    """
    known = _known((_SAMPLE, _STEP, _MEMORY), results)
    costs = sorted(([figure.cost(row) or 0.0 for figure in known], place) for place, row in enumerate(results))
    kept: list[tuple[list[float], int]] = []
    for cost, place in costs:  # in this order none beats one before it
        if not any(_beats(other, cost) for other, _ in kept):
            kept.append((cost, place))
    return tuple(sorted((results[place] for _, place in kept), key=lambda row: _SAMPLE.cost(row) or 0.0))


def job_ms(result: Result, steps: int) -> float | None:
    """Time of a job of this many steps: what the first takes beyond a steady one, and all as steady ones.

    None where the cost of the first step isn't known.
    """
    cold_ms = result.metrics.cold_cost_ms
    return None if cold_ms is None else cold_ms + steps * result.typical_ms


def _figures(wish: Wish, results: Sequence[Result]) -> tuple[_Figure, ...]:
    """What the cost of a case is the product of."""
    sample = _SAMPLE if wish.steps is None else _job_sample(wish.steps)
    step = _STEP if wish.steps is None else _job_step(wish.steps)
    match wish.need:
        case "throughput":
            return (sample,)
        case "latency":
            return (step,)
        case "memory":
            return (sample, _MEMORY)
        case "energy":
            return (_ENERGY,)
        case "balanced":
            return _known((sample, step, _MEMORY, _ENERGY), results)


def _known(figures: Sequence[_Figure], results: Sequence[Result]) -> tuple[_Figure, ...]:
    """The figures that every result has."""
    return tuple(each for each in figures if all(each.cost(row) is not None for row in results))


def _ahead(base: Result, new: Result, figures: Sequence[_Figure]) -> Ratio:
    """How many times as good the new case is as the base; bounded where every figure is."""
    parts = [figure.ratio(base, new) or Ratio(1.0) for figure in figures]
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    known = len(lows) == len(highs) == len(parts)
    return Ratio(
        prod(part.value for part in parts),
        prod(lows) if known else None,
        prod(highs) if known else None,
        contested=any(part.contested for part in parts),
    )


def _unfit(rows: Sequence[Result], wish: Wish) -> Iterator[LeftOut]:
    for row in rows:
        lack = _lack(row, wish)
        reasons = [lack] if lack else broken(row, wish.constraints)
        if reasons:
            yield LeftOut(row.case, "; ".join(reasons))


def _lack(result: Result, wish: Wish) -> str | None:
    """The figure without which a case can't be ranked, or None."""
    if wish.steps is not None and job_ms(result, wish.steps) is None:
        return "the cost of its first step isn't known: its source kept no steps"
    needed = _figures(wish, [result])
    return next((each.lacking for each in needed if each.cost(result) is None), None)


def _not_measured(session: Session, wish: Wish) -> Iterator[LeftOut]:
    for case in session.cases:
        if case.state != "ok" and wish.sequence_length in (None, case.config.sequence_length):
            reason = case.finished.reason if case.finished else None
            word = NEVER_ENDED.get(case.state, case.state)
            yield LeftOut(case, ": ".join(part for part in (word, reason) if part))


def _sample_ms(result: Result) -> float | None:
    rate = result.metrics.samples_per_s
    return 1000 / rate if rate else None


def _step_ms(result: Result) -> float | None:
    return result.typical_ms or None


def _energy_j(result: Result) -> float | None:
    return result.metrics.energy_per_sample_j or None


def _memory_mb(result: Result) -> float | None:
    return result.case.peak_memory_mb or None


def _memory_ratio(base: Result, new: Result) -> Ratio | None:
    """A peak is taken for what it is: its ratio has no width."""
    peaks = _memory_mb(base), _memory_mb(new)
    if not peaks[0] or not peaks[1]:
        return None
    value = peaks[0] / peaks[1]
    return Ratio(value, value, value)


def _energy_ratio(base: Result, new: Result) -> Ratio | None:
    costs = _energy_j(base), _energy_j(new)
    return Ratio(costs[0] / costs[1]) if costs[0] and costs[1] else None


def _job_step(steps: int) -> _Figure:
    """The time of a whole job."""
    return _Figure(
        lambda row: job_ms(row, steps), lambda base, new: _job_ratio(base, new, steps, 1.0), _STEP.lacking
    )


def _job_sample(steps: int) -> _Figure:
    """The time of a whole job over the samples it handles."""

    def cost(row: Result) -> float | None:
        total_ms, samples = job_ms(row, steps), row.metrics.samples_per_step
        return total_ms / (steps * samples) if total_ms and samples else None

    def ratio(base: Result, new: Result) -> Ratio | None:
        return _job_ratio(base, new, steps, new.metrics.samples_per_step / base.metrics.samples_per_step)

    return _Figure(cost, ratio, _SAMPLE.lacking)


def _job_ratio(base: Result, new: Result, steps: int, samples: float) -> Ratio | None:
    """Two jobs held against each other, bounded by the ranges of their steps; the first step was seen once."""
    totals = job_ms(base, steps), job_ms(new, steps)
    if not totals[0] or not totals[1]:
        return None
    value = samples * totals[0] / totals[1]
    if base.range_ms is None or new.range_ms is None:
        return Ratio(value)
    one, other = _job_range(base, base.range_ms, steps), _job_range(new, new.range_ms, steps)
    low, high = samples * one[0] / (other[1] or totals[1]), samples * one[1] / (other[0] or totals[1])
    return Ratio(value, min(value, low), max(value, high))


def _job_range(result: Result, range_ms: tuple[float, float], steps: int) -> tuple[float, float]:
    cold_ms = result.metrics.cold_cost_ms or 0.0
    return cold_ms + steps * range_ms[0], cold_ms + steps * range_ms[1]


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


_SAMPLE = _Figure(_sample_ms, throughput_ratio, "no throughput was read")
_STEP = _Figure(_step_ms, latency_ratio, "no time of a step was read")
_MEMORY = _Figure(_memory_mb, _memory_ratio, "no peak memory was read")
_ENERGY = _Figure(_energy_j, _energy_ratio, "no energy was read")


def narrowed(sweep: Sweep, config: Config) -> Sweep:
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
