"""The session's record as the engine writes it: the journal with the session's clock."""

from pathlib import Path
from time import monotonic

from benchtui.sessions.events import AnyEvent, Level, Message
from benchtui.sessions.journal import Journal


class SessionLog:
    """Writes events; safe to call from several threads."""

    def __init__(self, path: Path) -> None:
        """Create the file; raises BenchtuiError where it exists or can't be made."""
        self.zero_s = monotonic()
        """Monotonic clock at the session's start."""
        self._journal = Journal(path)

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
