"""A session file as its first line and its end describe it."""

from pathlib import Path

import msgspec

from benchtui.sessions.events import SessionStarted


class SessionFile(msgspec.Struct, frozen=True):
    """Session, described by the first line and the end of its file."""

    path: Path
    started: SessionStarted
    finished: bool
    """Whether the record is complete; False while an engine is running."""
