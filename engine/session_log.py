"""The session's record as the engine writes it: the journal with the session's clock."""

from time import monotonic

from benchtui.sessions.events import AnyEvent, Level, Message
from benchtui.sessions.journal import Journal


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
        """Append an event; raises OSError where the disk is full or gone."""
        self._journal.append(event)

    def tell(self, text: str, level: Level = "info") -> None:
        """Append a line for the reader."""
        self.write(Message(t=self.now_s(), level=level, text=text))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
