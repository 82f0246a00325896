"""Results by device and precision: one table each, with scaling, memory, energy, parts and marks as columns."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from benchtui.sessions.analysis.roofline import Limit
from benchtui.sessions.analysis.scaling import Step, scaling
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.view import short
from benchtui.sessions.metrics.views import RESULTS
from benchtui.sessions.report.sections.gains import OPTION_TITLES
from benchtui.sessions.report.sections.roofline import GIGA, utilization, utilization_title
from benchtui.sessions.report.sections.roofline import Row as LimitRow
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED
from benchtui.sessions.stats.disturbance import mark_kind
from benchtui.sessions.stats.results import Result, series, task_of, varied
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import (
    MB_PER_GB,
    count,
    in_sentence,
    number,
    percent,
    ratio_text,
)
from benchtui.sessions.text.labels import case_name, series_title
from benchtui.sessions.text.quantities import column, columns
from benchtui.sessions.text.tables import Column, Table, in_unit, table
from benchtui.sessions.text.wording import headline_rate

MOST_ROWS = 40
"""Maximum number of rows of a table. Further cases are only in the full report."""
MOST_GROUPS = 8
"""Maximum number of tables. Further ones are only in the full report."""
LEAST_SHARE = 0.005
"""Minimum share of a step for a part to be named."""
IN_TITLE = ("machine", "device", "precision")
"""Options that each table has in its heading."""


Own = dict[str, tuple[Column["Row"], ...]]


class Row(msgspec.Struct, frozen=True):
    """A case with its place in its batch-size series."""

    result: Result
    step: Step | None
    marks: tuple[str, ...]
    """Kinds of marks that not every case of the session has."""
    limit: Limit | None
    """Limit of the case; None if its operations weren't counted."""
    mfu: str | None


class Group(msgspec.Struct, frozen=True):
    """Cases of one device and precision."""

    title: str
    table: Table
    same: str | None
    """Values shared by all rows, and rows that are left out."""


def results_by_device(session: Session, results: Sequence[Result], limits: Sequence[LimitRow]) -> list[Group]:
    """Return a table for each device and precision."""
    varying = varied(result.config for result in results)
    groups: dict[tuple[str, ...], list[Row]] = {}
    share = utilization_title(session)
    by_case = {result.case.index: (limit, utilization(session, (result, limit))) for result, limit in limits}
    for row in _rows(results, by_case):
        groups.setdefault(_key(row.result.config), []).append(row)
    return [group for rows in list(groups.values())[:MOST_GROUPS] if (group := _group(rows, varying, share))]


def unmeasured(session: Session, varying: Collection[str]) -> list[str]:
    """Count the cases that weren't measured, by outcome and reason."""
    cases_by_reason: dict[tuple[str, str], list[CaseState]] = {}
    for case in session.cases:
        if not case.has_result:
            cases_by_reason.setdefault((outcome(case), _reason(case)), []).append(case)
    named = {key: case_name(cases[0].config, varying) for key, cases in cases_by_reason.items()}
    return [_unmeasured(*key, len(cases), named[key]) for key, cases in cases_by_reason.items()][:MOST_GROUPS]


def _unmeasured(ended: str, reason: str, cases: int, first: str) -> str:
    names = first if cases == 1 else f"such as {first}"
    why = reason.removeprefix(ended).lstrip(" :")  # the reason may begin with the outcome
    return f"{count(cases, 'case')} {ended} ({names}){f': {why}' if why else ''}."


def _reason(case: CaseState) -> str:
    return (case.finished.reason if case.finished else None) or ""


def _key(config: Config) -> tuple[str, ...]:
    """Return the key of a group. Cases named by another tool form a single group."""
    return ("",) if config.label else tuple(getattr(config, name) for name in IN_TITLE)


def _rows(results: Sequence[Result], limits: Mapping[int, tuple[Limit, str | None]]) -> Iterable[Row]:
    kinds = {row.case.index: _mark_kinds(row) for row in results}
    shared = {
        kind
        for kind, n in Counter(kind for row_kinds in kinds.values() for kind in row_kinds).items()
        if n == len(kinds)
    }
    for batch_series in series(results):
        scaled = scaling(batch_series)
        steps = {step.result.case.index: step for step in scaled.steps} if scaled else {}
        for row in batch_series.results:
            marks = tuple(kind for kind in kinds[row.case.index] if kind not in shared)
            yield Row(row, steps.get(row.case.index), marks, *limits.get(row.case.index, (None, None)))


def _mark_kinds(row: Result) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mark_kind(mark) for mark in row.case.marks if mark != SIMULATED))


def _group(rows: Sequence[Row], varying: Sequence[str], share_of_sheet: str) -> Group | None:
    """Return the table of a group. Columns with equal values in all rows are summarized in a line below it."""
    shown = rows if len(rows) <= MOST_ROWS else _fastest(rows)
    config, own = rows[0].result.config, varied(row.result.config for row in shown)
    title = series_title(config, [name for name in varying if name not in own])
    keys = _keys(config, own)
    figures = columns(RESULTS, _data, _own(shown, keys, share_of_sheet))
    whole = table(
        in_unit(figures, task_of([row.result for row in shown])),
        shown,
        lambda row: row.result.metrics.samples_per_s,
    )
    if whole is None:
        return None
    trimmed, same = without_equal(whole, len(keys))
    remarks = (
        f"All rows: {', '.join(same)}." if same else None,
        f"The {len(shown):,} fastest of {count(len(rows), 'case')}." if len(shown) < len(rows) else None,
    )
    return Group("Cases" if config.label else title, trimmed, " ".join(filter(None, remarks)) or None)


