"""Short table with the rows around the selected one; tables for the clipboard. Independent of Textual."""

from collections.abc import Iterable, Sequence

import msgspec
from rich.cells import cell_len

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, crop, line, wrap_facts

GAP = 2
MIN_TEXT_WIDTH = 14
"""Minimum width of the text column in cells; columns are dropped before it shrinks further."""


class Listing(msgspec.Struct, frozen=True):
    """Content of a table. Columns are in order of importance: the last are dropped first."""

    titles: tuple[str, ...]
    rows: tuple[tuple[Span, ...], ...]
    words: int
    """Index of the text column, which is left-aligned and shortened if needed."""
    chosen: int | None = None
    cases: tuple[int, ...] = ()
    """Index of the case of each row."""
    empty: str = "none yet"
    """What to show in place of rows."""


def listing_lines(listing: Listing, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render header and rows. If some are hidden, the header shows the position and row count."""
    room = height - 1
    top = _first_row(listing, room)
    shown = listing.rows[top : top + max(room, 0)]
    header = _header(listing, room)
    sizes = _sizes(listing, header, width)
    head = _line(header, sizes, listing.words, width, symbols, " ")
    if not listing.rows:
        return [head, crop([(f" {listing.empty}", "muted")], width, symbols)]
    return [head, *(_row(listing, top + at, row, sizes, width, symbols) for at, row in enumerate(shown))]


def listing_blocks(listing: Listing, width: int) -> list[Line]:
    """Render each row as its text and, below, its other columns, for a width without room for a table."""
    lines: list[Line] = []
    for row in listing.rows:
        signs = [
            (f"{text:1} ", role) for title, (text, role) in zip(listing.titles, row, strict=True) if not title
        ]
        figures = [
            [(f"{title} ", "muted"), cell]
            for place, (title, cell) in enumerate(zip(listing.titles, row, strict=True))
            if title and cell[0] and place != listing.words
        ]
        lines += [line(*signs, row[listing.words])]
        lines += [line(("  ", "plain"), *drawn) for drawn in wrap_facts(figures, width - 2)]
    return lines


def natural_width(listing: Listing) -> int:
    """Return the width in cells at which nothing of a table is left out or shortened."""
    columns = zip(*([text for text, _ in row] for row in (_header(listing, 0), *listing.rows)), strict=True)
    sizes = [max(map(cell_len, column)) for column in columns]
    return 1 + max(sum(sizes) + GAP * (len(sizes) - 1), 0 if listing.rows else cell_len(listing.empty))


def list_case_at(listing: Listing, at: tuple[int, int], size: tuple[int, int], symbols: Symbols) -> int | None:
    """Return the case of the row at a column and line of the rendered table; None if there is none."""
    row = at[1] - 1 + _first_row(listing, size[1] - 1)
    return listing.cases[row] if at[1] and row < len(listing.cases) else None


def _first_row(listing: Listing, room: int) -> int:
    """Return the first row shown in a number of lines."""
    return max(0, min((listing.chosen or 0) - room // 2, len(listing.rows) - room))


def _header(listing: Listing, room: int) -> tuple[Span, ...]:
    cut = len(listing.rows) > room
    place = f" {(listing.chosen or 0) + 1}/{len(listing.rows)}" if cut else ""
    return tuple(
        (title + (place if column == listing.words else ""), "muted")
        for column, title in enumerate(listing.titles)
    )


def _row(
    listing: Listing, at: int, row: Sequence[Span], sizes: Sequence[int], width: int, symbols: Symbols
) -> Line:
    chosen = at == listing.chosen
    mark = symbols.chosen if chosen else " "
    drawn = [(text, "strong" if chosen and role == "plain" else role) for text, role in row]
    return _line(drawn, sizes, listing.words, width, symbols, mark)


def _line(
    row: Sequence[Span], sizes: Sequence[int], words: int, width: int, symbols: Symbols, mark: str
) -> Line:
    pieces: list[Span] = [(mark, "accent")]
    for column, ((text, role), size) in enumerate(zip(row, sizes, strict=False)):
        gap = " " * (GAP if column else 0)
        shown = fit(text, size, symbols) if column == words else " " * (size - cell_len(text)) + text
        pieces += [(gap, "plain"), (shown, role)]
    return crop(pieces, width, symbols)


def _sizes(listing: Listing, header: Sequence[Span], width: int) -> list[int]:
    columns = zip(*([text for text, _ in row] for row in (header, *listing.rows)), strict=True)
    sizes = [max(map(cell_len, column)) for column in columns]
    spare = max(0, sizes[listing.words] - MIN_TEXT_WIDTH)  # cells that the text column can give up

    def excess() -> int:
        return sum(sizes) + GAP * (len(sizes) - 1) + 1 - width

    while len(sizes) > listing.words + 2 and excess() > spare:
        sizes.pop()
    sizes[listing.words] = max(1, sizes[listing.words] - max(excess(), 0))
    return sizes


def grouped_rows(groups: Sequence[str], chosen: int, height: int) -> Sequence[int | str]:
    """Return the visible lines of a list in groups, scrolled to the selected entry.

    ``groups`` has the group of each entry. A line is the index of an entry, a group's title, or empty.
    """
    rows: list[int | str] = []
    for place, group in enumerate(groups):
        if place == 0 or group != groups[place - 1]:
            rows += [*([""] if rows else []), group]
        rows.append(place)
    at = rows.index(chosen) if groups else 0
    top = max(0, min(at - height // 2, len(rows) - height))
    return rows[top : top + max(height, 0)]


def entry_at(rows: Sequence[int | str], y: int) -> int | None:
    """Return the index of the entry at a line of ``grouped_rows``; None if there is none."""
    entry = rows[y] if y < len(rows) else None
    return entry if isinstance(entry, int) else None


def pipe_table(titles: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> str:
    """Format a table with escaped cells. Column ``words`` is left-aligned, the others right-aligned."""
    from benchtui.sessions.text.markdown import plain  # needed only when something is copied

    rule = "|".join(" :--- " if column == words else " ---: " for column in range(len(titles)))
    head, *body = (f"| {' | '.join(map(plain, row))} |" for row in (titles, *rows))
    return "\n".join([head, f"|{rule}|", *body])


def heading(text: str) -> str:
    """Format a line of bold text, escaped."""
    from benchtui.sessions.text.markdown import plain  # needed only when something is copied

    return f"**{plain(text)}**"


def titled_table(title: str, listing: Listing) -> str:
    """Format all rows of a listing below its title; empty if there are none."""
    rows = [[text for text, _ in row] for row in listing.rows]
    return f"{heading(title)}\n\n{pipe_table(listing.titles, rows, listing.words)}\n" if rows else ""
