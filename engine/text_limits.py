"""What text of others the record takes: what is longer is cut, and goes to the engine's log whole."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    Message,
    NodeLost,
    RoundFinished,
    Runtime,
    SessionFinished,
)

LONGEST_BYTES = 4096
"""Of a text in the record, in UTF-8, a note that it was cut left out."""
_OF_OTHERS = (
    Runtime | CasePrepared | RoundFinished | CaseRepeated | CaseFinished | Message | NodeLost | SessionFinished
)
"""Events whose texts come from models, libraries and the user's code."""

T = TypeVar("T")
Cut = Callable[[str], str]
"""Returns the replacement for a text that is too long."""


def bounded(event: AnyEvent, log: Callable[[str], str]) -> AnyEvent:
    """An event with its long texts cut; ``log`` takes the whole ones, and says where they are."""
    return _bounded(event, lambda text: _cut(text, log(text))) if isinstance(event, _OF_OTHERS) else event


def _bounded(value: T, cut: Cut) -> T:
    """The same value, or one with texts that were cut."""
    found: object = value
    if isinstance(value, str):
        found = cut(value) if _is_long(value) else _writable(value)
    elif isinstance(value, msgspec.Struct):
        old = {name: getattr(value, name) for name in value.__struct_fields__}
        new = {name: _bounded(each, cut) for name, each in old.items()}
        changed = {name: each for name, each in new.items() if each is not old[name]}
        found = msgspec.structs.replace(value, **changed) if changed else value
    elif isinstance(value, dict):
        entries = {name: _bounded(each, cut) for name, each in value.items()}
        found = entries if any(entries[name] is not value[name] for name in value) else value
    elif isinstance(value, tuple):
        items = tuple(_bounded(each, cut) for each in value)
        found = items if any(new is not each for new, each in zip(items, value, strict=True)) else value
    return found  # type: ignore[return-value]


def _writable(text: str) -> str:
    """The same text, or one without the bytes of a file's name that are no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_long(text: str) -> bool:
    return len(text) > LONGEST_BYTES // 4 and len(text.encode("utf-8", "replace")) > LONGEST_BYTES


def _cut(text: str, where: str) -> str:
    whole = text.encode("utf-8", "replace")
    kept = whole[:LONGEST_BYTES].decode("utf-8", "ignore")
    return f"{kept}… ({len(whole) / 1000:,.0f} kB in all, {where})"
