"""Results: a row per measured case with its most important quantities, and remarks on the other cases."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from benchtui.sessions.analysis.roofline import Limit
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import RESULTS, short
from benchtui.sessions.report.content import Section, items, section
from benchtui.sessions.report.overview.decision import Choices
from benchtui.sessions.report.sections.roofline import Row as LimitRow
from benchtui.sessions.report.sections.roofline import in_unit_of, utilization, utilization_title
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED
from benchtui.sessions.stats.disturbance import mark_kind
from benchtui.sessions.stats.results import Result, by_work, task_of, varied
from benchtui.sessions.sweep import custom_task
from benchtui.sessions.sweep.options import OPTIONS
from benchtui.sessions.text.formatting import MB, TERA, count, in_sentence, memory_unit, percent
from benchtui.sessions.text.labels import option_title
from benchtui.sessions.text.quantities import column, columns, token_rates
from benchtui.sessions.text.tables import Column, Table, in_unit, narrowed, selected, table, text_column

MOST_ROWS = 10
"""Maximum number of rows of a short report. All cases are in the full report."""
DROPPED = (
    *("Limited by", "MFU", "HFU", "Mean power", "TFLOP/s", "Time per sample", "n", "Of the measured peak"),
    *("p99", "Marks", "J/sample", "± 95%"),
)
"""Columns that a table leaves out if it is too wide, the first ones first. The full report has them."""
Own = dict[str, tuple[Column["Row"], ...]]


class Row(msgspec.Struct, frozen=True):
    """A case with the marks that not every case of the session has."""

    result: Result
    marks: tuple[str, ...]
    limit: Limit | None
    """Limit of the case; None if its operations weren't counted."""
    mfu: str | None


def results_section(
    session: Session, results: Sequence[Result], limits: Sequence[LimitRow], made: Choices, *, full: bool
) -> Section | None:
    """Return a row for each case. A short report has those of the choices and the fastest of each work."""
    shown = results if full else _fastest(results, _named(made))
    rows = list(_rows(session, shown, results, limits))
    own = _own(rows, _keys(results), utilization_title(session))
    figures = columns(RESULTS, _data, own)
    whole = table(in_unit(figures, task_of(shown)), rows, lambda row: row.result.metrics.samples_per_s)
    remarks = (*_parts(session, results), *_unmeasured_cases(session))
    others = items(("", text) for text in remarks)
    if whole is None:
        return section("Results", others)
    trimmed, same = without_equal(whole, 0)
    notes = (
        f"All rows: {', '.join(same)}." if same else None,
        f"{len(shown):,} of {count(len(results), 'case')}, the fastest of each workload."
        if len(shown) < len(results)
        else None,
    )
    drawn = trimmed if full else narrowed(trimmed, DROPPED)
    return section("Results", drawn, " ".join(filter(None, notes)), others)


def _named(made: Choices) -> set[int]:
    """Return the indices of the chosen cases and their baselines."""
    chosen = [conclusion for by_work in made.values() for conclusion in by_work.values()]
    return {row.case.index for work in chosen for row in (work.best, work.baseline) if row}


def _fastest(results: Sequence[Result], named: Collection[int]) -> list[Result]:
    """Return the named cases and the fastest of each work, up to ``MOST_ROWS``, in plan order."""
    if len(results) <= MOST_ROWS:
        return list(results)
    ranks = {}
    for rows in by_work(results).values():
        ranked = sorted(rows, key=lambda row: -(row.metrics.samples_per_s or 0.0))
        ranks.update({row.case.index: place for place, row in enumerate(ranked)})
    first = sorted(results, key=lambda row: (row.case.index not in named, ranks[row.case.index]))
    kept = {row.case.index for row in first[:MOST_ROWS]}
    return [row for row in results if row.case.index in kept]


def _rows(
    session: Session, shown: Sequence[Result], results: Sequence[Result], limits: Sequence[LimitRow]
) -> Iterable[Row]:
    kinds = {row.case.index: _mark_kinds(row) for row in results}
    amounts = Counter(kind for row_kinds in kinds.values() for kind in row_kinds)
    by_case = {result.case.index: (limit, utilization(session, (result, limit))) for result, limit in limits}
    for row in shown:
        marks = tuple(kind for kind in kinds[row.case.index] if amounts[kind] < len(kinds))
        yield Row(row, marks, *by_case.get(row.case.index, (None, None)))


def _mark_kinds(row: Result) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mark_kind(mark) for mark in row.case.marks if mark != SIMULATED))


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
    return selected(whole, kept), list(filter(None, same))


def _with_value(title: str, value: str) -> str | None:
    """Name a column and its one value: ``peak memory = 655 MB``. None for zero, which isn't worth showing."""
    name, _, unit = title.removesuffix(")").partition(" (")
    return f"{in_sentence(name)} = {value} {unit}".rstrip() if value != "0" else None


