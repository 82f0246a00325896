"""Pages and dialogs opened from the Monitor: case page, columns, clipboard."""

from __future__ import annotations  # the Monitor imports this module

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.monitor.clipboard import row_markdown
from benchtui.tui.monitor.columns_dialog import ColumnsPage
from benchtui.tui.report.generated import report_content, report_markdown

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor


def show_detail(monitor: Monitor) -> None:
    """Open the page of the shown case."""
    case = monitor.shown_case
    if case is None:
        monitor.show_message("no case to show yet")
        return

    def judge() -> CaseVerdicts | None:
        return monitor.view.case_rows.verdicts if monitor.view else None

    monitor.app.push_screen(CaseScreen(monitor.feed, case.index, monitor.symbols, judge))


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
    table_order = monitor.table_order
    if table_order is None:
        return

    def apply(keys: tuple[str, ...] | None) -> None:
        if keys and keys != table_order.columns:
            table_order.columns = keys
            monitor.preferences.choose_columns(keys)
        monitor.draw()

    monitor.app.push_screen(ColumnsPage(table_order.columns, monitor.symbols), apply)


def copy_row(monitor: Monitor) -> None:
    """Copy the row of the shown case to the clipboard."""
    case, view = monitor.shown_case, monitor.view
    if case is None or view is None or monitor.table_order is None:
        monitor.show_message("no case to copy yet")
        return
    monitor.app.copy_to_clipboard(row_markdown(case, view.case_rows, monitor.table_order.columns))
    monitor.show_message(f"case {case.index + 1} copied as Markdown")


def copy_report(monitor: Monitor) -> None:
    """Generate the session's report in the background and copy it to the clipboard."""
    monitor.show_message("generating the report")
    monitor.run_in_thread(lambda: _copy_report(monitor), "report copied")


def _copy_report(monitor: Monitor) -> None:
    report = report_markdown(monitor.feed.path, monitor.feed.judging)
    monitor.app.call_from_thread(monitor.app.copy_to_clipboard, report)


OPEN: dict[str, Callable[[Monitor], None]] = {
    "detail": show_detail,
    "why": show_why,
    "view": show_report,
    "columns": choose_columns,
    "row": copy_row,
    "report": copy_report,
}
"""Functions by the name used in key bindings."""
