"""JSON for output: unprintable characters are escaped, so that no text in it can control a terminal."""

import json

import msgspec

from benchtui.sessions.sanitize import escape_unprintable


def encode(record: object) -> bytes:
    """Encode a record as JSON, from which readers get exactly the same text back.

    Bytes of a file name that aren't UTF-8 become escapes of the lone surrogates that Python reads them as.
    """
    try:
        text = msgspec.json.encode(record, enc_hook=_plain_text).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(record, enc_hook=_plain_text), separators=(",", ":")).encode()
    return escape_unprintable(text, lambda character: json.dumps(character)[1:-1]).encode()


def document(record: object, indent: int = 2) -> str:
    """Return a record as indented JSON, for a file or a terminal."""
    return msgspec.json.format(encode(record), indent=indent).decode() + "\n"


def _plain_text(value: object) -> str:
    """Return the text of a formatted number. Raises NotImplementedError for what isn't text."""
    if isinstance(value, str):
        return str(value)
    raise NotImplementedError
