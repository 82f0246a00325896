"""Sweep plan as plain text: cases with predicted time and memory, and totals."""

from collections.abc import Iterator

from benchtui.sessions.estimates.history import HistoryEstimator
from benchtui.sessions.sweep import Sweep
from benchtui.themes import symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.case_grid import CaseGrid, GridCase, basis_text, memory_cell, time_cell, totals_text

SIGNS = symbols.UNICODE


def plan_lines(sweep: Sweep, estimator: HistoryEstimator) -> Iterator[str]:
    """Yield a line per case, then the totals."""
    matrix = CaseGrid(sweep, estimator)
    digits = len(f"{matrix.count:,}")
    yield clean(
        f"{sweep.name}: {sweep.task} of {sweep.model}, weights {sweep.weights}, dataset {sweep.dataset}"
    )
    yield f"{'':{digits}}  {'time s':>10} {'memory MB':>11}  case"
    for index in range(matrix.count):
        yield f"{index + 1:>{digits},}  {_case(matrix.cell(index))}"
    *_, totals = matrix.survey()
    yield totals_text(totals, sweep, SIGNS)
    if basis := basis_text(totals):
        yield basis


def _case(cell: GridCase) -> str:
    if cell.status == "off":
        return f"{'off':>10} {'':>11}  {cell.config.name}"
    if cell.status == "skipped":
        return f"{'skipped':>10} {'':>11}  {cell.config.name}: {cell.reason}"
    figures = f"{time_cell(cell.prediction, SIGNS):>11}{memory_cell(cell.prediction, SIGNS):>12}"
    ran_out = ": ran out of memory in an earlier session" if cell.prediction and cell.prediction.ran_out else ""
    return f"{figures} {cell.config.name}{ran_out}"
