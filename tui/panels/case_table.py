"""Case table: renders only visible rows, so 5,000 cases cost no more than ten."""

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.table.case_names import CaseNames
from benchtui.tui.table.columns import columns_of
from benchtui.tui.table.layout import Arrangement, Rows, TableRow
from benchtui.tui.widgets.long_list import Lines, LongList

NOTHING = Rows(0, lambda index: TableRow(("", "plain"), {}), CaseNames(()), None, None)


class CaseTable(LongList):
    """Scrollable list of cases, in the columns that fit."""

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._symbols = symbols
        self._rows = NOTHING
        self._was_over = False
        self._arranged: tuple[object, Arrangement] | None = None
        """Columns that fit, with the inputs they were chosen for."""

    def show_rows(self, rows: Rows) -> None:
        """Show cases and redraw what changed. The selected or running row stays in view."""
        self._was_over, self._rows = self._rows.over, rows
        for _ in range(2):  # a row may widen the scale of the bars above it; a second look finds those
            self.show(Lines(rows.count, self._draw_row, -1 if rows.chosen is None else rows.chosen))

    def row_at(self, y: int) -> int | None:
        """Return the index of the row at a line of the view; None below the last one."""
        index = y + self.scroll_offset.y
        return index if index < self._rows.count else None

    def arrangement(self) -> Arrangement:
        """Return the columns that fit, leaving room for the scroll bar."""
        rows = self._rows
        inputs = (self._room.width - 1, rows.names, rows.columns, rows.unit, rows.hidden, rows.sorting)
        if self._arranged is None or self._arranged[0] != inputs:
            columns = [
                column for column in columns_of(rows.columns, rows.unit) if column.key not in rows.hidden
            ]
            arrangement = Arrangement.of_cases(self._room.width - 1, rows.names, columns, rows.sorting)
            self._arranged = (inputs, arrangement)
        return self._arranged[1]

    def _draw_row(self, index: int, width: int) -> Line:
        mark = self._symbols.chosen if index == self._rows.chosen else " "
        return self.arrangement().line(self._rows.row(index), width, self._symbols, mark)

    def _keep_in_view(self, height: int) -> None:
        rows, top = self._rows, self.scroll_offset.y
        index = rows.running if rows.chosen is None else rows.chosen
        if rows.chosen is not None:
            wanted = min(max(top, rows.chosen - height + 1), rows.chosen)
        elif index is not None:
            wanted = top if top <= index < top + height - 1 else max(0, index - height // 2)
        else:
            wanted = top if self._was_over or not rows.over else 0
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, immediate=True)
