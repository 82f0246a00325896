"""Exit statuses, and the error line printed before exiting."""

import sys
from typing import TYPE_CHECKING, NoReturn

from benchtui.tui.cli.options import echo

if TYPE_CHECKING:
    from benchtui.sessions.state.case import CaseState
    from benchtui.sessions.state.session import Session

DONE, FAILED, USAGE, DEVICE_MISSING, INTERRUPTED = 0, 1, 2, 3, 130
APP_FAILED = 3
"""Status of the app. Only ``run`` has ``DEVICE_MISSING``, and it shows no app."""
STATUSES = {
    DONE: "done, and the answer isn't negative; out of memory and skipped are results",
    FAILED: "the answer is negative: a case failed or none was measured, a gate fails, no case meets the"
    " constraints, no sweep would decide what is open, something on this machine is broken",
    USAGE: "invalid usage or input, or a file that can't be read or written; one line says what, where and what"
    " is allowed",
    DEVICE_MISSING: "`run --strict`: a case was skipped because its device is missing; commands that open the"
    " app: the app failed, and its last line says whether a sweep is still running and how to attach",
    INTERRUPTED: "interrupted by Ctrl-C, SIGTERM or `benchtui stop`, or a question was answered with no",
}
"""Meaning of every exit status; `docs/programs.md` shows this table."""


def exit_status_of(session: "Session", *, strict: bool = False) -> int:
    """Return the exit status of a sweep. Out-of-memory and skipped cases are results, not failures.

    With ``strict``, a case skipped because its device is missing isn't accepted as a result.
    """
    states = {case.state for case in session.cases}
    if session.finished and session.finished.outcome == "interrupted":
        return INTERRUPTED
    measured = session.finished and "ok" in states and states <= {"ok", "oom", "skipped"}
    if strict and any(_lacked_device(case) for case in session.cases):
        return DEVICE_MISSING if measured or states <= {"skipped", "oom"} else FAILED
    return DONE if measured else FAILED


def _lacked_device(case: "CaseState") -> bool:
    from benchtui.sessions.sweep.plan import lacked_device  # imported late to keep start-up fast

    reason = case.finished.reason if case.finished else None
    return case.state == "skipped" and lacked_device(case.config, reason or "")


def fail(text: str, status: int) -> NoReturn:
    """Print a one-line error and exit."""
    from benchtui.sessions.secrets import masked  # not needed for --help

    echo(f"benchtui: {masked(text)}", err=True)
    sys.exit(status)
