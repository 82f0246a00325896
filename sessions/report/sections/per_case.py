"""Tables of cases: performance, ranking, scaling, parts of a step, memory, energy, and all planned cases."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.analysis.scaling import Step, scaling
from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import COMPARED_BY, ENERGY, EVERY_CASE, MEMORY, PERFORMANCE, RANKED
from benchtui.sessions.report.content import Section, section
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, by_work, series, series_key, task_of
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.formatting import number, percent, ratio_text, signed_percent, span, time_ms
from benchtui.sessions.text.quantities import columns, token_rates
from benchtui.sessions.text.tables import Column, Table, in_unit, table, text_column
from benchtui.sessions.text.wording import Phrase, cost_of_a_million, memory_change, verdict_cell

LEAST_SHARE = 0.00005
"""Minimum share of a step. A smaller share would be shown as zero."""


def performance(results: Sequence[Result]) -> Table | None:
    """Return the step times, rates, memory and power of each case."""
    return table(in_unit(columns(PERFORMANCE, CaseData.of), task_of(results)), results)


def scalings(results: Sequence[Result]) -> Table | None:
    """Return the throughput of each case relative to the smallest batch of its series, if it has several."""
    steps = (step for rows in series(results) for step in scaling(rows))
    case: Column[Step] = text_column("Case", lambda step: step.result.name)
    return table((case, *in_unit(_SCALING, task_of(results))), steps)


def parts(results: Sequence[Result]) -> Table | None:
    """Return the mean time and share of each part of a step. None if no case has parts."""
    rows = [result for result in results if result.metrics.parts_ms]
    names = dict.fromkeys(name for result in rows for name in result.metrics.parts_ms)
    return table((_CASE, *(column for name in names for column in _part(name))), rows)


def every_case(session: Session) -> Table | None:
    """Return one row for each planned case, regardless of its outcome. Marks of every case are left out."""
    shared = set.intersection(*(set(case.marks) for case in session.cases)) if len(session.cases) > 1 else set()

    def marks(case: CaseState) -> str | None:
        return ", ".join(mark for mark in case.marks if mark not in shared) or None

    own = _OF_EVERY_CASE | {"own marks": (text_column("Marks", marks),)}
    return table(columns(EVERY_CASE, lambda case: CaseData(case, computed_metrics(case)), own), session.cases)


def _part(name: str) -> tuple[Column[Result], Column[Result]]:
    def mean(result: Result) -> float | None:
        part_ms = result.metrics.parts_ms.get(name)
        return part_ms.mean if part_ms else None

    def share(result: Result) -> float | None:
        time, whole = mean(result), result.metrics.latency_ms.mean
        fraction = time / whole if time is not None and whole > 0 else 0.0
        return fraction if fraction >= LEAST_SHARE else None

    return (
        Column(f"{name} (ms)", lambda result: time_ms(mean(result))),
        Column(f"{name} (%)", lambda result: percent(share(result))),
    )


_CASE: Column[Result] = text_column("Case", lambda result: result.name)
_SCALING: tuple[Column[Step], ...] = (
    Column("Throughput (samples/s)", lambda step: number(step.result.metrics.samples_per_s)),
    Column("Throughput per item (samples/s)", lambda step: number(step.per_item)),
    Column("Per item, relative to first batch size", lambda step: number(step.per_item_relative)),
    Column(
        "Throughput relative to linear scaling",
        lambda step: ratio_text(step.against_linear) if step.against_linear else None,
    ),
    Column("Gain per doubling (%)", lambda step: percent(step.gain_per_doubling)),
    text_column("Relative to the previous size", lambda step: verdict_cell(step.gain)),
)
_OF_EVERY_CASE: dict[str, tuple[Column[CaseState], ...]] = {
    "number": (Column("No.", lambda case: str(case.index + 1)),),
    "ended": (text_column("Outcome", outcome),),
}


class RankedCase(msgspec.Struct, frozen=True):
    """A case with its rank and its ratio to the baseline."""

    rank: int
    result: Result
    baseline: Result | None
    ratio: Ratio | None
    """Throughput relative to the baseline. None for the baseline itself, or without one."""
    per_hour: float | None


def leaderboard(
    session: Session, results: Sequence[Result], per_hour: float | None
) -> Iterator[Section | None]:
    """Yield a table for each work with at least two cases that have a throughput."""
    for work, rows in by_work(results).items():
        rated = [row for row in rows if row.metrics.samples_per_s]
        ranked = sorted(rated, key=lambda row: row.headline_rate[0] or 0.0, reverse=True)
        base = baseline_of(rows[0].config, rows, session.start.sweep.measure.baseline)
        ratios = [throughput_ratio(base, row) if base and base is not row else None for row in ranked]
        places = [
            RankedCase(rank, row, base, ratio, per_hour)
            for rank, (row, ratio) in enumerate(zip(ranked, ratios, strict=True), 1)
        ]
        figures = in_unit(columns(RANKED, lambda place: CaseData.of(place.result), _OWN), task_of(ranked))
        yield section(_title(work, rows), table(figures, places) if len(places) > 1 else None)


def _title(work: Work, rows: Sequence[Result]) -> str:
    """Return the heading. The sequence length of cases named by another tool is unknown."""
    unknown = not work.group and any(row.config.label for row in rows)
    return "Ranked" if unknown or not str(work) else f"Ranked, {work}"


def _change(place: RankedCase) -> str | None:
    shown = place.ratio.shown if place.ratio else None
    return None if shown is None else signed_percent(shown - 1)


def _interval(place: RankedCase) -> str | None:
    ratio = place.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return span(signed_percent(ratio.low - 1), signed_percent(ratio.high - 1))


def _memory_change(place: RankedCase) -> str | None:
    base = place.baseline
    change = memory_change(place.result, base) if base and base is not place.result else None
    return signed_percent(change) if change is not None else None


def _verdict(place: RankedCase) -> str | None:
    return Phrase.BASELINE if place.baseline is place.result else verdict_cell(place.ratio)


_OWN: dict[str, tuple[Column[RankedCase], ...]] = {
    "headline": token_rates(lambda place: place.result),
    "rank": (Column("Rank", lambda place: str(place.rank)),),
    "label": (text_column("Case", lambda place: place.result.name),),
    "against the baseline": (
        Column("Against the baseline (%)", _change),
        Column("95% interval (%)", _interval),
        text_column("Verdict", _verdict),
    ),
    "memory against the baseline": (Column("Memory against the baseline (%)", _memory_change),),
    "cost": (
        Column(
            "Cost of a million samples", lambda place: number(cost_of_a_million(place.result, place.per_hour))
        ),
    ),
}


class MemoryRow(msgspec.Struct, frozen=True):
    """A case and the smallest batch of its series, to compare their peak memory."""

    result: Result
    smallest: Result


class Frontier(msgspec.Struct, frozen=True):
    """Memory frontier of a series: the largest batch that ran, and the smallest that ran out of memory.

    The latter may be smaller than the former if something else was using the memory.
    """

    largest: Result
    too_large: CaseState


def memory(results: Sequence[Result]) -> Table | None:
    """Return the peak memory of each case, the memory per additional sample, and throughput per GiB."""
    figures = columns(MEMORY, lambda row: CaseData.of(row.result), _OF_MEMORY)
    rows = [MemoryRow(row, sized[0]) for sized in series(results) for row in sized]
    return table(in_unit(figures, task_of(results)), [row for row in rows if row.result.case.peak_memory_mb])


def frontiers(session: Session, results: Sequence[Result]) -> list[Frontier]:
    """Return the frontier of each series in which some batch size ran out of memory and never ran."""
    sizes: dict[tuple[object, ...], list[CaseState]] = {}
    for case in session.cases:
        if case.state == "oom":
            sizes.setdefault(series_key(case.config), []).append(case)
    oom_frontiers = []
    for rows in series(results):
        ran = {row.config.batch_size for row in rows}
        without = sizes.get(series_key(rows[0].config), ())
        too_large = [case for case in without if case.config.batch_size not in ran]
        if too_large:
            least = min(too_large, key=lambda case: case.config.batch_size)
            oom_frontiers.append(Frontier(rows[-1], least))
    return oom_frontiers


def frontier_table(rows: Sequence[Frontier]) -> Table | None:
    """Return a row for each frontier."""
    columns: tuple[Column[Frontier], ...] = (
        text_column("Series", _series),
        Column("Largest batch that ran", lambda frontier: f"{frontier.largest.config.batch_size:,}"),
        Column("Its peak (MB)", lambda frontier: number(frontier.largest.case.peak_memory_mb)),
        Column("Smallest that didn't fit", lambda frontier: f"{frontier.too_large.config.batch_size:,}"),
        text_column("Why", lambda frontier: _why(frontier.too_large)),
    )
    return table(columns, rows)


def energy(results: Sequence[Result]) -> Table | None:
    """Return the energy of each case. None if no energy or power was read."""
    known = (quantity("mean_power_w"), quantity(COMPARED_BY["energy"]))
    rows = [row for row in results if any(figure.figure(CaseData.of(row)) is not None for figure in known)]
    return table(in_unit(columns(ENERGY, CaseData.of), task_of(results)), rows)


def _series(frontier: Frontier) -> str:
    config = frontier.largest.config
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
    "where": (text_column("Where", _where),),
    "further sample": (Column("Each further sample (MB)", _further_sample),),
}
