"""Memory and energy tables: peak memory, out-of-memory frontier, and energy."""

from collections.abc import Sequence

import msgspec

from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import ENERGY, MEMORY
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, Series, series, series_key, task_of
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.quantities import columns
from benchtui.sessions.text.tables import Column, Table, in_unit, table


class MemoryRow(msgspec.Struct, frozen=True):
    """A case and the smallest batch of its series, to compare their peak memory."""

    result: Result
    smallest: Result


class Frontier(msgspec.Struct, frozen=True):
    """Memory frontier of a series: the largest batch that ran, and the smallest that ran out of memory.

    The latter may be smaller than the former if something else was using the memory.
    """

    series: Series
    largest: Result
    too_large: CaseState


def memory(results: Sequence[Result]) -> Table | None:
    """Return the peak memory of each case, the memory per additional sample, and throughput per MB."""
    figures = columns(MEMORY, lambda row: CaseData.of(row.result), _OF_MEMORY)
    rows = [
        MemoryRow(row, batch_series.results[0])
        for batch_series in series(results)
        for row in batch_series.results
    ]
    return table(in_unit(figures, task_of(results)), [row for row in rows if row.result.case.peak_memory_mb])


def frontiers(session: Session, results: Sequence[Result]) -> list[Frontier]:
    """Return the frontier of each series in which some batch size ran out of memory and never ran."""
    sizes: dict[tuple[object, ...], list[CaseState]] = {}
    for case in session.cases:
        if case.state == "oom":
            sizes.setdefault(series_key(case.config), []).append(case)
    oom_frontiers = []
    for batch_series in series(results):
        ran = {row.config.batch_size for row in batch_series.results}
        without = sizes.get(series_key(batch_series.config), ())
        too_large = [case for case in without if case.config.batch_size not in ran]
        if too_large:
            least = min(too_large, key=lambda case: case.config.batch_size)
            oom_frontiers.append(Frontier(batch_series, batch_series.results[-1], least))
    return oom_frontiers


def frontier_table(rows: Sequence[Frontier]) -> Table | None:
    """Return a row for each frontier."""
    columns: tuple[Column[Frontier], ...] = (
        Column("Series", lambda frontier: _series(frontier.series.config), right=False),
        Column("Largest batch that ran", lambda frontier: f"{frontier.largest.config.batch_size:,}"),
        Column("Its peak (MB)", lambda frontier: number(frontier.largest.case.peak_memory_mb)),
        Column("Smallest that didn't fit", lambda frontier: f"{frontier.too_large.config.batch_size:,}"),
        Column("Why", lambda frontier: _why(frontier.too_large), right=False),
    )
    return table(columns, rows)


def energy(results: Sequence[Result]) -> Table | None:
    """Return the energy of each case. None if no energy or power was read."""
    rows = [row for row in results if row.metrics.mean_power_w is not None or row.metrics.energy_per_sample_j]
    return table(in_unit(columns(ENERGY, CaseData.of), task_of(results)), rows)


def _series(config: Config) -> str:
    return config.name if config.label else config.family


def _why(case: CaseState) -> str:
    return (case.finished.reason if case.finished else None) or outcome(case)


def _where(row: MemoryRow) -> str:
    return "of the worker (RSS)" if row.result.config.device == "cpu" else "on the device"


def _further_sample(row: MemoryRow) -> str | None:
    """Format the memory in MB per sample beyond the smallest batch of the series."""
    peaks = row.result.case.peak_memory_mb, row.smallest.case.peak_memory_mb
    more = row.result.config.batch_size - row.smallest.config.batch_size
    if not peaks[0] or not peaks[1] or more <= 0 or peaks[0] < peaks[1]:
        return None  # a peak that shrinks as the batch grows is noise
    return number((peaks[0] - peaks[1]) / more)


_OF_MEMORY: dict[str, tuple[Column[MemoryRow], ...]] = {
    "where": (Column("Where", _where, right=False),),
    "further sample": (Column("Each further sample (MB)", _further_sample),),
}
