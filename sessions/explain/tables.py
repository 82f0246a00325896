"""Tables of explained cases: families, operators, memory by kind, and the difference between two cases."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchtui.sessions.explain.cases import FAMILIES, SHOWN_KERNELS, ExplainedCase, KernelRate
from benchtui.sessions.explain.difference import CaseDifference, Part
from benchtui.sessions.profiles import FamilyTime, KernelTime, Place
from benchtui.sessions.text.formatting import memory, number, percent
from benchtui.sessions.text.tables import Column, Table, table, text_column

LEAST_PLACE, MOST_PLACES = 0.03, 6
"""Smallest share of a shown line of code, and maximum number of lines."""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
_MEMORY = {
    "weights_mb": "weights",
    "gradients_mb": "gradients",
    "optimizer_mb": "optimizer state",
    "activations_mb": "activations",
    "cache_mb": "KV cache",
    "workspace_mb": "reserved, unused",
    "growth_mb": "kept by each step",
}
"""Kinds of memory, by their field."""


class _Kernel(NamedTuple):
    time: KernelTime
    share: float
    rate: KernelRate | None


def parts_table(case: ExplainedCase) -> Table | None:
    """Return the parts of a step without the profiler, the longest first; None for a step of one part."""
    columns: tuple[Column[tuple[str, float]], ...] = (
        text_column("part", lambda row: row[0]),
        Column("ms per step", lambda row: number(case.profile.parts_ms[row[0]])),
        Column("share %", lambda row: percent(row[1], 1)),
    )
    return table(columns, list(case.part_shares.items()))


def families_table(case: ExplainedCase) -> Table | None:
    """Return the families of a case, the longest first."""
    step_ms = case.profile.step_ms
    columns: tuple[Column[FamilyTime], ...] = (
        text_column("family", lambda row: FAMILIES[row.family]),
        Column("ms per step", lambda row: number(row.ms)),
        Column("share %", lambda row: percent(row.ms / step_ms, 1) if step_ms else None),
        Column("calls", lambda row: number(row.launches, 0) if row.launches else None),
    )
    return table(columns, case.profile.families)


def kernels_table(case: ExplainedCase, most: int = SHOWN_KERNELS, *, family: bool = True) -> Table | None:
    """Return the most expensive operators or kernels of a case; their families as words if requested."""
    step_ms = case.profile.step_ms
    rows = [
        _Kernel(kernel, kernel.ms / step_ms if step_ms else 0.0, case.rate(kernel))
        for kernel in case.profile.kernels[:most]
    ]
    return table([column for column in _KERNEL_COLUMNS if family or column.title != "family"], rows)


_KERNEL_COLUMNS: tuple[Column[_Kernel], ...] = (
    text_column("operator or kernel", lambda row: row.time.title),
    text_column("family", lambda row: FAMILIES[row.time.family]),
    Column("ms per step", lambda row: number(row.time.ms)),
    Column("share %", lambda row: percent(row.share, 1)),
    Column("calls", lambda row: number(row.time.count, 0)),
    Column("rate", lambda row: _rate_text(row.rate)),
    Column("of peak %", lambda row: _peak_text(row.rate)),
    text_column("inputs", lambda row: row.time.shape),
)


def places_table(case: ExplainedCase) -> Table | None:
    """Return the lines of code at which the main thread was found most often."""
    columns: tuple[Column[Place], ...] = (
        text_column("line of code", lambda row: row.where),
        Column("share %", lambda row: percent(row.share, 0)),
        text_column("main thread", lambda row: row.activity),
        text_column("code", lambda row: row.code),
        text_column("in", lambda row: row.within or None),
    )
    shown = [place for place in case.profile.places if place.share >= LEAST_PLACE]
    return table(columns, shown[:MOST_PLACES])


def _peak_text(rate: KernelRate | None) -> str | None:
    """Format the share of the measured peak. A byte rate above the peak is due to caches."""
    if rate is None or rate.share is None:
        return None
    return "cached" if rate.share > 1 and rate.text_unit == "B/s" else percent(rate.share, 0)


def _rate_text(rate: KernelRate | None) -> str | None:
    """Format a rate, such as ``12.3 GFLOP/s``."""
    if rate is None:
        return None
    size, prefix = next((unit for unit in _PREFIXES if rate.per_s >= unit[0]), (1e3, "k"))
    return f"{number(rate.per_s / size)} {prefix}{rate.text_unit}"


def memory_facts(case: ExplainedCase) -> Iterator[tuple[str, float]]:
    """Yield the counted kinds of memory that aren't zero, in units of 10**6 bytes."""
    for field, name in _MEMORY.items():
        value = getattr(case.profile.memory, field)
        if value:
            yield name, value


def memory_table(case: ExplainedCase) -> Table | None:
    """Return the memory of a step by kind."""
    columns: tuple[Column[tuple[str, float]], ...] = (
        text_column("memory", lambda row: row[0]),
        Column("size", lambda row: memory(row[1])),
    )
    return table(columns, memory_facts(case))


def difference_tables(gap: CaseDifference, names: Sequence[str] = ()) -> tuple[Table | None, Table | None]:
    """Return tables of the difference between two cases, by family and by operator.

    ``names`` label the base and the new case, if case numbers alone would be ambiguous.
    """
    names = names or (gap.base.label, gap.new.label)
    remainder = Part("remainder: not in the profiles", None, gap.remainder_ms)
    whole = Part("measured difference", *gap.whole_ms)
    sums = (*gap.families, remainder, whole)
    return table(_columns(gap, "family", names), sums), table(
        _columns(gap, "operator or kernel", names), gap.kernels[:SHOWN_KERNELS]
    )


def _columns(gap: CaseDifference, title: str, names: Sequence[str]) -> tuple[Column[Part], ...]:
    unit = "ms per sample" if gap.per_sample else "ms"
    return (
        text_column(title, lambda part: part.name),
        Column(f"{names[0]}, {unit}", lambda part: number(part.base_ms)),
        Column(
            f"{names[1]}, {unit}",
            lambda part: (
                None if part.base_ms is None and part.name.startswith("remainder") else number(part.new_ms)
            ),
        ),
        Column(f"difference, {unit}", lambda part: _signed(part.gap_ms)),
        Column("share %", lambda part: _share(gap, part)),
    )


def _share(gap: CaseDifference, part: Part) -> str | None:
    share = gap.share(part)
    return None if share is None else percent(share, 0)


def _signed(value_ms: float) -> str:
    """Format a difference in milliseconds with its sign."""
    shown = number(value_ms) or ""
    return shown if shown.startswith("-") or shown == "0" else f"+{shown}"
