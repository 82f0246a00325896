"""Columns of the case table, and the metrics they show."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from benchtui.sessions.metrics.catalogue import CATALOGUE, quantity
from benchtui.sessions.metrics.quantity import CaseData, Quantity
from benchtui.sessions.metrics.views import IN_CASE_TABLE
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.sessions.stats.quantiles import LEAST_FOR_P99, per_second
from benchtui.sessions.text import formatting
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format


class Column(msgspec.Struct, frozen=True):
    """Column of the case table; numbers are right-aligned, words left-aligned."""

    key: str
    title: str
    width: int
    rank: float
    """Priority for space; the lowest comes first. Columns of one rank are shown together or not at all."""
    words: bool = False
    graph_range: tuple[int, int] = (0, 0)
    """Smallest and largest width of the graph in front of the number, in cells; 0 for none."""
    graph: int = 0
    """Width of that graph in this layout; 0 without room for it."""
    from_width: int = 0
    """Width of the table in cells from which the column is shown."""


Value = Callable[[CaseState, "Distribution | None"], float | None]
Format = Callable[[float | None, Symbols], str]


def p50_ms(case: CaseState, stats: Distribution | None) -> float | None:
    """Return the median measured step time; for a source without steps, the mean or median it reports."""
    reported = None if stats else case.reported
    return reported.center_ms if reported else stats.median if stats else None


def steps(case: CaseState) -> int | None:
    """Return the number of measured steps; for a source without steps, the one it reports."""
    reported = case.finished.reported if case.finished else None
    return case.steps_measured or (reported.steps if reported else None)


def tokens_per_s(case: CaseState, stats: Distribution | None) -> float | None:
    """Return real tokens/s over all measured steps; None without tokens, or before the case has ended."""
    if metrics := computed_metrics(case):
        return metrics.tokens_per_s
    tokens = case.measured.tokens
    if case.finished is None or not stats or len(tokens) != stats.n:
        return None
    return per_second(sum(tokens), stats.total)


def power_w(case: CaseState) -> float | None:
    """Return the mean power of a case's device while it was measured."""
    finished = case.finished
    if finished is None:
        return None
    energy = finished.energy.mean_power_w if finished.energy else None
    reported = finished.reported.mean_power_w if finished.reported else None
    return reported if energy is None else energy


def joules_per_1000(case: CaseState, stats: Distribution | None) -> float | None:
    """Return the energy of 1,000 samples in joules."""
    energy = case.finished.energy if case.finished else None
    samples = (stats.n if stats else 0) * case.samples_per_step
    return 1000 * energy.energy_j / samples if energy and energy.energy_j is not None and samples else None


def quantity_title(row: Quantity) -> str:
    """Return a short title of a quantity of the catalogue, such as ``first token ms``."""
    name = formatting.in_sentence((row.short or row.title).partition(",")[0])
    return f"{name} ms" if row.unit == "ms" else name


def quantity_format(row: Quantity) -> Format:
    """Return the formatter of a quantity of the catalogue."""
    return {"memory": format.memory, "whole": format.whole}.get(row.format, format.significant)


def _ended(row: Quantity) -> Value:
    """Return the value of a quantity of the catalogue, which a case has once it has ended."""
    return lambda case, stats: row.figure(CaseData(case, computed_metrics(case)))


ACCEPTED = quantity("draft_acceptance_percent")
CATALOGUED = {row.key: row for row in CATALOGUE if row.charted and row.key not in IN_CASE_TABLE}
"""Further columns: the other quantities that charts offer."""
VALUES: dict[str, Value] = {
    "p50": p50_ms,
    "p99": lambda case, stats: stats.p99 if stats else None,
    "memory": lambda case, stats: case.peak_memory_mb,
    "power": lambda case, stats: power_w(case),
    "steps": lambda case, stats: steps(case),
    "interval": lambda case, stats: stats.interval_percent if stats else None,
    "outliers": lambda case, stats: stats.outliers if stats else None,
    "tokens": tokens_per_s,
    "energy": joules_per_1000,
    "accepted": _ended(ACCEPTED),
    **{key: _ended(row) for key, row in CATALOGUED.items()},
}
FORMATS: dict[str, Format] = {
    "p50": format.significant,
    "p99": format.significant,
    "samples": format.significant,
    "memory": format.memory,
    "power": format.whole,
    "steps": format.whole,
    "interval": format.half_width_number,
    "outliers": format.whole,
    "tokens": format.significant,
    "energy": format.significant,
    "accepted": format.percent,
    **{key: quantity_format(row) for key, row in CATALOGUED.items()},
}
"""Formatter of each numeric column."""

