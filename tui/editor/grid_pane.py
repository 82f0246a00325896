"""Case grid pane: cases of the edited sweep, a cursor, and totals computed in the background."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.history import HistoryEstimator, load_history, workload_key
from benchtui.sessions.sweep import Axes, Config, Exclusion, Sweep
from benchtui.sessions.sweep.options import AXES
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, crop, fitting_facts, justify, wrap_line
from benchtui.tui.editor.case_grid import (
    CaseGrid,
    GridCase,
    Totals,
    basis_text,
    memory_cell,
    time_cell,
    totals_text,
)
from benchtui.tui.editor.draft import exclusion_of
from benchtui.tui.shell.context import AppContext
from benchtui.tui.widgets.panel import AnyPanel, Panel

TITLES = {"sequence_length": "seq", "batch_size": "bs", "attention": "attn"}
"""Column titles that differ from the option's name."""
ALWAYS_SHOWN = ("batch_size",)
"""Options shown even if all cases share the same value."""
TIME, MEMORY = 9, 10
MIN_OPTION_WIDTH = 4
"""Minimum width of an option in cells."""
GAP = "  "
MARK = 3
"""Cells before the options: cursor, status, and a gap."""


class MatrixView(msgspec.Struct, frozen=True):
    """Snapshot of the matrix with its cursor."""

    matrix: CaseGrid
    top: int = 0
    """Index of the first visible case."""
    chosen: int = 0
    option: str = "batch_size"
    """Option under the cursor."""
    focused: bool = False


def options_of(axes: Axes) -> tuple[str, ...]:
    """Return the options to show: those with several values, and the batch size."""
    return tuple(field for field in AXES if field in ALWAYS_SHOWN or len(getattr(axes, field)) > 1)


