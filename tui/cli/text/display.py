"""Display of reports: rendered on a terminal, as Markdown anywhere else."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from benchtui.tui.cli.options import Command
from benchtui.tui.cli.text.output import write_document

if TYPE_CHECKING:
    from benchtui.sessions.compare.align import SessionComparison
    from benchtui.sessions.report.content import Section
    from benchtui.sessions.state.session import Session

Display = Literal["paged", "unpaged", "source"]
"""Rendered, in a pager if it is long, or without one; or as the Markdown that is rendered."""


def display_options(command: Command) -> Command:
    """Add the options for reports on a terminal."""
    for option in (
        # the page Report of the app renders the source itself
        click.option("--source", is_flag=True, hidden=True),
        click.option("--no-pager", is_flag=True, help="On a terminal: print a long report without a pager."),
        click.option("--plain", is_flag=True, help="On a terminal: print the report as Markdown."),
    ):
        command = option(command)
    return command


def display(form: str, output: Path | None, *, plain: bool, no_pager: bool) -> Display | None:
    """Return how to show a document on standard output; None to write it as it is."""
    if form != "md" or output or plain or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return "unpaged" if no_pager else "paged"


def show_document(document: "Section", of: "Session | SessionComparison", how: Display) -> None:
    """Show a report with its speedups as bars."""
    from benchtui.sessions.report.content import render  # imports what only reports need
    from benchtui.sessions.report.speedup_block import with_speedups

    text = render(with_speedups(document, of))
    if how == "source":
        write_document(text, None)
        return
    from benchtui.tui.cli.text.report import show_report

    show_report(text, paged=how == "paged")
