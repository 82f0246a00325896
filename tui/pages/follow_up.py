"""Follow-ups of a session that is over: continue it, or measure what it leaves open."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import Consent
from benchtui.sessions.state.session import Session
from benchtui.tui.shell.context import AppContext

if TYPE_CHECKING:
    from benchtui.sessions.advice.open_questions import OpenQuestion

StartEngine = Callable[[AppContext, Consent], Engine]


def continued(path: Path) -> StartEngine:
    """Return the function that resumes a session."""
    return lambda context, consent: context.resume(path, consent)


def follow_up(session: Session, questions: "Sequence[OpenQuestion]") -> StartEngine:
    """Return the function that starts the sweep that decides the questions."""

    def start(context: AppContext, consent: Consent) -> Engine:
        from benchtui.sessions.advice.deciding_sweep import deciding_sweep  # not needed for the first paint

        sweep = deciding_sweep(session, questions)
        if sweep is None:
            raise BenchtuiError("no measurement would decide what is open")
        return context.start(sweep, consent)

    return start
