"""Length limits for third-party text in the session file. Longer text is truncated and logged in full."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from benchtui.sessions.events import (
    Answered,
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    Explained,
    Message,
    NodeLost,
    RoundFinished,
    Runtime,
    SessionFinished,
)

MAX_TEXT_BYTES = 4096
"""Maximum size of a text in the session file in UTF-8 bytes, without the note about truncation."""
_WITH_FOREIGN_TEXT = (
    Runtime
    | CasePrepared
    | RoundFinished
    | CaseRepeated
    | Answered
    | Explained
    | CaseFinished
    | Message
    | NodeLost
    | SessionFinished
)
"""Events with text from models, libraries and user code."""

T = TypeVar("T")
Cut = Callable[[str], str]
"""Returns the replacement for a text that is too long."""


def cut_long_texts(event: AnyEvent, log: Callable[[str], str]) -> AnyEvent:
    """Truncate long texts in an event. ``log`` receives the full text and returns a note with its location."""
    if not isinstance(event, _WITH_FOREIGN_TEXT):
        return event
    return _bounded(event, lambda text: _cut(text, log(text)))


def _bounded(value: T, cut: Cut) -> T:
    """Return the same value, or a copy with its long texts truncated."""
    found: object = value
    if isinstance(value, str):
        found = cut(value) if _is_long(value) else _writable(value)
    elif isinstance(value, msgspec.Struct):
        changed = _changed({name: getattr(value, name) for name in value.__struct_fields__}, cut)
        found = msgspec.structs.replace(value, **changed) if changed else value
    elif isinstance(value, dict):
        changed = _changed(value, cut)
        found = value | changed if changed else value
    elif isinstance(value, tuple):
        changed = _changed(dict(enumerate(value)), cut)
        found = tuple(changed.get(place, each) for place, each in enumerate(value)) if changed else value
    return found  # type: ignore[return-value]


def _changed(values: dict[Any, Any], cut: Cut) -> dict[Any, Any]:
    """Return the copies of those values that contain long texts."""
    bounded = {key: _bounded(each, cut) for key, each in values.items()}
    return {key: each for key, each in bounded.items() if each is not values[key]}


def _writable(text: str) -> str:
    """Return the same text, or a copy without bytes of a file name that aren't UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_long(text: str) -> bool:
    return len(text) > MAX_TEXT_BYTES // 4 and len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES


def _cut(text: str, where: str) -> str:
    whole = text.encode("utf-8", "replace")
    kept = whole[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return f"{kept}… ({len(whole) / 1000:,.0f} kB in total, {where})"
