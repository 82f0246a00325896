"""Failures within a measured case: runs or requests that a source counts, but whose times are in no figure."""

import re

from benchtui.sessions.state.case import CaseState

_MARK = re.compile(r"[\d,]+ of [\d,]+ (?:runs|requests|rounds) failed")
"""Mark of older sessions, which recorded nothing else."""


def failures(case: CaseState) -> str | None:
    """Return the mark that says how much of a case failed; None if nothing did.

    Such a case is never recommended: it may be fast because it did less.
    """
    if case.finished and case.finished.failures:
        return case.finished.failures.mark
    return next((mark for mark in case.marks if _MARK.fullmatch(mark)), None)
