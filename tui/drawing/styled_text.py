"""Lines made of pieces in roles, and where two versions of a line differ; knows no Textual."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat, zip_longest

from rich.cells import cell_len, get_character_cell_size

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit

Span = tuple[str, str]
"""A text and its role."""
Line = tuple[Span, ...]

BLANK: Line = ()
GAP = "   "
"""Between two facts of a line."""
WORTH_SKIPPING = 12
"""Unchanged cells between two changed ones that cost more bytes to jump over than half a jump."""


def line(*pieces: Span) -> Line:
    """A line of pieces; empty ones are left out and neighbours in the same role are joined."""
    joined: list[Span] = []
    for text, role in pieces:
        if text and joined and joined[-1][1] == role:
            joined[-1] = (joined[-1][0] + text, role)
        elif text:
            joined.append((text, role))
    return tuple(joined)


def width_of(pieces: Iterable[Span]) -> int:
    """Cells that the pieces take."""
    return sum(cell_len(text) for text, _ in pieces)


def crop(pieces: Iterable[Span], width: int, symbols: Symbols) -> Line:
    """The pieces up to a width in cells; what is cut shows a sign of it."""
    kept: list[Span] = []
    room = width
    for text, role in pieces:
        size = cell_len(text)
        if size > room:
            return line(*kept, (fit(text, room, symbols), role))
        kept.append((text, role))
        room -= size
    return line(*kept)


def flowing(facts: Sequence[Sequence[Span]], width: int) -> list[Line]:
    """Facts beside each other, each of them whole, and those for which a line has no room in the next one."""
    lines: list[list[Span]] = [[]]
    for fact in facts:
        beside = [(GAP, "plain"), *fact]
        if not lines[-1]:
            lines[-1] += fact
        elif width_of([*lines[-1], *beside]) <= width:
            lines[-1] += beside
        else:
            lines.append([*fact])
    return [line(*pieces) for pieces in lines]


def justify(left: Sequence[Span], right: Sequence[Span], width: int, symbols: Symbols) -> Line:
    """Pieces at both ends of a line; the left ones give way when there is no room for all."""
    room = width - width_of(right)
    head = crop(left, max(0, room - 1), symbols)
    return line(*head, (" " * (room - width_of(head)), "plain"), *right)


def side_by_side(columns: Sequence[Sequence[Line]], width: int) -> list[Line]:
    """Lines of columns beside each other, each column but the last filled up to a width in cells."""
    return [
        line(*(piece for drawn in beside[:-1] for piece in _filled(drawn, width)), *beside[-1])
        for beside in zip_longest(*columns, fillvalue=BLANK)
    ]


def _filled(drawn: Line, width: int) -> Line:
    return (*drawn, (" " * (width - width_of(drawn)), "plain"))


def changes(old: Line, new: Line, width: int) -> list[tuple[int, int]]:
    """Spans of cells (from, up to) in which a line differs from what was drawn before."""
    if old == new:
        return []
    spans: list[tuple[int, int]] = []
    for at, (before, after) in enumerate(zip(_cells(old, width), _cells(new, width), strict=True)):
        if before == after:
            continue
        if spans and at - spans[-1][1] <= WORTH_SKIPPING:
            spans[-1] = (spans[-1][0], at + 1)
        else:
            spans.append((at, at + 1))
    return spans


def _cells(pieces: Line, width: int) -> list[Span]:
    """One entry a cell; a wide character fills two, one without width joins the cell before."""
    cells: list[Span] = []
    for text, role in pieces:
        cells += zip(text, repeat(role)) if text.isascii() else _spelled(text, role)
    return cells[:width] + [(" ", "plain")] * (width - len(cells))


def _spelled(text: str, role: str) -> Iterator[Span]:
    for letter in text:
        size = get_character_cell_size(letter)
        yield from ((letter, role),) * min(size, 1)
        yield from (("", letter),) * (size - 1)
