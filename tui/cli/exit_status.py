"""Exit statuses, and the line with which a command ends."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

from benchtui.tui.cli.options import printable

if TYPE_CHECKING:
    from benchtui.sessions.state.session import Session

USAGE, CASE_FAILED, INTERRUPTED = 2, 1, 130


def of_session(session: "Session") -> int:
    """The exit status of a sweep: a recorded out-of-memory or a skipped case is a result, and no failure."""
    states = {case.state for case in session.cases}
    if session.finished and session.finished.outcome == "interrupted":
        return INTERRUPTED
    measured = session.finished and "ok" in states and states <= {"ok", "oom", "skipped"}
    return 0 if measured else CASE_FAILED


def fail(text: str, status: int) -> NoReturn:
    """Print an error as one line and end the process."""
    with suppress(OSError):  # standard error may be on a full disk too
        click.echo(f"benchtui: {printable(text)}", err=True)
    sys.exit(status)
