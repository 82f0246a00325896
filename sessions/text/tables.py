"""Report tables: columns declared once, cells as text, empty columns left out."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar, overload

from markdown_it.common.utils import escapeHtml

from benchtui.sessions.text.markdown import LONGEST_CELL, MISSING, Markdown, in_one_line, plain

T = TypeVar("T")

Row = tuple[str | None, ...]
"""Cells of a row. None is a cell without data."""
MOST_PADDED = 1_000
"""Number of rows up to which a Markdown table is padded. Nobody reads longer ones before they are rendered."""
MOST_ROWS = 1_000
"""Rows of an HTML table, each cell of which costs a browser much memory. The others follow as plain text."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column: its title with the unit, and its text for a record."""

    title: str
    cell: Callable[[T], str | None]
    right: bool = True
    """Whether to align right: numbers are, words aren't."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text, before layout."""

    titles: tuple[str, ...]
    right: tuple[bool, ...]
    rows: Sequence[Row]


class LazyRows(Sequence[Row], Generic[T]):
    """Rows whose cells are formatted when they are read. The text of 100,000 rows takes 100 MB."""

    def __init__(self, columns: Sequence[Column[T]], records: Sequence[T]) -> None:
        self._columns, self._records = columns, records

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        if isinstance(place, slice):
            return LazyRows(self._columns, self._records[place])
        return tuple(column.cell(self._records[place]) for column in self._columns)

    def __len__(self) -> int:
        return len(self._records)


def table(columns: Sequence[Column[T]], records: Iterable[T]) -> Table | None:
    """Build a table of the columns that have data in at least one row; None if there are none."""
    kept = list(records)
    full = [column for column in columns if any(column.cell(record) is not None for record in kept)]
    if not full:
        return None
    rows = LazyRows(full, kept)
    return Table(
        titles=tuple(column.title for column in full),
        right=tuple(column.right for column in full),
        rows=rows if len(rows) > MOST_PADDED else tuple(rows),
    )


def markdown(shown: Table) -> Markdown:
    """Render the table as GitHub Markdown, with every cell escaped."""
    rows = ([MISSING if cell is None else plain(cell, LONGEST_CELL) for cell in row] for row in shown.rows)
    if len(shown.rows) > MOST_PADDED:
        rules = ["-:" if right else ":-" for right in shown.right]
        lines = chain((map(plain, shown.titles), rules), rows)
        return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    import pandas  # takes 0.5 s, only paid by exports

    frame = pandas.DataFrame(list(rows), columns=[plain(title) for title in shown.titles], dtype=object)
    align = tuple("right" if right else "left" for right in shown.right)
    return Markdown(frame.to_markdown(index=False, tablefmt="pipe", colalign=align, disable_numparse=True))


def html(shown: Table) -> str:
    """Render the table as markdown-it does, in its own box. Rows beyond ``MOST_ROWS`` follow as text."""
    styles = ["right" if right else "left" for right in shown.right]
    titles, rows = [in_one_line(title) for title in shown.titles], shown.rows[:MOST_ROWS]
    lines = [
        f'<div class="table{" cut" if len(rows) < len(shown.rows) else ""}" role="region" tabindex="0">',
        "<table>\n<thead>\n<tr>",
        *_cells("th", styles, titles),
        "</tr>\n</thead>\n<tbody>",
        *chain.from_iterable(("<tr>", *_cells("td", styles, map(_shown, row)), "</tr>") for row in rows),
        "</tbody>\n</table>\n</div>\n",
    ]
    return "\n".join(lines) + _rest(shown)


def _shown(cell: str | None) -> str:
    return MISSING if cell is None else in_one_line(cell, LONGEST_CELL)


def _cells(tag: str, styles: Iterable[str], texts: Iterable[str]) -> Iterable[str]:
    return (
        f'<{tag} style="text-align:{style}">{escapeHtml(text)}</{tag}>'
        for style, text in zip(styles, texts, strict=True)
    )


def _rest(shown: Table) -> str:
    """Render the rows that don't fit in the table as collapsible text."""
    rest = shown.rows[MOST_ROWS:]
    if not rest:
        return ""
    rows = [[in_one_line(title) for title in shown.titles], *([_shown(cell) for cell in row] for row in rest)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join(
        f"{{:{'>' if right else '<'}{width}}}" for right, width in zip(shown.right, widths, strict=True)
    ).format
    text = escapeHtml("\n".join(line(*row).rstrip() for row in rows))
    summary = f"Rows {MOST_ROWS + 1:,} to {len(shown.rows):,}, as text"
    return f'<details><summary>{summary}</summary>\n<pre class="rows" tabindex="0">{text}</pre></details>\n'
