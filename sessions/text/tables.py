"""Report tables: columns declared once, cells as text, empty columns left out."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Generic, TypeVar

import msgspec
from markdown_it.common.utils import escapeHtml
from msgspec.structs import replace

from benchtui.sessions.sweep import Task
from benchtui.sessions.text.formatting import FormattedNumber, capitalized
from benchtui.sessions.text.markdown import LONGEST_CELL, MISSING, Markdown, in_one_line, plain

T = TypeVar("T")

Row = tuple[str | None, ...]
"""Cells of a row. None is a cell without data."""
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


def markdown(shown: Table) -> Markdown:
    """Render the table as GitHub Markdown, with every cell escaped."""
    import pandas  # takes 0.5 s, which only exports need to spend

    rows = [[MISSING if cell is None else plain(cell, LONGEST_CELL) for cell in row] for row in shown.rows]
    frame = pandas.DataFrame(rows, columns=[plain(title) for title in shown.titles], dtype=object)
    align = tuple("right" if right else "left" for right in shown.right)
    return Markdown(frame.to_markdown(index=False, tablefmt="pipe", colalign=align, disable_numparse=True))


def html(shown: Table, label: str) -> str:
    """Render the table in a scrollable box.

    ``label`` names the box for screen readers. Data attributes contain the unrounded value of each number and
    the throughput of each row.
    """
    rates = shown.samples_per_s or [None] * len(shown.rows)
    lines = [
        f'<div class="table" role="region" tabindex="0" aria-label="{escapeHtml(in_one_line(label))}">',
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
    return f'<th scope="col"{_NUMERIC if right else ""}>{escapeHtml(in_one_line(title))}</th>'


def _row_start(rate: float | None) -> str:
    return f'<tr data-samples-per-s="{rate!r}">' if rate else "<tr>"


def _first(cell: str | None, right: bool) -> str:
    """Render the first cell of a row. Words name the row for screen readers."""
    rendered = _cell(cell, right)
    return rendered if right else f'<th scope="row"{rendered[3:-5]}</th>'


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
    match = _LEADING_NUMBER.match(cell or "")
    return float(match[0].replace(",", "")) if match else None


def _shown(cell: str | None) -> str:
    return MISSING if cell is None else in_one_line(cell, LONGEST_CELL)
