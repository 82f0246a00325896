"""Session writer: the journal combined with the session clock.

In third-party text, secrets are masked, and longer text is truncated and logged in full.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TypeVar

from benchtui.sessions.events import AnyEvent, CaseStarted, Level, Message, SessionStarted, Steps, Telemetry
from benchtui.sessions.journal.backup import FileDamage
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.record_texts import replace_texts
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep_secrets import Secrets

MAX_TEXT_BYTES = 4096
"""Maximum size of a text in the session file in UTF-8 bytes, without the note about truncation."""
_OURS = SessionStarted | CaseStarted | Steps | Telemetry
"""Events that stay as they are: the sweep, whose secrets are masked before, and readings. Any other may have
text from models, libraries and user code."""

E = TypeVar("E", bound=AnyEvent)


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

        Raises RecordError if the disk is full or gone.
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


def mask_secrets(event: E, secrets: Secrets) -> E:
    """Mask secrets in an event. Call it before texts are truncated, since half a secret isn't recognized."""
    return event if isinstance(event, _OURS) else replace_texts(event, secrets.cleaned)


def cut_long_texts(event: E, log: Callable[[str], str]) -> E:
    """Truncate long texts in an event. ``log`` receives the full text and returns a note with its location."""
    if isinstance(event, _OURS):
        return event
    return replace_texts(event, lambda _, text: _cut(text, log(text)) if _is_long(text) else _writable(text))


def _writable(text: str) -> str:
    """Return the same text, or a copy without bytes of a file name that aren't UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_long(text: str) -> bool:
    return len(text) > MAX_TEXT_BYTES // 4 and len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES


def _cut(text: str, where: str) -> str:
    whole = text.encode("utf-8", "replace")
    kept = whole[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return f"{kept}… ({len(whole) / 1000:,.0f} kB in total, {where})"
