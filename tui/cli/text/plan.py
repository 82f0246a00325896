"""Sweep plan as plain text and JSON: cases with predicted time and memory, and totals."""

from collections.abc import Callable, Iterator

from benchtui.sessions.estimates.history import HistoryEstimator
from benchtui.sessions.estimates.sweep_models import download_remark
from benchtui.sessions.sweep import Config, Sweep, custom_task
from benchtui.sessions.text.formatting import count
from benchtui.themes import symbols
from benchtui.tui.cli.schema.records import PlanJson, PlannedCaseJson
from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.case_grid import (
    CaseGrid,
    GridCase,
    basis_text,
    further_s,
    memory_cell,
    time_cell,
    totals_text,
)

SIGNS = symbols.UNICODE


def plan_lines(
    sweep: Sweep, estimator: HistoryEstimator, missing: Callable[[Config], str] | None = None
) -> Iterator[str]:
    """Yield a line per case to measure, one for each reason to leave cases out, then the totals.

    ``missing`` returns why a case's device isn't on this machine.
    """
    matrix = CaseGrid(sweep, estimator, missing)
    digits = len(f"{matrix.count:,}")
    yield clean(f"{sweep.name}: {_work(sweep)}")
    if remark := download_remark(sweep):
        yield clean(f"model {remark}")
    yield f"{'':{digits}}  {'time s':>10} {'memory':>11}  case"
    left_out: dict[tuple[str, str], tuple[int, str]] = {}
    for index in range(matrix.count):
        cell = matrix.cell(index)
        if cell.status == "on":
            yield f"{index + 1:>{digits},}  {_case(cell)}"
            continue
        why = "without a device" if cell.status == "missing" else cell.status, cell.reason
        amount, first = left_out.get(why, (0, f"{index + 1:,} {cell.config.name}"))
        left_out[why] = amount + 1, first
    for (word, reason), (amount, first) in left_out.items():
        such_as = "," if amount == 1 else ", such as"
        yield clean(f"{count(amount, 'case')} {word}{such_as} {first}{reason and f': {reason}'}")
    totals = matrix.totals()
    yield totals_text(totals, sweep, SIGNS)
    if basis := basis_text(totals):
        yield basis


def _work(sweep: Sweep) -> str:
    """Describe what a sweep measures. A step of the user's loads what it likes."""
    if own := custom_task(sweep.task):
        model = f" with model {sweep.model}" if sweep.model != sweep.task else ""
        return f"function {own[1]} of {own[0]}{model}"
    return f"{sweep.task} of {sweep.model}, weights {sweep.weights}, dataset {sweep.dataset}"


def planned(
    sweep: Sweep, estimator: HistoryEstimator, missing: Callable[[Config], str] | None = None
) -> PlanJson:
    """Return the plan as a JSON record. ``missing`` is as in ``plan_lines``."""
    matrix = CaseGrid(sweep, estimator, missing)
    totals = matrix.totals()
    return PlanJson(
        name=sweep.name,
        model=sweep.model,
        task=sweep.task,
        weights=sweep.weights,
        dataset=sweep.dataset,
        rounds=None if sweep.measure.rounds_auto else sweep.measure.rounds,
        cases=tuple(_planned_case(matrix.cell(index), index + 1) for index in range(matrix.count)),
        to_measure=totals.on,
        seconds=None if totals.on and totals.unknown == totals.on else min(totals.seconds, sweep.ends_s),
        further_s=further_s(totals, sweep),
        unknown=totals.unknown,
        sessions=totals.sessions,
    )


def _planned_case(cell: GridCase, number: int) -> PlannedCaseJson:
    prediction = cell.prediction
    return PlannedCaseJson(
        number=number,
        name=cell.config.name,
        config=cell.config,
        status=cell.status,
        reason=cell.reason or None,
        seconds=prediction.seconds if prediction else None,
        memory_mb=prediction.memory_mb if prediction else None,
        time_basis=prediction.time_basis if prediction else None,
        memory_basis=prediction.memory_basis if prediction else None,
        ran_out=prediction.ran_out if prediction else False,
    )


def _case(cell: GridCase) -> str:
    figures = f"{time_cell(cell.prediction, SIGNS):>11}{memory_cell(cell.prediction, SIGNS):>12}"
    ran_out = ": ran out of memory in an earlier session" if cell.prediction and cell.prediction.ran_out else ""
    return f"{figures} {cell.config.name}{ran_out}"
