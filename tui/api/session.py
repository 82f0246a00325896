"""A recorded session in Python: its cases and steps as pandas tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

    from benchtui.sessions.state.session import Session as SessionState


class Session:
    """A recorded session, returned by ``benchtui.load`` and ``benchtui.run``."""

    __slots__ = {"_state": "State that its events add up to.", "path": "Session file."}

    def __init__(self, path: Path, state: SessionState) -> None:
        """Create the session; ``benchtui.load`` does that."""
        self.path = path
        self._state = state

    @property
    def name(self) -> str:
        """Name of the file, without its suffix."""
        return self.path.stem

    @property
    def simulated(self) -> bool:
        """Whether a model computed the session, so that none of it was measured."""
        return self._state.simulated

    def cases(self, *, all: bool = False) -> DataFrame:
        """Return a table with one row per case, indexed by the case's name.

        It has the columns that were measured or differ between cases; with ``all``, every column of
        ``benchtui schema export``. Column names end in their units; unknown values are missing.
        """
        from benchtui.tui.api.frames import case_frame  # imports pandas

        return case_frame(self._state, all_columns=all)

    def steps(self) -> DataFrame:
        """Return a table with one row per recorded step, indexed by the case's name.

        ``phase`` is ``warmup`` or ``measure``. Steps that were later measured again are left out, and
        so are columns without any value.
        """
        from benchtui.tui.api.frames import step_frame  # imports pandas

        return step_frame(self.path, self._state)

    def __repr__(self) -> str:
        """Return name, number of measured cases and outcome in one line."""
        from benchtui.tui.api.display import session_text

        return f"<benchtui.Session {session_text(self.name, self._state)}>"

    def _repr_html_(self) -> str:
        from benchtui.tui.api.display import session_html

        return session_html(self.name, self._state)


def load(session: str | Path) -> Session:
    """Load a session: a file, a name in the library, ``latest``, or ``demo``.

    Raises BenchtuiError if there is no such session, or it can't be read.
    """
    from benchtui.sessions.library import paths  # imports msgspec
    from benchtui.sessions.state.session import Session as SessionState

    path = paths.resolve(str(session))
    return Session(path, SessionState.load(path))
