"""Session files and analysis: event schema, journal, state, statistics and reports."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchtui.sessions.state.session import Session


def load(source: str | Path) -> "Session":
    """Load a session from a path or by its name in the library; ``latest`` is the newest.

    Raises BenchtuiError if there is no such session, or it can't be read.
    """
    # imported here because every import of a submodule runs this file, and some have to start fast
    from benchtui.sessions.library import paths
    from benchtui.sessions.state.session import Session

    return Session.load(paths.resolve(str(source)))
