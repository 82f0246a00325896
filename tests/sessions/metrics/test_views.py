"""Views: a quantity appears in the views of its subject, and everywhere that the catalogue is read."""

import subprocess
import sys
from typing import Any

import pytest

from benchtui.sessions.metrics import views
from benchtui.sessions.metrics.catalogue import BY_KEY, CATALOGUE
from benchtui.sessions.metrics.quantity import CaseData, Quantity, Reading
from benchtui.sessions.metrics.views import REST, View, shown
from benchtui.sessions.stats.results import measured
from benchtui.sessions.text.quantities import FORMATS, cell, with_unit

VIEWS = {name: found for name, found in vars(views).items() if isinstance(found, View)} | views.TASKS


@pytest.mark.parametrize("name", VIEWS)
def test_a_quantity_of_a_views_subject_is_shown_or_left_out_by_name(name: str) -> None:
    table = VIEWS[name]
    keys = {row.key for row in table.rows() if isinstance(row, Quantity)}
    taken = {row.key for row in CATALOGUE if table.takes(row)}
    assert taken <= keys | set(table.without)
    assert set(table.without) <= taken - keys, "leaves out what it doesn't show anyway"
    assert (REST in table.layout) == bool(table.subjects or table.task)


@pytest.mark.parametrize("name", [name for name, table in VIEWS.items() if table.subjects])
def test_a_new_quantity_joins_the_views_of_its_subject(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = VIEWS[name].subjects[0]
    new = Quantity(
        "new", "New", "", "A new quantity.", Reading("steps.wall_ms", lambda _: 1.0), subject=subject
    )
    monkeypatch.setattr(views, "CATALOGUE", (*CATALOGUE, new))
    assert new in VIEWS[name].rows()


@pytest.mark.parametrize("task", [task for task, table in views.TASKS.items() if table.task == task])
def test_a_new_quantity_of_a_task_joins_the_table_of_the_task(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Quantity("new", "New", "", "A new quantity.", Reading("steps.wall_ms", lambda _: 1.0), tasks=(task,))
    monkeypatch.setattr(views, "CATALOGUE", (*CATALOGUE, new))
    assert new in views.TASKS[task].rows()


def test_every_format_of_the_catalogue_has_a_function() -> None:
    assert {row.format for row in CATALOGUE} <= set(FORMATS)


def test_values_are_formatted_as_their_quantity_says(bench: Any) -> None:
    (result, *_) = measured(bench.session(bench.case(1, 10.0)))
    data = CaseData.of(result)
    assert cell(BY_KEY["n"], data) == "30"
    assert cell(BY_KEY["kv_cache_mb"], data) is None
    assert cell(shown("outliers", format="nonzero"), data) is None
    assert with_unit("samples_per_s", result) == "100 samples/s"


ONE_ROW = """
import json
import msgspec
from benchtui.sessions.metrics import machine_rows
from benchtui.sessions.metrics.quantity import Quantity, Reading

reading = Reading("case_finished.environment", lambda data: 7.25)
machine_rows.MACHINE += (
    Quantity("stalls_per_step", "Stalls", "", "Stalls per step.", reading, charted="stalls"),
)

from benchtui.sessions.analysis.chart_series import PLOT_METRICS
from benchtui.sessions.export import case_export, dataframe
from benchtui.sessions.library.paths import demo_path
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.case.summary import case_markdown
from benchtui.tui.cli.schema.records import MeasuredCaseJson

session = Session.load(demo_path("demo-cpu"))
header, first, *_ = case_export.as_csv(session).splitlines()
schema = msgspec.json.schema(case_export.Results)["$defs"]["Case"]["properties"]
tables = [line for line in markdown(session, full=True).splitlines() if "Stalls" in line]
appearances = {
    "csv": "stalls_per_step" in header and ",7.25," in first,
    "json": json.loads(case_export.as_json(session))["cases"][0]["stalls_per_step"] == 7.25,
    "schema and docs": schema["stalls_per_step"]["description"] == "Stalls per step.",
    "pandas": list(dataframe.frame(session)["stalls_per_step"])[0] == 7.25,
    "lines of run --json": "stalls_per_step" in MeasuredCaseJson.__struct_fields__,
    "report": len(tables) == 1,
    "case page": "stalls" in case_markdown(session.cases[0], None, None, UNICODE).casefold(),
    "charts": "stalls" in [metric.name for metric in PLOT_METRICS],
}
print(*(place for place, appears in appearances.items() if not appears))
"""
"""Program that adds one row to the catalogue, and names the places where it doesn't appear."""


def test_one_row_of_the_catalogue_appears_in_exports_report_charts_and_case_page() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONE_ROW], capture_output=True, text=True, check=False, timeout=120
    )
    assert not done.returncode, done.stderr
    assert done.stdout == "\n", f"doesn't appear in: {done.stdout}"