def _keys(results: Sequence[Result]) -> tuple[Column[Row], ...]:
    """Return the columns that name a case: its number, and the options that differ or another tool's name."""
    if any(row.config.label for row in results):
        return (_NUMBER, text_column("Case", lambda row: row.result.name))
    options = varied(row.config for row in results)
    return (
        _NUMBER,
        *(_option(name) for name in KEY_TITLES if name in options),
        Column("Batch size", lambda row: f"{row.result.config.batch_size:,}"),
    )


def _option(name: str) -> Column[Row]:
    def cell(row: Row) -> str:
        value = getattr(row.result.config, name)
        return f"{value:,}" if isinstance(value, int) else str(value)

    return Column(KEY_TITLES[name], cell, right=name in ("threads", "tokenizer_threads", "sequence_length"))


def _own(rows: Sequence[Row], keys: tuple[Column[Row], ...], share_of_sheet: str) -> Own:
    """Return the columns that aren't quantities of a single case, or depend on the rows."""
    only_means = all(row.result.metrics.latency_ms.median is None for row in rows)
    middle = "latency_mean_ms" if only_means else "latency_typical_ms"
    return {
        "options": keys,
        "middle": (column(short(middle)[0], _data),),
        "headline": token_rates(lambda row: row.result),
        "peak": (_peak(rows),),
        "limits": (
            Column("TFLOP/s", lambda row: in_unit_of(row.limit.flops_per_s, TERA) if row.limit else None),
            Column(
                "Of the measured peak (%)",
                lambda row: percent(row.limit.shares.arithmetic) if row.limit else None,
            ),
            Column(share_of_sheet, lambda row: row.mfu),
            text_column("Limited by", lambda row: row.limit.bound if row.limit else None),
        ),
        "own marks": (text_column("Marks", lambda row: ", ".join(row.marks) or None),),
    }


def _data(row: Row) -> CaseData:
    return CaseData.of(row.result)


def _peak(rows: Sequence[Row]) -> Column[Row]:
    """Return the column of peak memory, in GiB if a case needs that much."""
    peaks = [row.result.case.peak_memory_mb or 0.0 for row in rows]
    size, unit = memory_unit(max(peaks, default=0.0))
    return Column(
        f"Peak memory ({unit})", lambda row: in_unit_of(row.result.case.peak_memory_mb or None, size / MB)
    )


_NUMBER: Column[Row] = Column("No.", lambda row: str(row.result.case.index + 1))
KEY_TITLES = {option.name: option_title(option.name) for option in OPTIONS if option.name != "batch_size"}
"""Titles of the options that name a case."""


NOTABLE_SHARE = 0.1
"""Minimum share of a step for tokenizing, or a part of a user-defined step, to be mentioned."""
MOST_PARTS = 3
"""Maximum number of parts to mention."""
MOST_OUTCOMES = 8
"""Maximum number of outcomes of unmeasured cases to mention. All of them are in the full report."""


def _parts(session: Session, results: Sequence[Result]) -> Iterator[str]:
    """Yield tokenizing or, of a user-defined step, the largest parts, each with the case it is largest in."""
    names = list(dict.fromkeys(name for result in results for name in result.metrics.parts_ms))
    if not custom_task(session.start.sweep.task):
        names = [name for name in names if name == "tokenize"]
    elif len(names) < 2:
        return
    shares = sorted(((*_largest_share(name, results), name) for name in names), key=lambda part: -part[0])
    for share, most, name in shares[:MOST_PARTS]:
        if share >= NOTABLE_SHARE:
            yield f"Part {name} takes up to {percent(share)} % of a step ({most.name})."


def _largest_share(part: str, results: Sequence[Result]) -> tuple[float, Result]:
    """Return the largest share of a step that a part takes in any case, and that case."""
    shares = [
        (result.metrics.parts_ms[part].mean / result.metrics.latency_ms.mean, result)
        for result in results
        if part in result.metrics.parts_ms and result.metrics.latency_ms.mean > 0
    ]
    return max(shares, key=lambda pair: pair[0], default=(0.0, results[0]))


def _unmeasured_cases(session: Session) -> list[str]:
    """Count the cases that weren't measured, by outcome and reason."""
    cases_by_reason: dict[tuple[str, str], list[CaseState]] = {}
    for case in session.cases:
        if not case.has_result:
            reason = (case.finished and case.finished.reason) or ""
            cases_by_reason.setdefault((outcome(case), reason), []).append(case)
    texts = []
    for (ended, reason), cases in list(cases_by_reason.items())[:MOST_OUTCOMES]:
        names = cases[0].name if len(cases) == 1 else f"such as {cases[0].name}"
        why = reason.removeprefix(ended).lstrip(" :")  # the reason may begin with the outcome
        texts.append(f"{count(len(cases), 'case')} {ended} ({names}){f': {why}' if why else ''}.")
    return texts
