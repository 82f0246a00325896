"""Display of reports: rendered on a terminal, as Markdown anywhere else."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from benchtui.tui.cli.options import together
from benchtui.tui.cli.text.output import print_json

if TYPE_CHECKING:
    from benchtui.sessions.compare.align import SessionComparison
    from benchtui.sessions.report.content import Section
    from benchtui.sessions.state.session import Session

Display = Literal["paged", "unpaged", "source"]
"""Rendered, in a pager if it is long, or without one; or as the content that is rendered, in JSON."""


display_options = together(
    click.option("--plain", is_flag=True, help="On a terminal: print what a pipe gets."),
    click.option("--no-pager", is_flag=True, help="On a terminal: print a long report without a pager."),
    # the page Report of the app renders the content itself
    click.option("--source", is_flag=True, hidden=True),
)
"""Options for reports on a terminal."""


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
