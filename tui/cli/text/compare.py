"""Comparison as plain text: the main sections of the report in aligned columns."""

from collections.abc import Iterator
from textwrap import wrap

from benchtui.sessions.compare.align import SessionComparison
from benchtui.sessions.report.compare import report
from benchtui.sessions.report.compare_columns import short_columns
from benchtui.sessions.report.content import Items, Section
from benchtui.sessions.text.markdown import MISSING
from benchtui.sessions.text.tables import Table
from benchtui.tui.cli.text.output import in_columns
from benchtui.tui.drawing.format import clean

SHOWN = ("Decision", "Cases", "What differs", "Caveats")
"""Sections of the report that the text contains."""
WIDTH = 120


def main_sections(compared: SessionComparison) -> Section:
    """Return the sum of a comparison, its cases, what differs between the sessions, and the caveats."""
    whole = report(compared, short_columns)
    parts = (part for part in whole.content if not isinstance(part, Section) or part.title in SHOWN)
    return Section(whole.title, tuple(parts))


def comparison_text(compared: SessionComparison) -> str:
    """Return the main sections of a comparison as text for a pipe or a file."""
    return "\n".join(clean(line).rstrip() for line in _lines(main_sections(compared))) + "\n"


def _lines(shown: Section) -> Iterator[str]:
    for part in shown.content:
        match part:
            case Section():
                yield from ("", f"{part.title}:", *_lines(part))
            case Items():
                for subject, text in part.items:
                    yield from wrap(f"{subject}: {text}" if subject else text, WIDTH, subsequent_indent="  ")
            case Table():
                yield from table_lines(part)
            case str():
                yield from wrap(part, WIDTH)


def table_lines(table: Table) -> Iterator[str]:
    """Yield a table's rows in columns, indented."""
    rows = [table.titles, *([clean(cell or MISSING) for cell in row] for row in table.rows)]
    yield from (f"  {drawn}" for drawn in in_columns(rows, table.right))
