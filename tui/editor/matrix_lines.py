"""The cases of a sweep below each other, as many as are in view; knows no Textual."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.sessions.sweep import AXES, Axes
from benchtui.themes import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Piece, crop
from benchtui.tui.editor.case_grid import Cell, Matrix, memory_cell, time_cell

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
    cells: list[Piece] = []
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
    cells: list[Piece] = []
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


def _apart(cells: Sequence[Piece]) -> list[Piece]:
    """The cells of the options, a gap between two."""
    return [piece for cell in cells for piece in ((GAP, "plain"), cell)][1:]


def _figures(cell: Cell, symbols: Symbols) -> list[Piece]:
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
