"""Output of commands: a document on standard output or in a file, or one line of JSON."""

from collections.abc import Collection
from pathlib import Path

import click

from benchtui.sessions.files import visible_json
from benchtui.sessions.files.output_file import write_text


def write_document(text: str, output: Path | None, inputs: Collection[Path] = (), *, over: bool = True) -> None:
    """Print a document, or write it to a file, never over ``inputs``. See ``output_file`` for errors."""
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(output, text, inputs, over=over)


def print_json(record: object, *, err: bool = False) -> None:
    """Print a record as one line of JSON."""
    click.echo(visible_json.encode(record).decode(), err=err)
