"""Report tables: columns declared once, cells as text, empty columns left out."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Generic, TypeVar, overload

import msgspec
from markdown_it.common.utils import escapeHtml
from msgspec.structs import replace

from benchtui.sessions.sweep import Task
from benchtui.sessions.text.formatting import FormattedNumber, capitalized
from benchtui.sessions.text.markdown import LONGEST_CELL, MISSING, Markdown, in_one_line, plain

T = TypeVar("T")

Row = tuple[str | None, ...]
"""Cells of a row. None is a cell without data."""
MOST_PADDED = 1_000
"""Maximum number of rows of a padded Markdown table. Nobody reads longer tables unrendered."""
MOST_ROWS = 1_000
"""Maximum number of rows of an HTML table, because each cell costs a browser much memory. The other rows follow
as plain text."""
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


class Table(msgspec.Struct, frozen=True):
    """A table as text, before layout."""

    titles: tuple[str, ...]
    right: tuple[bool, ...]
    rows: Sequence[Row]
    samples_per_s: Sequence[float | None] = ()
    """Throughput of each row, for computing the cost of a million samples in a page. Empty for other tables."""


class LazyRows(Sequence[Row], Generic[T]):
    """Rows whose cells are formatted on access. The text of 100,000 rows would take 100 MB."""

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
        replace(column, title=pattern.sub(lambda found: titles[found[0]], column.title)) for column in columns
    )


def table(
    columns: Sequence[Column[T]], records: Iterable[T], samples_per_s: Callable[[T], float | None] | None = None
) -> Table | None:
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
        samples_per_s=tuple(map(samples_per_s, kept)) if samples_per_s else (),
    )


def markdown(shown: Table) -> Markdown:
    """Render the table as GitHub Markdown, with every cell escaped."""
    rows = ([MISSING if cell is None else plain(cell, LONGEST_CELL) for cell in row] for row in shown.rows)
    if len(shown.rows) > MOST_PADDED:
        rules = ["-:" if right else ":-" for right in shown.right]
        lines = chain((map(plain, shown.titles), rules), rows)
        return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    import pandas  # takes 0.5 s, which only exports need to spend

    frame = pandas.DataFrame(list(rows), columns=[plain(title) for title in shown.titles], dtype=object)
    align = tuple("right" if right else "left" for right in shown.right)
    return Markdown(frame.to_markdown(index=False, tablefmt="pipe", colalign=align, disable_numparse=True))


def html(shown: Table, label: str) -> str:
    """Render the table in a scrollable box. Rows beyond ``MOST_ROWS`` follow as text.

    ``label`` names the box for screen readers. Data attributes contain the unrounded value of each number and
    the throughput of each row.
    """
    rows = shown.rows[:MOST_ROWS]
    rates = shown.samples_per_s[:MOST_ROWS] or [None] * len(rows)
    lines = [
        f'<div class="table{" cut" if len(rows) < len(shown.rows) else ""}" role="region" tabindex="0"'
        f' aria-label="{escapeHtml(in_one_line(label))}">',
        "<table>\n<thead>\n<tr>",
        *map(_heading, shown.titles, shown.right),
        "</tr>\n</thead>\n<tbody>",
        *chain.from_iterable(
            (_row_start(rate), *map(_cell, row, shown.right), "</tr>")
            for row, rate in zip(rows, rates, strict=True)
        ),
        "</tbody>\n</table>\n</div>\n",
    ]
    return "\n".join(lines) + _rest(shown)


def _heading(title: str, right: bool) -> str:
    return f'<th scope="col"{_NUMERIC if right else ""}>{escapeHtml(in_one_line(title))}</th>'


def _row_start(rate: float | None) -> str:
    return f'<tr data-samples-per-s="{rate!r}">' if rate else "<tr>"


def _cell(cell: str | None, right: bool) -> str:
    shown = _shown(cell)
    if not right:
        return f"<td{_LONG if len(shown) > LONG_CELL else ''}>{escapeHtml(shown)}</td>"
    value = sort_value(cell)
    attribute = "" if value is None else f' data-value="{value!r}"'
    return f"<td{_NUMERIC}{attribute}>{escapeHtml(shown)}</td>"


def sort_value(cell: str | None) -> float | None:
    """Return the unrounded value, or the leading number of any other text; None without one."""
    if isinstance(cell, FormattedNumber):
        return cell.value
    found = _LEADING_NUMBER.match(cell or "")
    return float(found[0].replace(",", "")) if found else None


def _shown(cell: str | None) -> str:
    return MISSING if cell is None else in_one_line(cell, LONGEST_CELL)


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
