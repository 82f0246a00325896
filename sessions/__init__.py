"""The record: its vocabulary, its file, and what it means."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchtui.sessions.state.session import Session


def load(source: str | Path) -> "Session":
    """The session in a file, or of that name in the library; ``latest`` is the newest.

    Raises:
        BenchtuiError: where there is none, or it can't be read.
    """
    # here, since every module of this package runs the lines above, those that have to be quick included
    from benchtui.sessions.library import paths
    from benchtui.sessions.state.session import Session

    return Session.load(paths.resolve(str(source)))
