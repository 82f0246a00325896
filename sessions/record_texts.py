"""Texts of a record: one walk that replaces them, for events, sweeps and payloads alike."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")
Replace = Callable[[str, str], str]
"""Takes the name of a field, or of an entry in a table, and its text; returns the text to record."""


def replace_texts(record: T, replace: Replace, name: str = "") -> T:
    """Return a record with its texts replaced; the same record if that changes nothing.

    The name of a text in a list is that of the list. Tags, field names and names of entries stay.
    """
    changed: object = record
    if isinstance(record, str):
        changed = replace(name, record)
    elif isinstance(record, msgspec.Struct):
        values = {field: getattr(record, field) for field in record.__struct_fields__}
        others = _changed(values, replace)
        changed = msgspec.structs.replace(record, **others) if others else record
    elif isinstance(record, dict):
        others = _changed(record, replace)
        changed = record | others if others else record
    elif isinstance(record, tuple):
        items = tuple(replace_texts(item, replace, name) for item in record)
        changed = items if any(new is not old for new, old in zip(items, record, strict=True)) else record
    elif isinstance(record, list) and any(isinstance(item, str) for item in record):
        changed = [replace_texts(item, replace, name) for item in record]
    return changed  # type: ignore[return-value]


def _changed(values: dict[str, object], replace: Replace) -> dict[str, object]:
    pairs = ((name, value, replace_texts(value, replace, name)) for name, value in values.items())
    return {name: new for name, value, new in pairs if new is not value}