def _fastest(rows: Sequence[Row]) -> list[Row]:
    ranked = sorted(rows, key=lambda row: -(row.result.metrics.samples_per_s or 0.0))[:MOST_ROWS]
    kept = {row.result.case.index for row in ranked}
    return [row for row in rows if row.result.case.index in kept]


def without_equal(whole: Table, keys: int) -> tuple[Table, list[str]]:
    """Remove the columns whose cells are all equal, and return their titles with that value.

    The first ``keys`` columns are never removed.
    """
    cells_of = list(zip(*whole.rows, strict=True))
    alike = {
        place for place, cells in enumerate(cells_of) if place >= keys and len(set(cells)) < min(len(cells), 2)
    }
    kept = [place for place in range(len(cells_of)) if place not in alike]
    same = [_with_value(whole.titles[place], str(cells_of[place][0])) for place in sorted(alike)]
    cut = replace(
        whole,
        titles=tuple(whole.titles[place] for place in kept),
        right=tuple(whole.right[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in whole.rows),
    )
    return cut, [text for text in same if text]


def _with_value(title: str, value: str) -> str | None:
    """Name a column and its one value: ``peak memory = 655 MB``. None for zero, which isn't worth showing."""
    name, _, unit = title.removesuffix(")").partition(" (")
    return f"{in_sentence(name)} = {value} {unit}".rstrip() if value != "0" else None


def _keys(config: Config, own: Sequence[str]) -> tuple[Column[Row], ...]:
    """Return the columns of the options that differ within the table."""
    if config.label:
        return (Column("Case", lambda row: row.result.name, right=False),)
    options = [name for name in OPTION_TITLES if name in own]
    return (*map(_option, options), Column("Batch size", lambda row: f"{row.result.config.batch_size:,}"))


def _option(name: str) -> Column[Row]:
    def cell(row: Row) -> str:
        value = getattr(row.result.config, name)
        return f"{value:,}" if isinstance(value, int) else str(value)

    return Column(OPTION_TITLES[name], cell, right=name in ("threads", "tokenizer_threads", "sequence_length"))


def _own(rows: Sequence[Row], keys: tuple[Column[Row], ...], share_of_sheet: str) -> Own:
    """Return the columns that aren't quantities of a single case, or depend on the rows."""
    middle = "latency_mean_ms" if _only_means(rows) else "latency_typical_ms"
    return {
        "options": keys,
        "middle": (column(short(middle)[0], _data),),
        "headline": _headline(rows),
        "scaling": (
            Column("Against linear (×)", lambda row: ratio_text(row.step.against_linear) if row.step else None),
            Column("Per doubling (%)", lambda row: percent(row.step.gain_per_doubling) if row.step else None),
        ),
        "peak": (_peak(rows),),
        "limits": (
            Column("GFLOP/s", _rate_of_operations),
            Column("Of the measured peak (%)", _share),
            Column(share_of_sheet, lambda row: row.mfu),
            Column("Limited by", lambda row: row.limit.bound if row.limit else None, right=False),
        ),
        "parts": (Column("Step breakdown (%)", _parts, right=False),),
        "own marks": (Column("Marks", lambda row: ", ".join(row.marks) or None, right=False),),
    }


def _data(row: Row) -> CaseData:
    return CaseData.of(row.result)


def _only_means(rows: Sequence[Row]) -> bool:
    return all(row.result.metrics.latency_ms.median is None for row in rows)


def _headline(rows: Sequence[Row]) -> tuple[Column[Row], ...]:
    """Return the column of the token rate (new tokens if the task generates); empty without tokens."""
    units = [unit for row in rows for rate, unit in (_token_rate(row),) if rate is not None]
    if not units:
        return ()
    return (Column(f"{units[0][:1].upper()}{units[0][1:]}", lambda row: _in_unit(row, units[0])),)


def _in_unit(row: Row, unit: str) -> str | None:
    rate, own = _token_rate(row)
    return number(rate) if own == unit else None


def _token_rate(row: Row) -> tuple[float | None, str]:
    rate, unit = headline_rate(row.result)
    return row.result.token_rate if unit == row.result.metrics.task.unit else (rate, unit)


def _peak(rows: Sequence[Row]) -> Column[Row]:
    """Return the column of peak memory, in GB if a case needs that much."""
    peaks = [row.result.case.peak_memory_mb or 0.0 for row in rows]
    size, unit = (MB_PER_GB, "GB") if max(peaks, default=0.0) >= MB_PER_GB else (1, "MB")

    def cell(row: Row) -> str | None:
        peak_mb = row.result.case.peak_memory_mb
        return number(peak_mb / size) if peak_mb else None

    return Column(f"Peak memory ({unit})", cell)


def _rate_of_operations(row: Row) -> str | None:
    rate = row.limit.flops_per_s if row.limit else None
    return number(rate / GIGA) if rate is not None else None


def _share(row: Row) -> str | None:
    return percent(row.limit.shares.arithmetic) if row.limit else None


def _parts(row: Row) -> str | None:
    """Format the shares of a step, largest first, without negligible ones."""
    whole = row.result.metrics.latency_ms.mean
    shares = {name: part_ms.mean / whole for name, part_ms in row.result.metrics.parts_ms.items() if whole > 0}
    shown = sorted((item for item in shares.items() if item[1] >= LEAST_SHARE), key=lambda item: -item[1])
    return ", ".join(f"{name} {percent(share)}" for name, share in shown) or None
