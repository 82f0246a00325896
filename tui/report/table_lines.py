"""Tables of a report at any width: columns that don't fit follow in further blocks, after the rows' names."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest

import msgspec
from rich.cells import cell_len

from benchtui.sessions.text.markdown import MISSING, in_one_line
from benchtui.sessions.text.tables import Table, cell_text
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, line, width_of, wrap_spans
from benchtui.tui.model.row_cells import ANSWER_ROLES, VERDICT_ROLES

GAP = 2
MOST_BLOCKS = 6
"""Number of blocks after which the remaining columns are only named."""
MOST_TITLE_LINES = 3
NARROW = 18
"""Width in cells to which a column of words shrinks before another block is begun."""
LONGEST_WORD = 24
"""Longest word, such as an option's value, that a column doesn't break."""
MOST_NAMES = 3
"""Largest number of first columns that name a row."""


class _Cells(msgspec.Struct, frozen=True):
    titles: tuple[str, ...]
    right: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


class _Column(msgspec.Struct, frozen=True):
    """Column with the widths that it can have, in cells."""

    place: int
    least: int
    most: int


def table_lines(shown: Table, width: int, symbols: Symbols) -> list[Line]:
    """Render a table. Columns stand in order of importance: those that fit first, then the others.

    The only row of a table that is too wide has a line for each column.
    """
    rows = tuple(tuple(map(cell_text, row)) for row in shown.rows)
    table = _Cells(tuple(map(in_one_line, shown.titles)), shown.right, rows)
    columns = [_column(table, place, width) for place in range(len(table.titles))]
    if len(rows) == 1 and sum(column.least + GAP for column in columns) - GAP > width:
        return list(_only_row(table, width, symbols))
    names = _naming(table, columns, width)
    blocks = _blocks(columns[len(names) :], names, width)
    lines: list[Line] = []
    for block in blocks[:MOST_BLOCKS]:
        lines += [*([BLANK] if lines else []), *_block(table, [*names, *block], width, symbols)]
    hung = _hung(table, columns, names, width, symbols)
    if hung and len(hung) < len(lines):
        return hung
    rest = [table.titles[column.place] for block in blocks[MOST_BLOCKS:] for column in block]
    if rest:
        note = f"{len(rest)} more columns in a wider terminal, and in HTML: {', '.join(rest)}"
        lines += wrap_spans([(note, "muted")], width)
    return lines


def _only_row(table: _Cells, width: int, symbols: Symbols) -> Iterator[Line]:
    """Render the titles below each other, each before its cell."""
    size = min(max(map(cell_len, table.titles)), width // 2)
    for title, cell in zip(table.titles, table.rows[0], strict=True):
        for place, drawn in enumerate(wrap_spans(verdict_spans(cell), width - size - GAP)):
            yield line((fit("" if place else title, size, symbols) + " " * GAP, "muted"), *drawn)


def _column(table: _Cells, place: int, width: int) -> _Column:
    """Measure a column. None takes more than half of the width, so that any fits next to one of names."""
    half, cells = (width - GAP) // 2, [row[place] for row in table.rows]
    title = _title_width(table.titles[place])
    most = max(map(cell_len, cells), default=0)
    least = most if table.right[place] else min(most, max(NARROW, _longest_word(cells, LONGEST_WORD)))
    return _Column(place, min(max(least, title), half), max(most, title))


def _title_width(title: str) -> int:
    """Return the smallest width in which a title takes few lines and splits no word."""
    longest = _longest_word([title], cell_len(title))
    widths = range(longest, max(cell_len(title), longest) + 1)
    return next((width for width in widths if len(_wrapped(title, width)) <= MOST_TITLE_LINES), longest)


def _longest_word(texts: Sequence[str], most: int) -> int:
    return min(max((cell_len(word) for text in texts for word in text.split()), default=1), most)


def _naming(table: _Cells, columns: Sequence[_Column], width: int) -> list[_Column]:
    """Return the first columns that tell the rows apart, if they leave half of the width; at least one."""
    sizes = list(accumulate(column.least + GAP for column in columns[:MOST_NAMES]))
    for count, size in enumerate(sizes, 1):
        if size > width / 2:
            break
        if len({row[:count] for row in table.rows}) == len(table.rows):
            return list(columns[:count])
    return list(columns[:1])


def _blocks(columns: Sequence[_Column], names: Sequence[_Column], width: int) -> list[list[_Column]]:
    """Split columns into blocks that fit next to the columns that name the rows."""
    free = width - sum(column.least + GAP for column in names)
    blocks: list[list[_Column]] = [[]]
    room = free
    for column in columns:
        if blocks[-1] and column.least > room:
            blocks.append([])
            room = free
        blocks[-1].append(column)
        room -= column.least + GAP
    return blocks


def _hung(
    table: _Cells, columns: Sequence[_Column], names: Sequence[_Column], width: int, symbols: Symbols
) -> list[Line]:
    """Render a last column of words below its rows; nothing if the other columns don't fit either."""
    *others, last = columns
    if table.right[last.place] or len(_blocks(others[len(names) :], names, width)) > 1:
        return []
    return list(_block(table, others, width, symbols, last.place))


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Return the width of each column. Those of words share the room that is left, the first ones first."""
    room = max(0, width - sum(column.least + GAP for column in columns) + GAP)
    widths = []
    for column in columns:
        more = max(0, min(column.most - column.least, room))
        widths.append(column.least + more)
        room -= more
    return widths


def _block(
    table: _Cells, columns: Sequence[_Column], width: int, symbols: Symbols, below: int | None = None
) -> Iterator[Line]:
    """Render rows with some columns, and another one ``below`` each row, after its title."""
    widths = _widths(columns, width)
    right = [table.right[column.place] for column in columns]
    yield from _row([[(table.titles[column.place], "muted")] for column in columns], widths, right, top=False)
    yield line((symbols.track * min(sum(widths) + GAP * (len(widths) - 1), width), "faint"))
    for row in table.rows:
        yield from _row([[*verdict_spans(row[column.place])] for column in columns], widths, right)
        if below is not None and row[below] != MISSING:
            spans = [(f"{table.titles[below]}: ", "muted"), *verdict_spans(row[below])]
            yield from (line((" " * GAP, "plain"), *drawn) for drawn in wrap_spans(spans, width - GAP))


def _row(
    cells: Sequence[Sequence[Span]], widths: Sequence[int], right: Sequence[bool], *, top: bool = True
) -> Iterator[Line]:
    """Render a row whose cells wrap. ``top`` aligns them at their first line, else at their last."""
    wrapped = [wrap_spans(cell, size) for cell, size in zip(cells, widths, strict=True)]
    height = max(map(len, wrapped))
    filled = [part if top else [BLANK] * (height - len(part)) + part for part in wrapped]
    for parts in zip_longest(*filled, fillvalue=BLANK):
        spans: list[Span] = []
        for part, size, to_right in zip(parts, widths, right, strict=True):
            space = (" " * max(0, size - width_of(part)), "plain")
            spans += [space, *part] if to_right else [*part, space]
            spans.append((" " * GAP, "plain"))
        yield _stripped(line(*spans))


def _stripped(drawn: Line) -> Line:
    spans = list(drawn)
    while spans and not spans[-1][0].strip():
        spans.pop()
    return (*spans[:-1], (spans[-1][0].rstrip(), spans[-1][1])) if spans else BLANK


def _wrapped(text: str, width: int) -> list[Line]:
    return wrap_spans([(text, "plain")], width)


_ROLES = {verdict.name: role for verdict, role in VERDICT_ROLES.items()} | {
    answer.upper(): role for answer, role in ANSWER_ROLES.items()
}
_VERDICT = re.compile(rf"\b({'|'.join(_ROLES)})\b")


def verdict_spans(text: str) -> Iterator[Span]:
    """Split a text at its verdicts, which get the colors that they have on screen."""
    for place, part in enumerate(_VERDICT.split(text)):
        yield part, _ROLES[part] if place % 2 else "plain"
