"""Follow-ups of a session that is over: continue it, or measure what it leaves open and append that."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import Consent
from benchtui.sessions.state.session import Session
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import StartEngine

if TYPE_CHECKING:
    from benchtui.sessions.advice.open_questions import OpenQuestion

POLL_S = 0.5
"""Seconds between two checks whether an engine has ended."""


def continued(path: Path) -> StartEngine:
    """Return the function that resumes a session."""
    return lambda context, consent, wait: context.resume(path, consent, wait)


def follow_up(path: Path, session: Session, questions: "Sequence[OpenQuestion]") -> StartEngine:
    """Return the function that starts the missing rounds that decide a session's questions."""

    def start(context: AppContext, consent: Consent, wait: bool) -> Engine:
        # not needed for the first paint
        from benchtui.sessions.advice.deciding_sweep import deciding_sweep, further_rounds
        from benchtui.sessions.compare.joined import require_joinable

        sweep = deciding_sweep(session, questions)
        if sweep is None:
            raise BenchtuiError("no measurement would decide what is open")
        require_joinable(path, session, sweep)
        return context.start(further_rounds(session, sweep), consent, wait)

    return start


async def join_at_end(engine: Engine, into: Path) -> bool:
    """Wait until a follow-up has ended, and append it to the session that it was for.

    Return False if it measured nothing. Raises BenchtuiError if it can't be joined; both files are kept then.
    """
    while engine.alive():
        await asyncio.sleep(POLL_S)
    return await asyncio.to_thread(_join, engine.path, into)


def _join(path: Path, into: Path) -> bool:
    from benchtui.sessions.compare.joined import join_follow_up  # not needed for the first paint

    return join_follow_up(into, path, Session.load(path))
