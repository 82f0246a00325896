"""Report tables: columns declared once, cells as text, empty columns left out."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from benchtui.sessions.sweep import Task
from benchtui.sessions.text.formatting import FormattedNumber, capitalized
from benchtui.sessions.text.markdown import LONGEST_CELL, LONGEST_LINE, MISSING, escape_html, in_one_line, plain

T = TypeVar("T")

Row = tuple[str | None, ...]
"""Cells of a row. None is a cell without data."""
LEAST_CELLS = 3
"""Minimum width of a column in Markdown: its rule needs three characters."""
LONG_CELL = 24
"""Number of characters above which a page keeps a cell wide, to limit its height."""
_NUMERIC, _LONG = ' class="number"', ' class="long"'
_LEADING_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?", re.ASCII)


class Column(Generic[T], msgspec.Struct, frozen=True):
    """A column: its title with the unit, and its text for a record."""

    title: str
    cell: Callable[[T], str | None]
    right: bool = True
    """Whether to align right: numbers are, words aren't."""


def text_column(title: str, cell: Callable[[T], str | None]) -> Column[T]:
    """Return a column of words, which are aligned left."""
    return Column(title, cell, right=False)


class Table(msgspec.Struct, frozen=True, tag=True):
    """A table as text, before layout."""

    titles: tuple[str, ...]
    right: tuple[bool, ...]
    rows: tuple[Row, ...]
    samples_per_s: Sequence[float | None] = ()
    """Throughput of each row, for computing the cost of a million samples in a page. Empty for other tables."""


def in_unit(columns: Sequence[Column[T]], task: Task) -> tuple[Column[T], ...]:
    """Replace "samples" in titles of rates, times and energies with the task's word, such as ``images/s``."""
    titles = {
        "samples/s": task.unit,
        "Samples/s": capitalized(task.unit),
        "Samples/J": capitalized(f"{task.sample}/J"),
        "J/sample": f"J/{task.one_sample}",
        "Time per sample": f"Time per {task.one_sample}",
        "million samples": f"million {task.sample}",
    }
    pattern = re.compile("|".join(titles))
    return tuple(
        replace(column, title=pattern.sub(lambda match: titles[match[0]], column.title)) for column in columns
    )


def table(
    columns: Sequence[Column[T]], records: Iterable[T], samples_per_s: Callable[[T], float | None] | None = None
) -> Table | None:
    """Build a table of the columns that have data in at least one row; None if there are none."""
    kept = list(records)
    full = [column for column in columns if any(column.cell(record) is not None for record in kept)]
    if not full:
        return None
    return Table(
        titles=tuple(column.title for column in full),
        right=tuple(column.right for column in full),
        rows=tuple(tuple(column.cell(record) for column in full) for record in kept),
        samples_per_s=tuple(map(samples_per_s, kept)) if samples_per_s else (),
    )


def markdown(shown: Table) -> str:
    """Render the table as GitHub Markdown, with every cell escaped.

    A table whose lines would be too long is split into several. Each of several rows begins with its name.
    """
    cells: list[list[str]] = [[plain(title) for title in shown.titles]]
    cells += [[MISSING if cell is None else plain(cell, LONGEST_CELL) for cell in row] for row in shown.rows]
    widths = [max(LEAST_CELLS, *map(len, column)) for column in zip(*cells, strict=True)]
    keys = 1 if len(shown.rows) > 1 else 0
    return "\n\n".join(_pipes(shown, cells, widths, places) for places in _split(widths, keys))


def _split(widths: Sequence[int], keys: int) -> list[list[int]]:
    """Return the places of the columns of each table, so that no line is too long if that can be helped."""
    tables, named = [list(range(len(widths)))[:keys]], sum(widths[:keys]) + 3 * keys + 1
    used = named
    for place in range(keys, len(widths)):
        needed = widths[place] + 3
        if used + needed > LONGEST_LINE and len(tables[-1]) > keys:
            tables.append(list(range(keys)))
            used = named
        tables[-1].append(place)
        used += needed
    return tables


