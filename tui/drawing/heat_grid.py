"""Heatmaps: grids of cells with a number on a color step each, independent of Textual."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.cells import cell_len

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, line, side_by_side, width_of, wrap_facts

MAX_CELL = 32
"""Widest cell, in terminal cells."""
TALL, TALLEST = 5, 16
"""Lines of a cell for which grids are placed side by side, and the most if there is more room."""
MIN_WIDTH, MIN_HEIGHT = 24, 4
GAP = 2
"""Columns between two grids side by side."""


class HeatCell(msgspec.Struct, frozen=True):
    """Content of a cell."""

    sign: str
    """One character in front of the text: the fill level, the best, or the state."""
    text: str
    role: str
    fill: str = " "
    """Character that fills the rest of the cell."""
    case: int | None = None
    """Index of the case."""


class HeatGrid(msgspec.Struct, frozen=True):
    """One grid: a cell per row and column, or None for a combination that wasn't planned."""

    title: str
    cells: tuple[tuple[HeatCell | None, ...], ...]


class Heatmap(msgspec.Struct, frozen=True):
    """Grids with the same rows and columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_title: str
    column_title: str
    grids: tuple[HeatGrid, ...]
    chosen: tuple[int, int, int] | None
    """Selected grid, row and column."""
    legend: tuple[tuple[Span, ...], ...] = ()
    hint: str = ""
    """Why there is nothing to draw."""


class _Layout(msgspec.Struct, frozen=True):
    """Sizes of the grids' parts, in cells, and the columns that fit."""

    label: int
    cell: int
    tall: int
    beside: int
    """Number of grids side by side."""
    first: int
    last: int
    """Columns shown, from ``first`` up to, not including, ``last``."""

    @property
    def width(self) -> int:
        return self.label + 1 + (self.last - self.first) * self.cell


class _View(msgspec.Struct, frozen=True):
    """All lines of the grids, and which of them are shown."""

    layout: _Layout
    lines: list[Line]
    top: int
    room: int
    """First line shown, and the number of lines for the grids."""
    legend: Sequence[Line]


