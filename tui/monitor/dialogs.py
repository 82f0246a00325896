"""Pages and dialogs opened from the Monitor: case page, columns, clipboard."""

from __future__ import annotations  # the Monitor imports this module

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from benchtui.sessions.state.case import CaseState
from benchtui.themes.symbols import Symbols
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, crop, line
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.report.generated import report_content, report_markdown
from benchtui.tui.shell import keymap
from benchtui.tui.table.case_names import case_name
from benchtui.tui.table.columns import ABOUT, DEFAULT_COLUMNS, KEYS, TITLES
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.panel import Panel, PanelScreen

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor

TITLE_CELLS = max(map(len, TITLES.values())) + 2


class ColumnsPage(PanelScreen[tuple[str, ...]]):
    """List of columns; dismissed with the keys of the enabled ones."""

    DEFAULT_CSS = """
    ColumnsPage #page { height: 1fr; margin: 1 2; }
    """
    BINDINGS = keymap.table(
        "columns",
        ("space", "switch", "Show or hide the column"),
        ("down,j", "down", "Next column", "", "move(1)"),
        ("up,k", "up", "Previous column", "", "move(-1)"),
        ("J", "right", "Move right", "", "shift(1)"),
        ("K", "left", "Move left", "", "shift(-1)"),
        ("delete,backspace", "usual", "Restore the defaults"),
        ("enter,C", "done", "Done", "", "leave"),
        ("escape,q", "back", "Back", "keeps the selection", "leave"),
    )

    def __init__(self, keys: tuple[str, ...], symbols: Symbols) -> None:
        super().__init__()
        self._symbols = symbols
        self._on = list(keys)
        self._all = [*keys, *(key for key in KEYS if key not in keys)]
        self._at = 0

    def compose(self) -> ComposeResult:
        """Lay out the list and the key bar."""
        yield Panel(_page_lines, self._symbols, id="page")
        yield KeyBar(self._symbols)

    def on_mount(self) -> None:
        """Show the list and its keys."""
        keys = (("space", "show or hide"), ("K J", "move it"), ("del", "defaults"), ("enter", "done"))
        self._panel("keys").show(((self._symbols.arrows, "choose"), *keys))
        self._show()

    def action_move(self, rows: int) -> None:
        """Move the selection by rows."""
        self._at = min(max(self._at + rows, 0), len(self._all) - 1)
        self._show()

    def action_switch(self) -> None:
        """Toggle the selected column; the last visible one stays."""
        key = self._all[self._at]
        if key not in self._on:
            self._on.append(key)
        elif len(self._on) > 1:
            self._on.remove(key)
        self._show()

    def action_shift(self, places: int) -> None:
        """Move the selected column by places."""
        to = min(max(self._at + places, 0), len(self._all) - 1)
        self._all.insert(to, self._all.pop(self._at))
        self._at = to
        self._show()

    def action_usual(self) -> None:
        """Restore the default columns and their order."""
        self._on, self._all, self._at = list(DEFAULT_COLUMNS), list(KEYS), 0
        self._show()

    def action_leave(self) -> None:
        """Close the dialog with the enabled columns."""
        self.dismiss(tuple(key for key in self._all if key in self._on))

    def _show(self) -> None:
        rows = [self._row(place, key) for place, key in enumerate(self._all)]
        title = line(("Columns", "strong"), ("   the first ones that fit are shown", "muted"))
        self._panel("page").show((title, BLANK, *rows))

    def _row(self, place: int, key: str) -> Line:
        on, chosen = key in self._on, place == self._at
        title = TITLES[key].replace("+-", self._symbols.plus_minus)
        return line(
            (f"{self._symbols.chosen if chosen else ' '} ", "accent"),
            (f"{self._symbols.ok if on else ' '} ", "good"),
            (f"{title:<{TITLE_CELLS}}", "strong" if chosen else "plain" if on else "muted"),
            (ABOUT[key], "muted"),
        )


def _page_lines(lines: Sequence[Line], width: int, height: int, symbols: Symbols) -> list[Line]:
    return [crop(drawn, width, symbols) for drawn in lines]


def show_detail(monitor: Monitor) -> None:
    """Open the page of the shown case."""
    case = monitor.shown_case
    if case is None:
        monitor.show_message("no case to show yet")
        return
    page = CaseScreen(
        monitor.feed,
        case.index,
        monitor.symbols,
        lambda: monitor.view.case_rows.verdicts if monitor.view else None,
    )
    monitor.app.push_screen(page)


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

    def copy() -> None:
        report = report_markdown(monitor.feed.path, monitor.feed.judging)
        monitor.app.call_from_thread(monitor.app.copy_to_clipboard, report)

    monitor.show_message("generating the report")
    monitor.run_in_thread(copy, "report copied")


def row_markdown(case: CaseState, case_rows: CaseRows, keys: tuple[str, ...]) -> str:
    """Return a case as a one-row markdown table, with the visible columns."""
    cells = case_rows.row(case.index).cells
    keys = tuple(key for key in keys if key != "trace")
    values = [case.state if key == "state" else cells.get(key, ("", ""))[0] for key in keys]
    head = ["case", *(TITLES[key].replace("+-", "±") for key in keys)]
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
