"""Session writer: the journal combined with the session clock."""

import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

from benchtui.engine.supervisor.text_limits import cut_long_texts, mask_secrets
from benchtui.sessions.events import AnyEvent, Level, Message, Telemetry
from benchtui.sessions.journal.backup import FileDamage
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep_secrets import Secrets


class RecordError(OSError):
    """The session file can no longer be written. Unlike other OS errors, this always ends the sweep."""


class SessionLog:
    """Writes events to the session file; thread-safe."""

    def __init__(
        self,
        journal: Journal,
        at_s: float = 0.0,
        engine_log: Path | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        """Start a session, or resume one at the given session time in seconds.

        ``engine_log`` is the file that receives this process's standard error, ``secrets`` what is masked in
        addition to everything that looks like a secret.
        """
        self.engine_log_needed = False
        """Whether the session file refers to text in the engine's log."""
        self._engine_log = engine_log
        self._secrets = secrets or Secrets()
        self.zero_s = monotonic() - at_s
        """Monotonic clock at the start of the session, as if it had never been interrupted."""
        self.follower: Session | None = None
        """State that every event except telemetry is applied to once it is written."""
        self._journal = journal

    @property
    def path(self) -> Path:
        """The session file."""
        return self._journal.path

    def now_s(self) -> float:
        """Return the session time in seconds."""
        return round(monotonic() - self.zero_s, 6)

    def write(self, event: AnyEvent) -> None:
        """Append an event with secrets masked and long texts truncated.

        Raises:
            RecordError: if the disk is full or gone.
        """
        try:
            safe = cut_long_texts(mask_secrets(event, self._secrets), self._log_in_full)
            self._journal.append(safe, self._damage_message)
            if self.follower and not isinstance(safe, Telemetry):
                self.follower.apply(safe)
        except OSError as error:
            raise RecordError(error.errno, error.strerror, error.filename) from error

    def _damage_message(self, damage: FileDamage) -> Message:
        text = f"{damage.path}: {damage.what} during the sweep; the whole session continues in {damage.saved}"
        return Message(t=self.now_s(), level="error", text=text)

    def write_message(self, text: str, level: Level = "info") -> None:
        """Append a message for the reader."""
        self.write(Message(t=self.now_s(), level=level, text=text))

    def _log_in_full(self, text: str) -> str:
        """Write a text to the engine's log, and return a note with the location.

        Each line gets a prefix, so that it isn't mistaken for a line of the engine itself.
        """
        self.engine_log_needed = True
        with suppress(OSError):  # its disk may be full while the session's isn't
            sys.stderr.write("".join(f"| {line}\n" for line in text.splitlines()))
            sys.stderr.flush()
        return f"see the engine's log{f', {self._engine_log}' if self._engine_log else ''}"

    def close(self) -> None:
        """Close the session file."""
        self._journal.close()