HAS_VALUE: dict[str, Callable[[CaseState], bool]] = {
    "p99": lambda case: case.steps_measured >= LEAST_FOR_P99,
    "memory": lambda case: case.peak_memory_mb is not None,
    "power": lambda case: power_w(case) is not None,
    "accepted": lambda case: ACCEPTED.figure(CaseData(case)) is not None,
    "answer": lambda case: case.comparison is not None or bool(case.answered and case.answered.comparisons),
}
"""Whether a case has a value in a column, for default columns that are often empty."""


def columns_with_value(case: CaseState) -> set[str]:
    """Return the columns of ``HAS_VALUE`` in which a case has a value."""
    return {key for key, has_value in HAS_VALUE.items() if has_value(case)}


SAMPLES_PER_S = "samples/s"
GRAPH_RANK = 6.5
"""Rank of the graphs: columns of a higher rank get space after them."""
COLUMNS = (
    Column("state", "state", 13, 0, words=True),
    Column("p50", "step ms", 7, 1),
    Column("p99", "p99 ms", 7, 5),
    Column("samples", SAMPLES_PER_S, 8, 2, graph_range=(5, 13)),
    Column("memory", "memory", 7, 3),
    Column("power", "W", 4, 4),
    Column("base", "vs base", 7, 2.5, graph_range=(7, 13)),
    Column("trace", "steps over time", 16, 8, words=True, from_width=160),
    Column("answer", "answer", 18, 6.2, words=True),
    Column("accepted", "accepted %", 10, 6.3),
    Column("notes", "notes", 16, 7, words=True),
    Column("steps", "steps", 7, 9),
    Column("interval", "+- %", 6, 9),
    Column("outliers", "outliers", 8, 9),
    Column("tokens", "tokens/s", 10, 9),
    Column("energy", "J/1k", 8, 9),
    Column("node", "node", 12, 9, words=True),
    *(
        Column(key, title, max(8, len(title)), 9)
        for key, row in CATALOGUED.items()
        for title in [quantity_title(row)]
    ),
)
"""All columns. The user chooses which are shown, and in what order."""
UNSORTED = ("notes", "trace")
"""Columns that can't be sorted by."""
BY_KEY = {column.key: column for column in COLUMNS}
TITLES = {column.key: column.title for column in COLUMNS}
ABOUT = {
    "node": "the node of a cluster on which the case ran",
    "state": "progress or outcome",
    "p50": "typical step: the median, of several rounds the geometric mean of their medians",
    "p99": "time exceeded by one step in a hundred; unknown below 100 steps",
    "samples": "samples, or tokens of a language model, over the time of all measured steps",
    "memory": "peak on the device; on the processor, of the worker",
    "power": "mean power while measured",
    "base": "rate relative to the baseline, at typical steps; same verdict as in report and compare",
    "answer": "output for the same probe, compared with the baseline's: verdict and KL divergence",
    "trace": "measured steps over time, from 0 to twice the median",
    "notes": "reason for the outcome, and caveats",
    "steps": "measured steps",
    "interval": "half of the typical step's 95 % interval, in percent of it",
    "outliers": "steps far from the rest",
    "tokens": "real tokens over the time of all measured steps",
    "energy": "joules for a thousand samples",
    "accepted": "drafted tokens that the model accepted",
    **{key: formatting.in_sentence(row.help).rstrip(".") for key, row in CATALOGUED.items()},
}
"""What each column shows."""
KEYS = tuple(column.key for column in COLUMNS)
DEFAULT_COLUMNS = tuple(column.key for column in COLUMNS if column.rank < 9)
"""Columns shown by default."""
DEFAULT_CLUSTER_COLUMNS = (DEFAULT_COLUMNS[0], "node", *DEFAULT_COLUMNS[1:])
"""Columns shown by default if cases run on cluster nodes."""
DEFAULT_COLUMN_SET = tuple(column for column in COLUMNS if column.key in DEFAULT_COLUMNS)


def columns_of(keys: Sequence[str], unit: str = SAMPLES_PER_S) -> tuple[Column, ...]:
    """Return columns by key, the throughput under its unit. In a custom selection, the first come first."""
    wanted = [_titled(column, unit) for key in keys for column in COLUMNS if column.key == key]
    if tuple(keys) in (DEFAULT_COLUMNS, DEFAULT_CLUSTER_COLUMNS):
        return tuple(replace(column, rank=0.5) if column.key == "node" else column for column in wanted)
    return tuple(replace(column, rank=place - len(wanted), from_width=0) for place, column in enumerate(wanted))


def _titled(column: Column, unit: str) -> Column:
    if column.key != "samples" or unit == column.title:
        return column
    return replace(column, title=unit, width=max(column.width, len(unit) - 1))
