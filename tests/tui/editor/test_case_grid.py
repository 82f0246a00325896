import pytest

from benchtui.sessions.estimates.history import HistoryEstimator
from benchtui.sessions.sweep import Axes, Config, Exclusion, Measure, Run, Sweep, exclusion_matcher
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.cli.text.plan import plan_lines, planned
from benchtui.tui.editor.case_grid import CaseGrid, Totals, basis_text, further_s, totals_text
from benchtui.tui.editor.grid_pane import MatrixView, matrix_lines

AXES = Axes(device=("cpu", "cuda:0"), precision=("fp32", "tf32"), batch_size=(1, 2, 4))


def sweep(**entries: object) -> Sweep:
    return Sweep(**{"name": "s", "model": "m", "axes": AXES} | entries)  # type: ignore[arg-type]


def totals(of: Sweep) -> Totals:
    return CaseGrid(of, HistoryEstimator()).totals()


def test_grid_case_has_a_status() -> None:
    off = Exclusion(device="cuda:0", batch_size=4)
    matrix = CaseGrid(sweep(exclude=(off,)), HistoryEstimator())
    cells = [matrix.cell(index) for index in range(matrix.count)]
    assert [cell.status for cell in cells] == ["on"] * 3 + ["skipped"] * 3 + ["on", "on", "off"] * 2
    assert cells[3].reason.startswith("tf32 is a mode of NVIDIA tensor cores")
    assert all(exclusion_matcher((off,))(cell.config) == (cell.status == "off") for cell in cells)


def test_further_rounds_take_at_most_their_budget() -> None:
    once, auto = sweep(), sweep(measure=Measure(rounds_auto=True))
    assert " more" not in totals_text(totals(once), once, UNICODE)
    first_s = totals(once).seconds
    assert further_s(totals(auto), auto) == max(120.0, first_s)
    limited = sweep(measure=auto.measure, run=Run(budget_s=90.0))
    assert totals_text(totals(limited), limited, UNICODE).endswith(", then up to 1 m 30 s more")
    own = sweep(task="mine.py:step", measure=auto.measure)
    assert further_s(totals(own), own) is None, "how long the first rounds take is unknown"


def test_totals_text_includes_the_basis_of_the_predictions() -> None:
    text = totals_text(totals(sweep(exclude=(Exclusion(batch_size=4),))), sweep(), UNICODE)
    assert text.startswith("6 of 12 cases · 4 off · 2 skipped · ≈ ")
    assert basis_text(totals(sweep())) == "? = rough estimate (nothing similar measured here)"
    own = sweep(task="mine.py:step")
    assert totals_text(totals(own), own, ASCII).endswith("- time unknown")
    assert basis_text(totals(own)) == ""


def test_only_visible_cases_of_a_large_grid_are_rendered() -> None:
    big = sweep(axes=Axes(batch_size=tuple(range(1, 317)), sequence_length=tuple(range(1, 317))))
    matrix = CaseGrid(big, HistoryEstimator())
    lines = matrix_lines(MatrixView(matrix, top=99_000, chosen=99_001, focused=True), 60, 12, UNICODE)
    assert len(lines) == 12
    assert "".join(text for text, _ in lines[2]).startswith("▸✓ 314   94")


def test_hidden_cases_are_counted() -> None:
    matrix = CaseGrid(sweep(), HistoryEstimator())
    lines = matrix_lines(MatrixView(matrix, 2, 3, "batch_size"), 80, 6, UNICODE)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert [text.endswith(" more") for text in texts] == [False, True, False, False, False, True]
    assert texts[1].endswith(" 2 more") and texts[-1].endswith(" 5 more")
    whole = matrix_lines(MatrixView(matrix, 0, 0, "batch_size"), 80, 13, UNICODE)
    assert not any(" more" in text for line in whole for text, _ in line)


def test_plan_is_printed_in_lines() -> None:
    lines = list(plan_lines(sweep(exclude=(Exclusion(batch_size=4),)), HistoryEstimator()))
    assert lines[1].endswith(
        "will be downloaded; a gated model needs `hf auth login` first; until its files are here, its task is"
        " taken to be classify"
    )
    assert len(lines) == 2 + 1 + 6 + 2 + 2
    assert lines[-4] == "4 cases off, such as 3 cpu fp32 compile=off bs=4 seq=128"
    assert lines[-3].startswith("2 cases skipped, such as 4 cpu") and "tensor cores" in lines[-3]
    assert lines[-2].startswith("6 of 12 cases · 4 off · 2 skipped · ≈ ")


def test_plan_of_an_own_step_names_its_function() -> None:
    own = sweep(task="mine.py:step", model="mine.py:step")
    assert next(plan_lines(own, HistoryEstimator())) == "s: function step of mine.py"
    named = sweep(task="mine.py:step")
    assert next(plan_lines(named, HistoryEstimator())) == "s: function step of mine.py with model m"


def test_plan_names_the_cases_whose_device_is_missing() -> None:
    def missing(config: Config) -> str:
        return "no CUDA here: no driver" if config.device == "cuda:0" else ""

    lines = list(plan_lines(sweep(), HistoryEstimator(), missing))
    assert lines[-3].startswith("6 cases without a device, such as 7 cuda:0 ")
    assert lines[-3].endswith(": no CUDA here: no driver")
    assert "6 without a device" in lines[-2]
    known = planned(sweep(), HistoryEstimator(), missing)
    assert [case.status for case in known.cases] == ["on"] * 3 + ["skipped"] * 3 + ["missing"] * 6
    assert known.cases[-1].reason == "no CUDA here: no driver" and known.cases[-1].seconds is None
    assert known.to_measure == 3


@pytest.mark.parametrize(("measure", "rounds"), [(Measure(rounds=3), 3), (Measure(rounds_auto=True), None)])
def test_plan_has_no_number_of_rounds_that_are_planned_later(measure: Measure, rounds: int | None) -> None:
    assert planned(sweep(measure=measure), HistoryEstimator()).rounds == rounds
