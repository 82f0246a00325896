"""The cases of the sweep that is edited, with a cursor, and their totals, worked out beside the keys."""

import asyncio
from typing import Any

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical

from benchtui.sessions.estimates.history import Precedents, subject
from benchtui.sessions.sweep import Exclusion, Sweep
from benchtui.sessions.sweep.exclusions import naming
from benchtui.themes import Symbols
from benchtui.tui.drawing.styled_text import Line, crop
from benchtui.tui.editor.case_grid import Cell, Matrix, Totals, basis_text, totals_text
from benchtui.tui.editor.estimates import Learning
from benchtui.tui.editor.matrix_lines import MatrixView, matrix_lines, options_of
from benchtui.tui.widgets.panel import Panel

DRAWN_EVERY = 20
"""Slices of the survey between two pictures of the totals."""


class CasesPane(Vertical):
    """Shows a matrix; the keys come from the screen."""

    def __init__(self, learning: Learning, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._symbols = symbols
        self._learning = learning
        self._precedents = Precedents()
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
        if subject(sweep) != self._subject:
            self._subject = subject(sweep)
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
