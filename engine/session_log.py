"""The session's record as the engine writes it: the journal with the session's clock."""

from time import monotonic

from benchtui.sessions.events import AnyEvent, Level, Message
from benchtui.sessions.journal import Journal


class RecordError(OSError):
    """The session file can't be written any further, and the sweep ends; other errors of the system don't."""


class SessionLog:
    """Writes events; safe to call from several threads."""

    def __init__(self, journal: Journal, at_s: float = 0.0) -> None:
        """Begin a session, or go on with one at a moment of its time."""
        self.zero_s = monotonic() - at_s
        """Monotonic clock at the session's start, as if it had never paused."""
        self._journal = journal

    def now_s(self) -> float:
        """Session time."""
        return round(monotonic() - self.zero_s, 6)

    def write(self, event: AnyEvent) -> None:
        """Append an event; raises RecordError where the disk is full or gone."""
        try:
            self._journal.append(event)
        except OSError as error:
            raise RecordError(error.errno, error.strerror, error.filename) from error

    def tell(self, text: str, level: Level = "info") -> None:
        """Append a line for the reader."""
        self.write(Message(t=self.now_s(), level=level, text=text))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
