"""The Pareto front: cases than which no other is better in one respect without being worse in another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchtui.sessions.analysis.chart_series import ENERGY, LATENCY, MEMORY, SAMPLES, Figure, Known, Value
from benchtui.sessions.state.case import CaseState

COSTS: tuple[Figure, ...] = (LATENCY, ENERGY, MEMORY)
"""What throughput may be weighed against."""


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """What a case brings and what it costs."""

    case: CaseState
    gain: Value
    """Samples per second."""
    cost: Value
    """Milliseconds a step, joules a sample, or peak memory in units of 10**6 bytes."""


def trades(cases: Iterable[CaseState], known: Known, cost: Figure) -> tuple[ParetoPoint, ...]:
    """Every case that ended well and has both figures; the second case of an A/A pair is left out."""
    found = (_trade(case, known, cost) for case in cases if not case.config.repeat)
    return tuple(trade for trade in found if trade)


def front(choices: Iterable[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """The choices that no other beats, the cheapest first; of equal ones all."""
    best: list[ParetoPoint] = []
    for trade in sorted(choices, key=lambda each: (each.cost.middle, -each.gain.middle)):
        if not best or trade.gain.middle > best[-1].gain.middle or _same(trade, best[-1]):
            best.append(trade)
    return tuple(best)


def fronts(choices: Sequence[ParetoPoint]) -> dict[int, tuple[ParetoPoint, ...]]:
    """The front of each sequence length: another length is other work, and not a choice of configuration."""
    lengths = sorted({trade.case.config.sequence_length for trade in choices})
    return {
        length: front(trade for trade in choices if trade.case.config.sequence_length == length)
        for length in lengths
    }


def _trade(case: CaseState, known: Known, cost: Figure) -> ParetoPoint | None:
    metrics = known(case) if case.state == "ok" else None
    if metrics is None:
        return None
    gain, paid = SAMPLES.of(case, metrics), cost.of(case, metrics)
    return ParetoPoint(case, gain, paid) if gain and paid else None


def _same(one: ParetoPoint, other: ParetoPoint) -> bool:
    return (one.gain.middle, one.cost.middle) == (other.gain.middle, other.cost.middle)
