"""Tables of the report: columns declared once, cells as text, columns without data left out."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from markdown_it.common.utils import escapeHtml

from benchtui.sessions.text.markdown import LONGEST_CELL, MISSING, Markdown, in_one_line, plain

T = TypeVar("T")

MOST_PADDED = 1_000
"""Rows from which a table in markdown isn't padded: nobody reads so many before they are rendered."""
MOST_ROWS = 1_000
"""Rows of a table in HTML, which costs a browser much memory for each cell; the others follow as plain text."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column: its title with the unit, and what it shows of a record."""

    title: str
    cell: Callable[[T], str | None]
    right: bool = True
    """Numbers stand right, words left."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text, before it is laid out; None is a cell without data."""

    titles: tuple[str, ...]
    right: tuple[bool, ...]
    rows: tuple[tuple[str | None, ...], ...]


def table(columns: Sequence[Column[T]], records: Iterable[T]) -> Table | None:
    """The records in those columns that have data in at least one row; None without records."""
    kept = list(records)
    cells = [[column.cell(record) for record in kept] for column in columns]
    full = [
        (column, values)
        for column, values in zip(columns, cells, strict=True)
        if any(v is not None for v in values)
    ]
    if not full:
        return None
    return Table(
        titles=tuple(column.title for column, _ in full),
        right=tuple(column.right for column, _ in full),
        rows=tuple(zip(*(values for _, values in full), strict=True)),
    )


def markdown(shown: Table) -> Markdown:
    """The table in GitHub's markdown, every cell escaped."""
    rows = [[MISSING if cell is None else plain(cell, LONGEST_CELL) for cell in row] for row in shown.rows]
    if len(rows) > MOST_PADDED:
        rules = ["-:" if right else ":-" for right in shown.right]
        lines = chain((map(plain, shown.titles), rules), rows)
        return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    import pandas  # half a second that only an export pays

    frame = pandas.DataFrame(rows, columns=[plain(title) for title in shown.titles], dtype=object)
    align = tuple("right" if right else "left" for right in shown.right)
    return Markdown(frame.to_markdown(index=False, tablefmt="pipe", colalign=align, disable_numparse=True))


def html(shown: Table) -> str:
    """The table in HTML, as markdown-it writes it, in a box of its own; of very many rows the rest as text."""
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
    """The rows that the table has no room for, in lines that a reader can open."""
    rest = shown.rows[MOST_ROWS:]
    if not rest:
        return ""
    rows = [[in_one_line(title) for title in shown.titles], *([_shown(cell) for cell in row] for row in rest)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join(
        f"{{:{'>' if right else '<'}{width}}}" for right, width in zip(shown.right, widths, strict=True)
    ).format
    text = escapeHtml("\n".join(line(*row).rstrip() for row in rows))
    said = f"Rows {MOST_ROWS + 1:,} to {len(shown.rows):,}, as text"
    return f'<details><summary>{said}</summary>\n<pre class="rows" tabindex="0">{text}</pre></details>\n'
