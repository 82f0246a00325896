"""Tables of the report: columns declared once, cells as text, columns without data left out."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchtui.sessions.report.text import LONGEST_CELL, MISSING, Markdown, plain

T = TypeVar("T")


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
    import pandas  # half a second that only an export pays

    rows = [[MISSING if cell is None else plain(cell, LONGEST_CELL) for cell in row] for row in shown.rows]
    frame = pandas.DataFrame(rows, columns=[plain(title) for title in shown.titles], dtype=object)
    align = tuple("right" if right else "left" for right in shown.right)
    return Markdown(frame.to_markdown(index=False, tablefmt="pipe", colalign=align, disable_numparse=True))
