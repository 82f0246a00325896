"""Exit statuses, and the error line printed before exiting."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

from benchtui.tui.cli.options import printable

if TYPE_CHECKING:
    from benchtui.sessions.state.session import Session

USAGE, CASE_FAILED, INTERRUPTED = 2, 1, 130


def exit_status_of(session: "Session") -> int:
    """Return the exit status of a sweep. Out-of-memory and skipped cases are results, not failures."""
    states = {case.state for case in session.cases}
    if session.finished and session.finished.outcome == "interrupted":
        return INTERRUPTED
    measured = session.finished and "ok" in states and states <= {"ok", "oom", "skipped"}
    return 0 if measured else CASE_FAILED


def fail(text: str, status: int) -> NoReturn:
    """Print a one-line error and exit."""
    with suppress(OSError):  # stderr may be on a full disk, too
        click.echo(f"benchtui: {printable(text)}", err=True)
    sys.exit(status)
