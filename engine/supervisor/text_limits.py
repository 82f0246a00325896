"""Third-party text in the session file: secrets are masked, and longer text is truncated and logged in full."""

from collections.abc import Callable
from typing import TypeVar

from benchtui.sessions.events import AnyEvent, CaseStarted, SessionStarted, Steps, Telemetry
from benchtui.sessions.record_texts import replace_texts
from benchtui.sessions.sweep_secrets import Secrets

MAX_TEXT_BYTES = 4096
"""Maximum size of a text in the session file in UTF-8 bytes, without the note about truncation."""
_OURS = SessionStarted | CaseStarted | Steps | Telemetry
"""Events that stay as they are: the sweep, whose secrets are masked before, and readings. Any other may have
text from models, libraries and user code."""

E = TypeVar("E", bound=AnyEvent)


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