def _pipes(shown: Table, cells: Sequence[list[str]], widths: Sequence[int], places: Sequence[int]) -> str:
    """Render some columns of a table."""

    def line(texts: Iterable[str]) -> str:
        return f"| {' | '.join(texts)} |"

    def padded(row: Sequence[str]) -> Iterator[str]:
        for place in places:
            yield row[place].rjust(widths[place]) if shown.right[place] else row[place].ljust(widths[place])

    marks = ("-" * (widths[place] - 1) for place in places)
    rule = (f"{mark}:" if shown.right[place] else f":{mark}" for mark, place in zip(marks, places, strict=True))
    header, *rows = cells
    return "\n".join([line(padded(header)), line(rule), *(line(padded(row)) for row in rows)])


def narrowed(shown: Table, droppable: Sequence[str]) -> Table:
    """Drop columns, by titles without units, in this order until the lines of the table aren't too long."""
    for title in droppable:
        cells = zip(shown.titles, *shown.rows, strict=True)
        widths = [max(LEAST_CELLS, *(len(cell or MISSING) for cell in column)) for column in cells]
        if sum(widths) + 3 * len(widths) + 1 <= LONGEST_LINE:
            break
        kept = [place for place, full in enumerate(shown.titles) if full.partition(" (")[0] != title]
        shown = selected(shown, kept)
    return shown


def selected(shown: Table, places: Sequence[int]) -> Table:
    """Return the table with only the columns at these places."""
    return replace(
        shown,
        titles=tuple(shown.titles[place] for place in places),
        right=tuple(shown.right[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in shown.rows),
    )


def html(shown: Table, label: str) -> str:
    """Render the table in a scrollable box.

    ``label`` names the box for screen readers. Data attributes contain the unrounded value of each number and
    the throughput of each row.
    """
    rates = shown.samples_per_s or [None] * len(shown.rows)
    lines = [
        f'<div class="table" role="region" tabindex="0" aria-label="{escape_html(in_one_line(label))}">',
        "<table>\n<thead>\n<tr>",
        *map(_heading, shown.titles, shown.right),
        "</tr>\n</thead>\n<tbody>",
        *chain.from_iterable(
            (_row_start(rate), _first(row[0], shown.right[0]), *map(_cell, row[1:], shown.right[1:]), "</tr>")
            for row, rate in zip(shown.rows, rates, strict=True)
        ),
        "</tbody>\n</table>\n</div>\n",
    ]
    return "\n".join(lines)


def _heading(title: str, right: bool) -> str:
    return f'<th scope="col"{_NUMERIC if right else ""}>{escape_html(in_one_line(title))}</th>'


def _row_start(rate: float | None) -> str:
    return f'<tr data-samples-per-s="{rate!r}">' if rate else "<tr>"


def _first(cell: str | None, right: bool) -> str:
    """Render the first cell of a row, which names the row for screen readers."""
    return f'<th scope="row"{_cell(cell, right)[3:-5]}</th>'


def _cell(cell: str | None, right: bool) -> str:
    shown = cell_text(cell)
    if not right:
        return f"<td{_LONG if len(shown) > LONG_CELL else ''}>{escape_html(shown)}</td>"
    value = sort_value(cell)
    attribute = "" if value is None else f' data-value="{value!r}"'
    return f"<td{_NUMERIC}{attribute}>{escape_html(shown)}</td>"


def sort_value(cell: str | None) -> float | None:
    """Return the unrounded value, or the leading number of any other text; None without one."""
    if isinstance(cell, FormattedNumber):
        return cell.value
    match = _LEADING_NUMBER.match(cell or "")
    return float(match[0].replace(",", "")) if match else None


def cell_text(cell: str | None) -> str:
    """Return the text of a cell on one line; a sign for one without data."""
    return MISSING if cell is None else in_one_line(cell, LONGEST_CELL)