def matrix_lines(view: MatrixView, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render a header, and a line for each visible case."""
    widths = _widths(view.matrix.axes, width - MARK - TIME - MEMORY)
    last = min(view.top + height - 1, view.matrix.count)
    rows = [_row(view, index, widths, width, symbols) for index in range(view.top, last)]
    for end, hidden in ((0, view.top), (-1, view.matrix.count - last)):
        if hidden and rows:
            rows[end] = justify(rows[end], [(f"{hidden:,} more", "muted")], width, symbols)
    return [_header(view, widths, width, symbols), *rows]


def _widths(axes: Axes, room: int) -> dict[str, int]:
    """Return the width of each option in cells: its widest value, or less if space is short."""
    widths = {
        option: max(len(TITLES.get(option, option)), *(len(str(value)) for value in getattr(axes, option)))
        for option in options_of(axes)
    }
    while (
        sum(widths.values()) + len(GAP) * (len(widths) - 1) > room and max(widths.values()) > MIN_OPTION_WIDTH
    ):
        widths[max(widths, key=lambda option: widths[option])] -= 1
    return widths


def _header(view: MatrixView, widths: dict[str, int], width: int, symbols: Symbols) -> Line:
    cells: list[Span] = []
    for option, size in widths.items():
        title = TITLES.get(option, option)
        number = isinstance(getattr(view.matrix.axes, option)[0], int)
        here = view.focused and option == view.option
        cells.append((_fitted(title, size, number, symbols), "accent" if here else "muted"))
    figures = (f"{'time s':>{TIME - 1}} {'memory':>{MEMORY - 1}} ", "muted")
    return crop([(" " * MARK, "plain"), *_spaced(cells), figures], width, symbols)


def _row(view: MatrixView, index: int, widths: dict[str, int], width: int, symbols: Symbols) -> Line:
    cell, here = view.matrix.cell(index), index == view.chosen
    role = "faint" if cell.status == "missing" else "muted"
    if cell.status == "on":
        role = "bright" if here and view.focused else "plain"
    signs = {
        "on": (symbols.ok, "good"),
        "off": (symbols.skipped, "muted"),
        "skipped": (symbols.absent, "muted"),
        "missing": (symbols.skipped, "faint"),
    }
    cells: list[Span] = []
    for option, size in widths.items():
        value = getattr(cell.config, option)
        at_cursor = here and view.focused and option == view.option
        text = _fitted(str(value), size, isinstance(value, int), symbols)
        cells.append((text, "chosen" if at_cursor else role))
    mark = (symbols.chosen if here else " ", "accent" if view.focused else "faint")
    pieces = [mark, signs[cell.status], (" ", "plain"), *_spaced(cells), *_figures(cell, symbols)]
    return crop(pieces, width, symbols)


def _fitted(text: str, size: int, number: bool, symbols: Symbols) -> str:
    shown = fit(text, size, symbols)
    return shown.strip().rjust(size) if number else shown


def _spaced(cells: Sequence[Span]) -> list[Span]:
    return [piece for cell in cells for piece in ((GAP, "plain"), cell)][1:]


def _figures(cell: GridCase, symbols: Symbols) -> list[Span]:
    if cell.status == "skipped":
        return [(f"  skipped: {cell.reason}", "muted")]
    if cell.status == "missing":
        return [(f"  {cell.reason.partition(': ')[0]}", "muted")]
    if cell.status == "off":
        return [(f"{'off ':>{TIME}}", "muted")]
    memory = memory_cell(cell.prediction, symbols)
    ran_out = cell.prediction is not None and cell.prediction.ran_out
    return [
        (f"{time_cell(cell.prediction, symbols):>{TIME}}", "plain"),
        (f"{'ran out ' if ran_out else memory:>{MEMORY}}", "warning" if ran_out else "plain"),
    ]


class CasesPane(Vertical):
    """Case grid with its totals. The screen handles its key bindings."""

    def __init__(self, sweep: Sweep, app_context: AppContext, symbols: Symbols) -> None:
        super().__init__(id="cases")
        self._symbols = symbols
        self._app_context = app_context
        self._estimator = HistoryEstimator()
        self._missing: Callable[[Config], str] | None = None
        """Returns why a case's device isn't here; None until the machine has been checked."""
        self._workload: tuple[object, ...] | None = None
        """Workload key of the loaded history."""
        self._view = MatrixView(CaseGrid(sweep, self._estimator, None))
        self.totals: Totals | None = None
        """Totals over all cases; None until they are computed."""

    def compose(self) -> ComposeResult:
        """Lay out the totals above the cases."""
        yield Panel(_totals_lines, self._symbols, id="totals")
        yield Panel(matrix_lines, self._symbols, id="matrix")

    def on_mount(self) -> None:
        """Compute the first totals."""
        self._add_up(self._view.matrix)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor visible."""
        self.call_after_refresh(self.move, 0)

    def show(self, sweep: Sweep, focused: bool) -> None:
        """Show a sweep. Totals and predictions from earlier sessions follow asynchronously."""
        if workload_key(sweep) != self._workload:
            self._workload = workload_key(sweep)
            self._load_history(sweep)
        matrix = self._view.matrix
        same_estimates = matrix.estimator is self._estimator and matrix.missing is self._missing
        if not same_estimates or matrix.sweep != sweep:
            matrix, self.totals = CaseGrid(sweep, self._estimator, self._missing), None
            self._add_up(matrix)
        self._view = replace(self._view, matrix=matrix, focused=focused)
        self.move(0)

    def show_missing_devices(self, missing: Callable[[Config], str]) -> None:
        """Mark the cases whose device isn't on this machine."""
        self._missing = missing
        self.show(self._view.matrix.sweep, self._view.focused)

    def reload_history(self) -> None:
        """Reload the history on the next ``show``, since there may be new sessions."""
        self._workload = None

    def move(self, rows: int) -> None:
        """Move the cursor by cases."""
        view = self._view
        height = max(self._panel("matrix").size.height - 1, 1)
        chosen = min(max(view.chosen + rows, 0), view.matrix.count - 1)
        top = min(max(view.top, chosen - height + 1), chosen, max(view.matrix.count - height, 0))
        self._place(top, chosen, view.option)

    @property
    def chosen(self) -> int:
        """Index of the case under the cursor."""
        return self._view.chosen

    def row_at(self, line: int) -> int | None:
        """Return the index of the case at a line below the header; None if there is none."""
        index = self._view.top + line - 1
        return index if self._view.top <= index < self._view.matrix.count else None

    def turn(self, by: int) -> None:
        """Move the cursor to another option of the case, wrapping around."""
        view, options = self._view, options_of(self._view.matrix.axes)
        at = options.index(view.option) if view.option in options else 0
        self._place(view.top, view.chosen, options[(at + by) % len(options)])

    @property
    def cell(self) -> GridCase:
        """Case under the cursor."""
        return self._view.matrix.cell(self._view.chosen)

    def case_exclusion(self) -> Exclusion:
        """Return an exclusion that matches only the case under the cursor."""
        return exclusion_of(self._view.matrix.axes, self.cell.config)

    def value_exclusion(self) -> Exclusion:
        """Return an exclusion that matches all cases with the value under the cursor."""
        return Exclusion(**{self._view.option: getattr(self.cell.config, self._view.option)})

    def _place(self, top: int, chosen: int, option: str) -> None:
        kept = option if option in options_of(self._view.matrix.axes) else "batch_size"
        self._view = replace(self._view, top=top, chosen=chosen, option=kept)
        self._panel("matrix").show(self._view)

    @work(exclusive=True, group="learn")
    async def _load_history(self, sweep: Sweep) -> None:
        self._estimator = await asyncio.to_thread(_history_of, sweep, self._app_context)
        self.show(self._view.matrix.sweep, self._view.focused)

    @work(exclusive=True, group="totals")
    async def _add_up(self, matrix: CaseGrid) -> None:
        """Compute the totals in a thread, then show them."""
        self.totals = totals = await asyncio.to_thread(matrix.totals)
        basis = filter(None, (totals.missing_reason, basis_text(totals)))
        self._panel("totals").show((totals_text(totals, matrix.sweep, self._symbols), *basis))

    def _panel(self, name: str) -> AnyPanel:
        return self.query_one(f"#{name}", Panel)


def _history_of(sweep: Sweep, app_context: AppContext) -> HistoryEstimator:
    try:
        entries = (app_context.known or app_context.recorded)()
    except BenchtuiError:
        return HistoryEstimator()
    return load_history(entries, sweep, app_context.hostname)


def _totals_lines(words: tuple[str, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    texts = [[(words[0], "bright")], *([(word, "muted")] for word in words[1:])]
    if height < len(texts):
        parts = words[0].split(f" {symbols.dot} ")
        return [fitting_facts([[(part, "bright")] for part in parts], width)]
    return [part for text in texts for part in wrap_line(text, width)]
