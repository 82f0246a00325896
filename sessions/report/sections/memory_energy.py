"""Memory, energy and counter tables: peak memory, out-of-memory frontier, energy, and activity of the units."""

from collections.abc import Sequence

import msgspec

from benchtui.sessions.payloads import GPU_ACTIVITY, HOST_ACTIVITY, Energy, Environment
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, Series, series, series_key, task_of
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.intervals import energy_interval
from benchtui.sessions.text.labels import series_title
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
    rows = [MemoryRow(row, each.results[0]) for each in series(results) for row in each.results]
    return table(in_unit(_MEMORY, task_of(results)), [row for row in rows if row.result.case.peak_memory_mb])


def frontiers(session: Session, results: Sequence[Result]) -> list[Frontier]:
    """Return the frontier of each series in which some batch size ran out of memory and never ran."""
    sizes: dict[tuple[object, ...], list[CaseState]] = {}
    for case in session.cases:
        if case.state == "oom":
            sizes.setdefault(series_key(case.config), []).append(case)
    found = []
    for each in series(results):
        ran = {row.config.batch_size for row in each.results}
        without = sizes.get(series_key(each.config), ())
        too_large = [case for case in without if case.config.batch_size not in ran]
        if too_large:
            least = min(too_large, key=lambda case: case.config.batch_size)
            found.append(Frontier(each, each.results[-1], least))
    return found


def frontier_table(found: Sequence[Frontier], varying: Sequence[str]) -> Table | None:
    """Return a row for each frontier."""
    columns: tuple[Column[Frontier], ...] = (
        Column("Series", lambda each: series_title(each.series.config, varying), right=False),
        Column("Largest batch that ran", lambda each: f"{each.largest.config.batch_size:,}"),
        Column("Its peak (MB)", lambda each: number(each.largest.case.peak_memory_mb)),
        Column("Smallest that didn't fit", lambda each: f"{each.too_large.config.batch_size:,}"),
        Column("Why", lambda each: _why(each.too_large), right=False),
    )
    return table(columns, found)


def energy(results: Sequence[Result]) -> Table | None:
    """Return the energy of each case. None if no energy or power was read."""
    rows = [row for row in results if row.metrics.mean_power_w is not None or row.metrics.energy_per_sample_j]
    return table(in_unit(_ENERGY, task_of(results)), rows)


def counters(results: Sequence[Result]) -> Table | None:
    """Return the means of hardware counters in each case. None if no counter was read."""
    rows = [row for row in results if any(_mean(row, name) is not None for name in _COUNTERS)]
    return table((Column("Case", lambda row: row.name, right=False), *map(_counter, _COUNTERS)), rows)


def _mean(result: Result, name: str) -> float | None:
    environment = (result.case.finished and result.case.finished.environment) or Environment()
    value: float | None = getattr(environment, name)
    return value


def _counter(name: str) -> Column[Result]:
    label, unit = _COUNTERS[name]
    title = label[:1].upper() + label[1:] + (f" ({unit})" if unit else "")
    return Column(title, lambda result: number(_mean(result, name)))


def _why(case: CaseState) -> str:
    return (case.finished.reason if case.finished else None) or outcome(case)


def _energy_of(result: Result) -> Energy:
    return (result.case.finished.energy if result.case.finished else None) or Energy()


def _where(row: MemoryRow) -> str:
    return "of the worker (RSS)" if row.result.config.device == "cpu" else "on the device"


def _per_sample(row: MemoryRow) -> str | None:
    """Format peak device memory per sample in MB. None on a CPU, where most of the RSS is torch itself."""
    memory_mb = row.result.case.device_memory_mb
    return number(memory_mb / row.result.config.batch_size) if memory_mb else None


def _further_sample(row: MemoryRow) -> str | None:
    """Format the memory in MB per sample beyond the smallest batch of the series."""
    peaks = row.result.case.peak_memory_mb, row.smallest.case.peak_memory_mb
    more = row.result.config.batch_size - row.smallest.config.batch_size
    if not peaks[0] or not peaks[1] or more <= 0 or peaks[0] < peaks[1]:
        return None  # a peak that shrinks as the batch grows is noise
    return number((peaks[0] - peaks[1]) / more)


def _samples_per_joule(result: Result) -> str | None:
    joules = result.metrics.energy_per_sample_j
    return number(1 / joules) if joules else None


def _joules_per_token(result: Result) -> str | None:
    joules, tokens = result.metrics.energy_per_sample_j, result.metrics.tokens_per_s
    samples = result.metrics.samples_per_s
    return number(1000 * joules * samples / tokens) if joules and tokens and samples else None


def _lowest(row: MemoryRow) -> str | None:
    """Format the lowest peak of the rounds in MB, if they differ."""
    known = row.result.memory_range_mb
    return number(known[0]) if known and known[0] < known[1] else None


_MEMORY: tuple[Column[MemoryRow], ...] = (
    Column("Case", lambda row: row.result.name, right=False),
    Column("Peak (MB)", lambda row: number(row.result.case.peak_memory_mb)),
    Column("Lowest round (MB)", _lowest),
    Column("Where", _where, right=False),
    Column("Peak over batch (MB/sample)", _per_sample),
    Column("Each further sample (MB)", _further_sample),
    Column("Samples/s per MB", lambda row: number(row.result.samples_per_mb)),
    Column("Tokens/s per MB", lambda row: number(row.result.tokens_per_mb)),
)
_ENERGY: tuple[Column[Result], ...] = (
    Column("Case", lambda row: row.name, right=False),
    Column("Mean power (W)", lambda row: number(row.metrics.mean_power_w)),
    Column("Energy (J/sample)", lambda row: number(row.metrics.energy_per_sample_j)),
    Column("95% interval (J/sample)", energy_interval),
    Column("Samples/J", _samples_per_joule),
    Column("Energy (J per 1,000 tokens)", _joules_per_token),
    Column("Over the window (J)", lambda row: number(_energy_of(row).energy_j)),
    Column("Read from", lambda row: _energy_of(row).source, right=False),
)
_COUNTERS = GPU_ACTIVITY | HOST_ACTIVITY
