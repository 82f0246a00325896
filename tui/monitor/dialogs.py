"""Pages and dialogs opened from the Monitor: case page, help, columns, clipboard."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.monitor.clipboard import report_markdown, row_markdown
from benchtui.tui.monitor.columns_dialog import ColumnsPage
from benchtui.tui.monitor.help import monitor_help
from benchtui.tui.pages.help import open_help

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor


def show_detail(monitor: "Monitor") -> None:
    """Open the page of the shown case."""
    case = monitor.shown_case
    if case is None:
        monitor.say("no case to show yet")
    else:
        monitor.app.push_screen(CaseScreen(monitor.feed, case.index, monitor.symbols))


def show_help(monitor: "Monitor") -> None:
    """Open the help page with the current key bindings."""
    open_help(monitor, monitor.symbols, monitor_help)


def choose_columns(monitor: "Monitor") -> None:
    """Open the column dialog; apply and save the result."""
    table_order = monitor.table_order
    if table_order is None:
        return

    def take(keys: tuple[str, ...] | None) -> None:
        if keys and keys != table_order.columns:
            table_order.columns = keys
            monitor.preferences.choose_columns(keys)
        monitor.draw()

    monitor.app.push_screen(ColumnsPage(table_order.columns, monitor.symbols), take)


def copy_row(monitor: "Monitor") -> None:
    """Copy the row of the shown case to the clipboard."""
    case, view = monitor.shown_case, monitor.view
    if case is None or view is None or monitor.table_order is None:
        monitor.say("no case to copy yet")
        return
    monitor.app.copy_to_clipboard(row_markdown(case, view.book, monitor.table_order.columns))
    monitor.say(f"case {case.index + 1} is in the clipboard, as markdown")


def copy_report(monitor: "Monitor") -> None:
    """Generate the session's report in the background and copy it to the clipboard."""
    monitor.say("making the report")
    monitor.run_worker(monitor.wait_for(lambda: _copy_report(monitor), "the report is in the clipboard"))


def _copy_report(monitor: "Monitor") -> None:
    report = report_markdown(monitor.feed.path, monitor.feed.judging)
    monitor.app.call_from_thread(monitor.app.copy_to_clipboard, report)


OPEN: dict[str, Callable[["Monitor"], None]] = {
    "detail": show_detail,
    "help": show_help,
    "columns": choose_columns,
    "row": copy_row,
    "report": copy_report,
}
"""Functions by the name used in key bindings."""
