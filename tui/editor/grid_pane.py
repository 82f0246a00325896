"""The cases of the sweep that is edited, with a cursor, and their totals, worked out beside the keys."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical

from benchtui.sessions.estimates.history import HistoryEstimator, workload_key
from benchtui.sessions.sweep import Axes, Exclusion, Sweep
from benchtui.sessions.sweep.exclusions import naming
from benchtui.sessions.sweep.options import AXES
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, crop
from benchtui.tui.editor.case_grid import Cell, Matrix, Totals, basis_text, memory_cell, time_cell, totals_text
from benchtui.tui.editor.estimates import HistoryCache
from benchtui.tui.widgets.panel import Panel

TITLES = {"sequence_length": "seq", "batch_size": "batch"}
"""Titles that aren't the option's name."""
ALWAYS = ("device", "batch_size")
"""Options that are told even where all cases share them."""
TIME, MEMORY = 9, 10
LEAST = 4
"""Cells below which no option is cut."""
GAP = "  "
MARK = 3
"""Cells before the options: cursor, state, a gap."""


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The matrix, and the cursor in it."""

    matrix: Matrix
    top: int = 0
    """The first case in view."""
    chosen: int = 0
    option: str = "batch_size"
    """The option on whose value the cursor stands."""
    focused: bool = False


def options_of(axes: Axes) -> tuple[str, ...]:
    """The options that are told of each case: those of which there are several values."""
    return tuple(field for field in AXES if field in ALWAYS or len(getattr(axes, field)) > 1)


