"""Output of commands: a document on standard output or in a file, one line of JSON, or labeled lines."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from textwrap import wrap

import click
from rich.cells import cell_len

from benchtui.sessions.files import visible_json
from benchtui.sessions.files.output_file import write_text

GAP = "  "
"""Between two columns."""
WIDTH = 100
LABEL_CELLS = 14
"""Width of what a line is about, with the indent before it."""


def write_document(text: str, output: Path | None, inputs: Collection[Path] = (), *, over: bool = True) -> None:
    """Print a document, or write it to a file, never over ``inputs``. See ``output_file`` for errors."""
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(output, text, inputs, over=over)


def print_json(record: object, *, err: bool = False) -> None:
    """Print a record as one line of JSON."""
    click.echo(visible_json.encode(record).decode(), err=err)


def aligned(about: str, text: str) -> Iterator[str]:
    """Yield a field as a label and its text in a column, wrapped; a headline without a label."""
    head = f"  {about:<{LABEL_CELLS - 2}}" if about else ""
    yield from wrap(
        f"{head}{text}",
        WIDTH,
        subsequent_indent=" " * LABEL_CELLS,
        break_long_words=False,
        break_on_hyphens=False,
    )


def in_columns(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """Yield rows as lines, each column as wide as its widest cell, and aligned ``right`` or left."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        blanks = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = zip(row, blanks, right, strict=True)
        yield GAP.join(blank + cell if numeric else cell + blank for cell, blank, numeric in cells)
