"""Tables of cases: performance, scaling, parts of a step, and all planned cases."""

from collections.abc import Collection, Sequence

from benchtui.sessions.analysis.scaling import Step, scaling
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import EVERY_CASE, PERFORMANCE
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.sessions.stats.results import Result, series, task_of
from benchtui.sessions.text.formatting import (
    number,
    percent,
    ratio_text,
    time_ms,
)
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.quantities import columns
from benchtui.sessions.text.tables import Column, Table, in_unit, table
from benchtui.sessions.text.wording import verdict_cell

LEAST_SHARE = 0.00005
"""Minimum share of a step. A smaller share would be shown as zero."""


def performance(results: Sequence[Result]) -> Table | None:
    """Return the step times, rates, memory and power of each case."""
    return table(in_unit(columns(PERFORMANCE, CaseData.of), task_of(results)), results)


def scalings(results: Sequence[Result], varying: Collection[str]) -> Table | None:
    """Return the throughput of each case relative to the smallest batch of its series, if it has several."""
    steps = (step for batch_series in series(results) for step in scaling(batch_series))
    case: Column[Step] = Column("Case", lambda step: case_label(step.result.config, varying), right=False)
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

    own = _OF_EVERY_CASE | {"own marks": (Column("Marks", marks, right=False),)}
    return table(columns(EVERY_CASE, _data, own), session.cases)


def _data(case: CaseState) -> CaseData:
    return CaseData(case, computed_metrics(case))


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


_CASE: Column[Result] = Column("Case", lambda result: result.name, right=False)
_SCALING: tuple[Column[Step], ...] = (
    Column("Throughput (samples/s)", lambda step: number(step.result.metrics.samples_per_s)),
    Column("Throughput per item (samples/s)", lambda step: number(step.per_item)),
    Column("Per item, relative to first batch size", lambda step: number(step.per_item_relative)),
    Column(
        "Throughput relative to linear scaling",
        lambda step: ratio_text(step.against_linear) if step.against_linear else None,
    ),
    Column("Gain per doubling (%)", lambda step: percent(step.gain_per_doubling)),
    Column("Relative to the previous size", lambda step: verdict_cell(step.gain), right=False),
)
_OF_EVERY_CASE: dict[str, tuple[Column[CaseState], ...]] = {
    "number": (Column("No.", lambda case: str(case.index + 1)),),
    "ended": (Column("Outcome", outcome, right=False),),
}
