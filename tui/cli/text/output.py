"""Output of commands: documents, reports on a terminal, one line of JSON, or labeled lines."""

import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import click
from rich.cells import cell_len

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files import visible_json
from benchtui.sessions.files.output_file import write_text
from benchtui.tui.cli.options import together

if TYPE_CHECKING:
    from benchtui.sessions.compare.align import SessionComparison
    from benchtui.sessions.report.content import Section
    from benchtui.sessions.state.session import Session

GAP = "  "
"""Between two columns."""
WIDTH = 100
LABEL_CELLS = 14
"""Width of what a line is about, with the indent before it."""


Display = Literal["paged", "unpaged", "source"]
"""Rendered, in a pager if it is long, or without one; or as the content that is rendered, in JSON."""


display_options = together(
    click.option("--plain", is_flag=True, help="On a terminal: print what a pipe gets."),
    click.option("--no-pager", is_flag=True, help="On a terminal: print a long report without a pager."),
    # the page Report of the app renders the content itself
    click.option("--source", is_flag=True, hidden=True),
)
"""Options for reports on a terminal."""


_ENDINGS = {"htm": "html", "markdown": "md", "xml": "junit", "txt": ""}


def form_of(form: str | None, output: Path | None, forms: Sequence[str], usual: str) -> str:
    """Return the given format, or else the one that the ending of the file names. Raises BenchtuiError."""
    ending = Path(output.name.removesuffix(".gz")).suffix[1:].lower() if output else ""
    named = form or _ENDINGS.get(ending, ending) or usual
    if named not in forms:
        raise BenchtuiError(f"{output}: no format ends in .{ending}; --format names one: {', '.join(forms)}")
    return named


def write_document(text: str, output: Path | None, inputs: Collection[Path] = (), *, over: bool = True) -> None:
    """Print a document, or write it to a file, never over ``inputs``. See ``output_file`` for errors."""
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(output, text, inputs, over=over)


def print_json(record: object) -> None:
    """Print a record as one line of JSON."""
    click.echo(visible_json.encode(record).decode())


def in_columns(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """Yield rows as lines, each column as wide as its widest cell, and aligned ``right`` or left."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        blanks = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = zip(row, blanks, right, strict=True)
        yield GAP.join(blank + cell if numeric else cell + blank for cell, blank, numeric in cells)


def aligned(about: str, text: str) -> Iterator[str]:
    """Yield a field as a label and its text in a column, wrapped; a headline without a label.

    A number stays on the line of its unit.
    """
    head = f"  {about:<{LABEL_CELLS - 2}}" if about else ""
    lines = wrap(
        head + re.sub(r"(?<=\d) (?=[a-zA-Zµ%×])", "\N{NO-BREAK SPACE}", text),
        WIDTH,
        subsequent_indent=" " * LABEL_CELLS,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from (line.replace("\N{NO-BREAK SPACE}", " ") for line in lines)


def display(form: str, output: Path | None, *, plain: bool, no_pager: bool) -> Display | None:
    """Return how to show a document on standard output; None to write it as it is."""
    if (
        form not in ("md", "text")
        or output
        or plain
        or not sys.stdout.isatty()
        or os.environ.get("TERM") == "dumb"
    ):
        return None
    return "unpaged" if no_pager else "paged"


def show_document(document: "Section", of: "Session | SessionComparison", how: Display) -> None:
    """Show a report with its speedups as bars."""
    from benchtui.sessions.report.speedup_block import with_speedups  # imports what only reports need

    whole = with_speedups(document, of)
    if how == "source":
        print_json(whole)
        return
    from benchtui.tui.cli.text.report import show_report

    show_report(whole, paged=how == "paged")