def heatmap_lines(heatmap: Heatmap, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render the grids, scrolled to the selected cell, with the legend below."""
    if heatmap.hint:
        return [BLANK] * max(0, height // 2 - 1) + [line(("  ", "plain"), (heatmap.hint, "muted"))]
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return []
    view = _view(heatmap, width, height, symbols)
    return [*view.lines[view.top : view.top + view.room], *view.legend]


def map_case_at(heatmap: Heatmap, at: tuple[int, int], size: tuple[int, int], symbols: Symbols) -> int | None:
    """Return the case of the cell at a column and line of the rendered heatmap; None if there is none."""
    if heatmap.hint or size[0] < MIN_WIDTH or size[1] < MIN_HEIGHT:
        return None
    view, rows = _view(heatmap, *size, symbols), len(heatmap.rows)
    layout = view.layout
    beside, x = divmod(at[0], layout.width + GAP)
    group, y = divmod(at[1] + view.top, 2 + rows * layout.tall + 1)
    grid, row = group * layout.beside + beside, (y - 2) // layout.tall
    column = layout.first + (x - layout.label - 1) // layout.cell
    inside = beside < layout.beside and layout.first <= column < layout.last and 0 <= row < rows
    if not inside or at[1] >= view.room or grid >= len(heatmap.grids):
        return None
    cell = heatmap.grids[grid].cells[row][column]
    return cell.case if cell else None


def _view(heatmap: Heatmap, width: int, height: int, symbols: Symbols) -> _View:
    room = height - len(_legend(heatmap.legend, width))
    layout = _layout(heatmap, width, room)
    lines, at = _all_lines(heatmap, layout, symbols)
    hidden = _hidden(heatmap, layout, len(lines) > room, symbols)
    legend = _legend([*hidden, *heatmap.legend], width)
    room = max(1, height - len(legend))
    return _View(layout, lines, max(0, min(at - room // 2, len(lines) - room)), room, legend)


def _legend(facts: Sequence[Sequence[Span]], width: int) -> list[Line]:
    """Render the legend below a blank line; nothing if it is empty."""
    return [BLANK, *wrap_facts(facts, width)] if facts else []


def full_width(heatmap: Heatmap) -> int:
    """Return the width from which a grid shows all its columns."""
    label, least = _least_sizes(heatmap)
    return label + 1 + len(heatmap.columns) * least


def _least_sizes(heatmap: Heatmap) -> tuple[int, int]:
    label = max(map(cell_len, (*heatmap.rows, heatmap.row_title)))
    texts = (cell.text for grid in heatmap.grids for row in grid.cells for cell in row if cell)
    return label, max([*map(cell_len, heatmap.columns), *map(len, texts), 3]) + 4


def _layout(heatmap: Heatmap, width: int, room: int) -> _Layout:
    label, least = _least_sizes(heatmap)
    count = len(heatmap.columns)
    fits = max(1, (width - label - 1) // least)
    most_beside = max(1, min(len(heatmap.grids), (width + GAP) // (label + 1 + count * least + GAP)))
    lines = 3 + len(heatmap.rows) * TALL
    fitting = (
        across for across in range(1, most_beside) if -(-len(heatmap.grids) // across) * lines - 1 <= room
    )
    beside = next(fitting, most_beside)
    cell = min(MAX_CELL, ((width + GAP) // beside - GAP - label - 1) // min(count, fits))
    stacked = -(-len(heatmap.grids) // beside)
    most = (room + 1) // stacked - 3
    tall = min(TALLEST, max(1, most // len(heatmap.rows)))
    chosen = heatmap.chosen[2] if heatmap.chosen else 0
    first = max(0, min(chosen - fits // 2, count - fits))
    return _Layout(label, cell, tall, beside, first, min(first + fits, count))


def _all_lines(heatmap: Heatmap, layout: _Layout, symbols: Symbols) -> tuple[list[Line], int]:
    lines: list[Line] = []
    at = 0
    for start in range(0, len(heatmap.grids), layout.beside):
        if heatmap.chosen and start <= heatmap.chosen[0] < start + layout.beside:
            at = len(lines) + 2 + heatmap.chosen[1] * layout.tall
        group = range(start, min(start + layout.beside, len(heatmap.grids)))
        drawn = [_grid_lines(heatmap, number, layout, symbols) for number in group]
        lines += [*([BLANK] if lines else []), *side_by_side(drawn, layout.width + GAP)]
    return lines, at


def _grid_lines(heatmap: Heatmap, number: int, layout: _Layout, symbols: Symbols) -> list[Line]:
    grid = heatmap.grids[number]
    chosen = heatmap.chosen[1:] if heatmap.chosen and heatmap.chosen[0] == number else None
    room = layout.width - layout.label - 1
    title: list[Span] = [(grid.title, "strong" if chosen else "plain")]
    columns: list[Span] = [("  " if grid.title else "", "plain"), (heatmap.column_title, "muted")]
    head = crop([*title, *(columns if width_of([*title, *columns]) <= room else [])], room, symbols)
    lines = [line((" " * (layout.label + 1), "plain"), *head), _header(heatmap, layout, chosen)]
    for row, label in enumerate(heatmap.rows):
        column = chosen[1] if chosen and chosen[0] == row else None
        lines += _row_lines(grid.cells[row], label, layout, column, symbols)
    return lines


def _header(heatmap: Heatmap, layout: _Layout, chosen: tuple[int, ...] | None) -> Line:
    pieces: list[Span] = [(f"{heatmap.row_title:>{layout.label}} ", "muted")]
    for column in range(layout.first, layout.last):
        role = "bright" if chosen and chosen[1] == column else "muted"
        pieces.append((f"{heatmap.columns[column]:>{layout.cell - 2}}  ", role))
    return line(*pieces)


def _row_lines(
    cells: Sequence[HeatCell | None], label: str, layout: _Layout, chosen: int | None, symbols: Symbols
) -> Iterator[Line]:
    for part in range(layout.tall):
        middle = part == (layout.tall - 1) // 2
        name = label if middle else ""
        pieces: list[Span] = [(f"{name:>{layout.label}} ", "muted" if chosen is None else "bright")]
        for column in range(layout.first, layout.last):
            pieces += _cell(cells[column], layout.cell, middle, column == chosen, symbols)
        yield line(*pieces)


def _cell(cell: HeatCell | None, width: int, middle: bool, chosen: bool, symbols: Symbols) -> list[Span]:
    """Render one line of a cell. The last column separates it from the next cell."""
    if cell is None:
        return [(" " * width, "plain")]
    role = "chosen" if chosen and middle else cell.role
    if not middle:
        return [(cell.fill * (width - 1), role), (" ", "plain")]
    mark = symbols.chosen if chosen else cell.fill
    text = f"{cell.text:{cell.fill}>{width - 4}}"
    return [(f"{mark}{cell.sign}{text}{cell.fill}", role), (" ", "plain")]


def _hidden(heatmap: Heatmap, layout: _Layout, cut: bool, symbols: Symbols) -> list[list[Span]]:
    """Describe the columns and rows that don't fit."""
    count = len(heatmap.columns)
    columns = f"columns {layout.first + 1} to {layout.last} of {count}"
    narrow = layout.last - layout.first < count
    notes = (columns if narrow else "", f"{symbols.arrows} more rows" if cut else "")
    return [[(text, "plain")] for text in notes if text]
