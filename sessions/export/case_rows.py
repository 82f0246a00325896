"""Conversion of a session's cases to export rows."""

import msgspec

from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.metrics.catalogue import EXPORTED
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.case_metrics import Metrics, metrics
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, measured


def rows(session: Session) -> list[tuple[CaseRow, Metrics | None]]:
    """Return a row for each case in plan order, with the metrics it is based on (None without any)."""
    results = measured(session)
    figures = {result.case.index: result for result in results}
    bases = baselines(results, session.start.sweep.measure.baseline)
    return [_row(case, figures.get(case.index), bases.get(case.config.work)) for case in session.cases]


def case_row(case: CaseState, result: Result | None = None, base: Result | None = None) -> CaseRow:
    """Return the row of one case.

    ``result`` contains the metrics of the case if they have already been computed. ``base`` is the baseline of
    its speedup; without one, the row has none.
    """
    if result is None and case.state == "ok" and (computed := metrics(case)):
        result = Result(case, computed.rounds, metrics=computed)
    return _row(case, result, base)[0]


def _row(case: CaseState, result: Result | None, base: Result | None) -> tuple[CaseRow, Metrics | None]:
    computed = result.metrics if result else metrics(case) if case.state == "ok" else None
    ratio = throughput_ratio(base, result) if result and base else None
    data = CaseData(result.case if result else case, computed, result, base if result else None, ratio)
    return msgspec.convert({row.key: _clean(row.read(data)) for row in EXPORTED}, CaseRow), computed


def _clean(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    return tuple(map(_clean, value)) if isinstance(value, tuple) else value