def matrix_lines(view: MatrixView, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """A header, and a line for each case in view."""
    widths = _widths(view.matrix.axes, width - MARK - TIME - MEMORY)
    last = min(view.top + height - 1, view.matrix.count)
    rows = [_row(view, index, widths, width, symbols) for index in range(view.top, last)]
    return [_header(view, widths, width, symbols), *rows]


def _widths(axes: Axes, room: int) -> dict[str, int]:
    """Cells of each option: those of its widest value, or less where there isn't room for all."""
    widths = {
        option: max(len(TITLES.get(option, option)), *(len(str(value)) for value in getattr(axes, option)))
        for option in options_of(axes)
    }
    while sum(widths.values()) + len(GAP) * (len(widths) - 1) > room and max(widths.values()) > LEAST:
        widths[max(widths, key=lambda option: widths[option])] -= 1
    return widths


def _header(view: MatrixView, widths: dict[str, int], width: int, symbols: Symbols) -> Line:
    cells: list[Span] = []
    for option, size in widths.items():
        title = TITLES.get(option, option)
        number = isinstance(getattr(view.matrix.axes, option)[0], int)
        here = view.focused and option == view.option
        cells.append((_fitted(title, size, number, symbols), "accent" if here else "muted"))
    figures = (f"{'time s':>{TIME - 1}} {'memory MB':>{MEMORY - 1}} ", "muted")
    return crop([(" " * MARK, "plain"), *_apart(cells), figures], width, symbols)


def _row(view: MatrixView, index: int, widths: dict[str, int], width: int, symbols: Symbols) -> Line:
    cell, here = view.matrix.cell(index), index == view.chosen
    role = ("bright" if here and view.focused else "plain") if cell.status == "on" else "muted"
    signs = {
        "on": (symbols.ok, "good"),
        "off": (symbols.skipped, "muted"),
        "skipped": (symbols.absent, "muted"),
    }
    cells: list[Span] = []
    for option, size in widths.items():
        value = getattr(cell.config, option)
        at_cursor = here and view.focused and option == view.option
        text = _fitted(str(value), size, isinstance(value, int), symbols)
        cells.append((text, "chosen" if at_cursor else role))
    mark = (symbols.chosen if here else " ", "accent" if view.focused else "faint")
    pieces = [mark, signs[cell.status], (" ", "plain"), *_apart(cells), *_figures(cell, symbols)]
    return crop(pieces, width, symbols)


def _fitted(text: str, size: int, number: bool, symbols: Symbols) -> str:
    shown = fit(text, size, symbols)
    return shown.strip().rjust(size) if number else shown


def _apart(cells: Sequence[Span]) -> list[Span]:
    """The cells of the options, a gap between two."""
    return [piece for cell in cells for piece in ((GAP, "plain"), cell)][1:]


def _figures(cell: Cell, symbols: Symbols) -> list[Span]:
    if cell.status == "skipped":
        return [(f"  skipped: {cell.reason}", "muted")]
    if cell.status == "off":
        return [(f"{'off ':>{TIME}}", "muted")]
    memory = memory_cell(cell.prediction, symbols)
    ran_out = cell.prediction is not None and cell.prediction.ran_out
    return [
        (f"{time_cell(cell.prediction, symbols):>{TIME}}", "plain"),
        (f"{'ran out ' if ran_out else memory:>{MEMORY}}", "warning" if ran_out else "plain"),
    ]


DRAWN_EVERY = 20
"""Slices of the survey between two pictures of the totals."""


class CasesPane(Vertical):
    """Shows a matrix; the keys come from the screen."""

    def __init__(self, learning: HistoryCache, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._symbols = symbols
        self._learning = learning
        self._precedents = HistoryEstimator()
        self._subject: tuple[object, ...] | None = None
        """What was learned about."""
        self._view: MatrixView | None = None
        self.totals: Totals | None = None
        """What the cases come to, as far as they have been looked at."""

    def compose(self) -> ComposeResult:
        """Totals, and the cases below them."""
        yield Panel[tuple[str, ...]](_totals_lines, self._symbols, id="totals")
        yield Panel[MatrixView](matrix_lines, self._symbols, id="matrix")

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor in view."""
        self.call_after_refresh(self.move, 0)

    def show(self, sweep: Sweep, focused: bool) -> None:
        """Take over a sweep; its totals come in a moment, and what earlier sessions say a little later."""
        if workload_key(sweep) != self._subject:
            self._subject = workload_key(sweep)
            self._learn(sweep)
        before = self._view
        if before is None or before.matrix.sweep != sweep or before.matrix.precedents is not self._precedents:
            matrix, self.totals = Matrix(sweep, self._precedents), None
            self._survey(matrix)
        else:
            matrix = before.matrix
        place = (before.top, before.chosen, before.option) if before else (0, 0, "batch_size")
        self._view = MatrixView(matrix, *place, focused)
        self.move(0)

    def look(self) -> None:
        """Read earlier sessions again: there may be others by now."""
        self._subject = None

    def move(self, rows: int) -> None:
        """Go to another case."""
        view = self._view
        if view is None:
            return
        height = max(self._panel("matrix").size.height - 1, 1)
        chosen = min(max(view.chosen + rows, 0), view.matrix.count - 1)
        top = min(max(view.top, chosen - height + 1), chosen, max(view.matrix.count - height, 0))
        self._place(view, top, chosen, view.option)

    def turn(self, by: int) -> None:
        """Go to another option of the case."""
        view = self._view
        if view is not None:
            options = options_of(view.matrix.axes)
            at = options.index(view.option) if view.option in options else 0
            self._place(view, view.top, view.chosen, options[(at + by) % len(options)])

    @property
    def cell(self) -> Cell | None:
        """The case on which the cursor stands."""
        return self._view.matrix.cell(self._view.chosen) if self._view else None

    def here(self) -> Exclusion | None:
        """What marks the case on which the cursor stands, alone."""
        view = self._view
        return naming(view.matrix.axes, view.matrix.config(view.chosen)) if view else None

    def alike(self) -> Exclusion | None:
        """What marks all cases that share the value on which the cursor stands."""
        view = self._view
        if view is None:
            return None
        return Exclusion(**{view.option: getattr(view.matrix.config(view.chosen), view.option)})

    def _place(self, view: MatrixView, top: int, chosen: int, option: str) -> None:
        kept = option if option in options_of(view.matrix.axes) else "batch_size"
        self._view = MatrixView(view.matrix, top, chosen, kept, view.focused)
        self._panel("matrix").show(self._view)

    @work(exclusive=True, group="learn")
    async def _learn(self, sweep: Sweep) -> None:
        """Read what earlier sessions say."""
        self._precedents = await asyncio.to_thread(self._learning.precedents, sweep)
        if self._view is not None:
            self.show(self._view.matrix.sweep, self._view.focused)

    @work(exclusive=True, group="survey")
    async def _survey(self, matrix: Matrix) -> None:
        """Add up the cases, with room for keys between two slices."""
        for number, totals in enumerate(matrix.survey()):
            self.totals = totals
            if totals.complete or number % DRAWN_EVERY == DRAWN_EVERY - 1:
                words = (totals_text(totals, matrix.sweep, self._symbols), basis_text(totals))
                self._panel("totals").show(words if totals.complete else words[:1])
            await asyncio.sleep(0)

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)


def _totals_lines(words: tuple[str, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    roles = ("bright", "muted")
    return [crop([(word, role)], width, symbols) for word, role in zip(words, roles, strict=False)]
