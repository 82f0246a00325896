"""Figures of a case, by the columns of the table that show them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchtui.sessions.state.case import CaseState
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.array_ops import summed
from benchtui.tui.live.running_stats import RunningStats, Summed


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table; figures stand at the right, words at the left."""

    key: str
    title: str
    width: int
    rank: int
    """The lower, the sooner it gets room."""
    words: bool = False


Value = Callable[[CaseState, RunningStats | Summed], float | None]
Format = Callable[[float | None, Symbols], str]


def samples_per_s(case: CaseState, spread: RunningStats | Summed) -> float | None:
    """Samples over the time of all measured steps, in 1/s; None where either is unknown."""
    return rate(case, spread.n, spread.total)


def rate(case: CaseState, steps: int, total_ms: float) -> float | None:
    """The same of a number of steps and the time they took together."""
    if not steps:
        reported = case.finished.reported if case.finished else None
        return reported.samples_per_s if reported else None
    samples = steps * case.samples_per_step
    return 1000 * samples / total_ms if samples and total_ms else None


def p50_ms(case: CaseState, spread: RunningStats | Summed) -> float | None:
    """Median of the measured steps; of a source that kept none, the mean it reports."""
    reported = case.finished.reported if case.finished and not spread.n else None
    return reported.latency_mean_ms if reported else spread.median


def tokens_per_s(case: CaseState, spread: RunningStats | Summed) -> float | None:
    """Real tokens over the time of all measured steps, in 1/s; None where the task has none, or isn't over."""
    if case.figures:
        return case.figures.tokens_per_s
    tokens = case.measured.tokens
    if case.finished is None or not spread.total or len(tokens) != spread.n:
        return None
    return summed(tokens) / spread.total * 1000


def power_w(case: CaseState) -> float | None:
    """Mean power of a case's device while it was measured."""
    finished = case.finished
    if finished is None:
        return None
    energy = finished.energy.mean_power_w if finished.energy else None
    reported = finished.reported.mean_power_w if finished.reported else None
    return reported if energy is None else energy


def joules_per_1000(case: CaseState, spread: RunningStats | Summed) -> float | None:
    """Energy of a thousand samples in joules."""
    energy = case.finished.energy if case.finished else None
    samples = spread.n * case.samples_per_step
    return 1000 * energy.energy_j / samples if energy and energy.energy_j is not None and samples else None


VALUES: dict[str, Value] = {
    "p50": p50_ms,
    "p99": lambda case, spread: spread.p99,
    "samples": samples_per_s,
    "memory": lambda case, spread: case.peak_memory_mb,
    "power": lambda case, spread: power_w(case),
    "steps": lambda case, spread: spread.n or None,
    "interval": lambda case, spread: spread.interval_percent,
    "outliers": lambda case, spread: spread.outliers() if spread.n else None,
    "tokens": tokens_per_s,
    "energy": joules_per_1000,
}
FORMATS: dict[str, Format] = {
    "p50": format.milliseconds,
    "p99": format.milliseconds,
    "samples": format.rate,
    "memory": format.whole,
    "power": format.whole,
    "steps": format.whole,
    "interval": format.percent,
    "outliers": format.whole,
    "tokens": format.rate,
    "energy": format.rate,
}
"""How each column writes its figures."""

COLUMNS = (
    Column("state", "state", 13, 0, words=True),
    Column("p50", "p50 ms", 9, 1),
    Column("p99", "p99 ms", 9, 5),
    Column("samples", "samples/s", 9, 2),
    Column("memory", "memory MB", 9, 3),
    Column("power", "W", 4, 4),
    Column("base", "vs base", 9, 6),
    Column("notes", "notes", 16, 7, words=True),
    Column("steps", "steps", 7, 8),
    Column("interval", "+- %", 6, 8),
    Column("outliers", "outliers", 8, 8),
    Column("tokens", "tokens/s", 10, 8),
    Column("energy", "J/1k", 8, 8),
    Column("node", "node", 12, 8, words=True),
)
"""All there are; the reader chooses which are shown, and in what order."""
KEYS = tuple(column.key for column in COLUMNS)
USUAL = tuple(column.key for column in COLUMNS if column.rank < 8)
"""What is shown until the reader chooses."""
USUAL_OF_CLUSTERS = (USUAL[0], "node", *USUAL[1:])
"""The same where cases run on the nodes of a cluster."""
USUAL_COLUMNS = tuple(column for column in COLUMNS if column.key in USUAL)


def columns_of(keys: Sequence[str]) -> tuple[Column, ...]:
    """Columns by their keys; where the reader has chosen them, the first ones get room first."""
    wanted = [column for key in keys for column in COLUMNS if column.key == key]
    if tuple(keys) in (USUAL, USUAL_OF_CLUSTERS):
        return tuple(replace(column, rank=0) if column.key == "node" else column for column in wanted)
    return tuple(replace(column, rank=place) for place, column in enumerate(wanted))
