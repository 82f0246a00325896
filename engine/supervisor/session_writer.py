"""The session's record as the engine writes it: the journal with the session's clock."""

import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

from benchtui.engine.text_limits import bounded
from benchtui.sessions.events import AnyEvent, Level, Message
from benchtui.sessions.journal.writer import Journal


class RecordError(OSError):
    """The session file can't be written any further, and the sweep ends; other errors of the system don't."""


class SessionLog:
    """Writes events; safe to call from several threads."""

    def __init__(self, journal: Journal, at_s: float = 0.0, engine_log: Path | None = None) -> None:
        """Begin a session, or resume one at the given session time.

        ``engine_log`` is where this process's standard error goes.
        """
        self.engine_log_needed = False
        """Whether standard error holds what the record points at."""
        self._engine_log = engine_log
        self.zero_s = monotonic() - at_s
        """Monotonic clock at the session's start, as if it had never paused."""
        self._journal = journal

    @property
    def path(self) -> Path:
        """The session file."""
        return self._journal.path

    def now_s(self) -> float:
        """Session time."""
        return round(monotonic() - self.zero_s, 6)

    def write(self, event: AnyEvent) -> None:
        """Append an event, long texts cut; raises RecordError where the disk is full or gone."""
        try:
            if harm := self._journal.save_from_harm():  # told before the event, which may be the last
                said = (
                    f"{harm.path}: {harm.what} while the sweep runs; the whole session goes on in {harm.saved}"
                )
                self._journal.append(Message(t=self.now_s(), level="error", text=said))
            self._journal.append(bounded(event, self._put_aside))
        except OSError as error:
            raise RecordError(error.errno, error.strerror, error.filename) from error

    def tell(self, text: str, level: Level = "info") -> None:
        """Append a line for the reader."""
        self.write(Message(t=self.now_s(), level=level, text=text))

    def _put_aside(self, text: str) -> str:
        """Write a text to the engine's log, with lines that none of its own is mistaken for."""
        self.engine_log_needed = True
        with suppress(OSError):  # its disk may be full, and the session's may not
            sys.stderr.write("".join(f"| {line}\n" for line in text.splitlines()))
            sys.stderr.flush()
        return f"the rest is in the engine's log{f', {self._engine_log}' if self._engine_log else ''}"

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
