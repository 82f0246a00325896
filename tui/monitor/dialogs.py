"""Pages and dialogs opened from the Monitor: case page, columns, clipboard."""

from __future__ import annotations  # the Monitor imports this module

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from benchtui.sessions.state.case import CaseState
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.monitor.columns_dialog import ColumnsPage
from benchtui.tui.report.generated import report_content, report_markdown
from benchtui.tui.table.case_names import case_name
from benchtui.tui.table.columns import COLUMNS

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor


def show_detail(monitor: Monitor) -> None:
    """Open the page of the shown case."""
    case = monitor.shown_case
    if case is None:
        monitor.show_message("no case to show yet")
        return

    def ratio_of(case: CaseState) -> Span:
        view = monitor.view
        return view.case_rows.row(case.index).cells["base"] if view and case.has_result else ("", "plain")

    monitor.app.push_screen(CaseScreen(monitor.feed, case.index, monitor.symbols, ratio_of))


def show_why(monitor: Monitor) -> None:
    """Open the Why page of the shown case."""
    from benchtui.tui.explain.screen import Side, WhyScreen  # imports statistics that no other page needs

    case, feed = monitor.shown_case, monitor.feed
    if case is None:
        monitor.show_message("no case to explain yet")
    else:
        side = Side(lambda: feed.session, feed.explainer, case.index)
        monitor.app.push_screen(WhyScreen(side, monitor.symbols))


def show_report(monitor: Monitor) -> None:
    """Open the report of the session, as it was recorded so far."""
    from benchtui.tui.report.screen import ReportScreen  # no other page needs it

    path, judging = monitor.feed.path, monitor.feed.judging
    make = partial(report_content, path, judging)
    screen = ReportScreen(make, lambda: monitor.action_ask("export"), monitor.symbols)
    monitor.app.push_screen(screen)


def choose_columns(monitor: Monitor) -> None:
    """Open the column dialog; apply and save the result."""
    if monitor.view is None:
        return
    table_order = monitor.view.order

    def apply(keys: tuple[str, ...] | None) -> None:
        if keys and keys != table_order.columns:
            table_order.columns = keys
            monitor.preferences.choose_columns(keys)
        monitor.draw()

    monitor.app.push_screen(ColumnsPage(table_order.columns, monitor.symbols), apply)


def copy_row(monitor: Monitor) -> None:
    """Copy the row of the shown case to the clipboard."""
    case, view = monitor.shown_case, monitor.view
    if case is None or view is None:
        monitor.show_message("no case to copy yet")
        return
    monitor.app.copy_to_clipboard(row_markdown(case, view.case_rows, view.order.columns))
    monitor.show_message(f"case {case.index + 1} copied as Markdown")


def copy_report(monitor: Monitor) -> None:
    """Generate the session's report in the background and copy it to the clipboard."""
    monitor.show_message("generating the report")
    monitor.run_in_thread(lambda: _copy_report(monitor), "report copied")


def _copy_report(monitor: Monitor) -> None:
    report = report_markdown(monitor.feed.path, monitor.feed.judging)
    monitor.app.call_from_thread(monitor.app.copy_to_clipboard, report)


def row_markdown(case: CaseState, case_rows: CaseRows, keys: tuple[str, ...]) -> str:
    """Return a case as a one-row markdown table, with the visible columns."""
    titles = {column.key: column.title.replace("+-", "±") for column in COLUMNS}
    cells = case_rows.row(case.index).cells
    keys = tuple(key for key in keys if key != "trace")
    values = [case.state if key == "state" else cells.get(key, ("", ""))[0] for key in keys]
    head = ["case", *(titles[key] for key in keys)]
    rows = (head, ["---"] * len(head), [case_name(case), *values])
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows)


def _cell(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


OPEN: dict[str, Callable[[Monitor], None]] = {
    "detail": show_detail,
    "why": show_why,
    "view": show_report,
    "columns": choose_columns,
    "row": copy_row,
    "report": copy_report,
}
"""Functions by the name used in key bindings."""
