"""Case table: renders only visible rows, so 5,000 cases cost no more than ten."""

from typing import ClassVar

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, changes
from benchtui.tui.table.case_names import CaseNames
from benchtui.tui.table.columns import columns_of
from benchtui.tui.table.layout import Arrangement, Rows, TableRow
from benchtui.tui.widgets import role_styles


class PlainBar(ScrollBarRender):
    """Scroll bar that ends on whole cells, for terminals limited to ASCII."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


NOTHING = Rows(0, lambda index: TableRow(("", "plain"), {}), CaseNames(()), None, None)


class CaseTable(ScrollView):
    """Scrollable list of cases; only changed rows are redrawn."""

    can_focus = False

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._symbols = symbols
        self._rows = NOTHING
        self._drawn: dict[int, tuple[TableRow, bool, Line]] = {}
        """For each visible line: the row, whether it was selected, and the rendered line."""
        self._styles = role_styles.RoleStyles(self)
        self._arranged: tuple[object, Arrangement] | None = None
        """Columns that fit, with the inputs they were chosen for."""

    def on_mount(self) -> None:
        """Use an ASCII scroll bar if the symbols are ASCII."""
        if self._symbols.up.isascii():
            vars(self.vertical_scrollbar)["renderer"] = PlainBar

    def show(self, rows: Rows) -> None:
        """Apply a snapshot and redraw what changed. The selected or running row stays in view."""
        before, self._rows = self._rows, rows
        if any(
            getattr(rows, attribute) != getattr(before, attribute)
            for attribute in ("columns", "hidden", "names")
        ):
            self._drawn.clear()
            self.refresh()
        if self.virtual_size.height != rows.count:
            self.virtual_size = Size(0, rows.count)
        width, height = self._room
        if not height:
            return
        self._keep_in_view(rows, height, before.over)
        top = self.scroll_offset.y
        arrangement = self.arrangement()
        for _ in range(2):  # a row may widen the scale of the bars above it; a second look finds those
            for y in range(min(height, rows.count - top)):
                self._redraw(y, top + y, width, arrangement)
        if gone := [y for y in self._drawn if y >= rows.count - top]:
            self.refresh(*(Region(0, y, width, 1) for y in gone))
            self._drawn = {y: drawn for y, drawn in self._drawn.items() if y not in gone}

    def row_at(self, y: int) -> int | None:
        """Return the index of the row at a line of the view; None below the last one."""
        index = y + self.scroll_offset.y
        return index if index < self._rows.count else None

    def lines(self) -> list[str]:
        """Return the visible rows as text."""
        top, count = self.scroll_offset.y, min(self.size.height, self._rows.count)
        width = self._room.width
        drawn = (
            self._line(self._rows.row(at), at, width, self.arrangement()) for at in range(top, top + count)
        )
        return ["".join(text for text, _ in pieces).rstrip() for pieces in drawn]

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

    @property
    def _room(self) -> Size:
        return self.scrollable_content_region.size

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size."""
        self._drawn.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Drop the styles of the previous theme."""
        super().notify_style_update()
        self._styles.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render some lines."""
        return self._styles.rendered(crop)

    def render_line(self, y: int) -> Strip:
        """Render the row at a line of the view."""
        index, width = y + self.scroll_offset.y, self._room.width
        if index >= self._rows.count:
            return self._styles.strip(BLANK, width)
        row, chosen = self._rows.row(index), index == self._rows.chosen
        before, was_chosen, line = self._drawn.get(y, (None, False, BLANK))
        if row is not before or chosen != was_chosen:
            line = self._line(row, index, width, self.arrangement())
            self._drawn[y] = (row, chosen, line)
        return self._styles.strip(line, width, chosen)

    def _line(self, row: TableRow, index: int, width: int, arrangement: Arrangement) -> Line:
        mark = self._symbols.chosen if index == self._rows.chosen else " "
        return arrangement.line(row, width, self._symbols, mark)

    def _redraw(self, y: int, index: int, width: int, arrangement: Arrangement) -> None:
        row, chosen = self._rows.row(index), index == self._rows.chosen
        before, was_chosen, drawn = self._drawn.get(y, (None, False, BLANK))
        if row is before and chosen == was_chosen:
            return
        line = self._line(row, index, width, arrangement)
        if chosen != was_chosen:
            self.refresh(Region(0, y, width, 1))
        elif spans := changes(drawn, line, width):
            self.refresh(*(Region(start, y, end - start, 1) for start, end in spans))
        self._drawn[y] = (row, chosen, line)

    def _keep_in_view(self, rows: Rows, height: int, was_over: bool) -> None:
        index = rows.running if rows.chosen is None else rows.chosen
        top = self.scroll_offset.y
        if index is None:
            if rows.over and top and not was_over:
                self.scroll_to(y=0, animate=False)
            return
        if rows.chosen is not None:
            wanted = min(max(top, index - height + 1), index)
        else:
            wanted = top if top <= index < top + height - 1 else max(0, index - height // 2)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False)
