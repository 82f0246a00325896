"""What a case may need at most, and which case keeps to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from benchtui.sessions.stats.case_metrics import LEAST_FOR_P99
from benchtui.sessions.stats.results import Result


@dataclass(frozen=True, slots=True)
class Constraints:
    """The most that a case may need; None sets no limit."""

    vram_mb: float | None = None
    """Peak memory on the device: the highest of what the driver, the allocator and its tensors say."""
    p99_ms: float | None = None
    latency_ms: float | None = None
    """The median step, or the mean where the source kept no steps."""
    power_w: float | None = None
    """Mean power of the device while the case was measured."""


NONE = Constraints()


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A constraint that would let a case through if it alone were wider."""

    field: str
    """Of Constraints."""
    value: float | None
    """The least value that lets a case through, in the unit of the field; None where no case has the figure."""
    result: Result
    """The case that it lets through; without a value, one that would pass without the constraint."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One constraint: the figure that it looks at, and what to say of a case without."""

    what: str
    unit: str
    figure: Callable[[Result], float | None]
    lacking: Callable[[Result], str]


def violations(result: Result, constraints: Constraints) -> list[str]:
    """Why a case doesn't keep to the constraints, a reason each; a figure that it lacks is one."""
    return [reason for field in KINDS if (reason := _broken(result, constraints, field))]


def nearest_relaxations(rows: Sequence[Result], constraints: Constraints) -> tuple[Relaxed, ...]:
    """Each constraint that alone keeps all of these cases out, the one nearest to letting one in first."""
    found = (_relaxed(rows, constraints, field) for field in KINDS)
    return tuple(sorted((each for each in found if each), key=lambda each: _excess(each, constraints)))


def _broken(result: Result, constraints: Constraints, field: str) -> str | None:
    kind, most = KINDS[field], _most(constraints, field)
    if most is None:
        return None
    value = kind.figure(result)
    if value is None:
        return kind.lacking(result)
    return f"{kind.what} {value:,.6g} {kind.unit}, over {most:,.6g}" if value > most else None


def _relaxed(rows: Sequence[Result], constraints: Constraints, field: str) -> Relaxed | None:
    if _most(constraints, field) is None:
        return None
    without = replace(constraints, **{field: None})
    passing = [row for row in rows if not violations(row, without)]
    known = [(value, row) for row in passing if (value := KINDS[field].figure(row)) is not None]
    if not passing:
        return None
    return Relaxed(field, *min(known, key=lambda pair: pair[0])) if known else Relaxed(field, None, passing[0])


def _excess(each: Relaxed, constraints: Constraints) -> float:
    return inf if each.value is None else each.value / (_most(constraints, each.field) or 1.0)


def _most(constraints: Constraints, field: str) -> float | None:
    most: float | None = getattr(constraints, field)
    return most


def _no_vram(result: Result) -> str:
    return "no VRAM: it ran on cpu" if result.config.device == "cpu" else "no VRAM was read"


def _no_p99(result: Result) -> str:
    if not result.case.steps_measured:
        return "no p99: its source kept no steps"
    return f"no p99: {result.metrics.latency_ms.n:,} steps, where {LEAST_FOR_P99} are needed"


KINDS = {
    "vram_mb": _Kind("VRAM", "MB", lambda result: result.case.device_memory_mb, _no_vram),
    "p99_ms": _Kind("p99", "ms", lambda result: result.metrics.latency_ms.p99, _no_p99),
    "latency_ms": _Kind("a step", "ms", lambda result: result.typical_ms, lambda _: "no time of a step"),
    "power_w": _Kind("power", "W", lambda result: result.metrics.mean_power_w, lambda _: "no power was read"),
}
"""Every constraint by its field."""
