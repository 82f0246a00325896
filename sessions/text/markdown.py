"""Escaping of session text for Markdown and HTML."""

import re

from benchtui.sessions.sanitize import visible

MISSING = "–"
LONGEST = 2_000
LONGEST_CELL = 300
"""Maximum characters shown in a paragraph and in a table cell; longer text ends in an ellipsis."""
_SPECIAL = re.compile(r"[\\`*\[\]{}|~$#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_LINE_START = re.compile(r"^(\d{0,9})([-+=.)])(?=[\s=-]|$)")
_HARMLESS = re.compile(r"[A-Za-z][A-Za-z0-9 =,/()-]*(?<! )|[-+]?\d[\d,]*(?:\.\d+)?", re.ASCII)
"""Matches most cells: words and numbers that need no escaping."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Markdown(str):
    """Text that is already Markdown and passes through the template unchanged."""

    __slots__ = ()


def plain(text: object, longest: int = LONGEST) -> Markdown:
    """Escape text so that Markdown renders it literally, on one line. Markdown itself passes unchanged.

    Nothing in it can begin a table cell, a link, a tag, an entity, emphasis, code, a formula, a list or a
    heading. Invisible and unprintable characters are replaced.
    """
    if isinstance(text, Markdown):
        return text
    if isinstance(text, str) and len(text) <= longest and _HARMLESS.fullmatch(text):
        return Markdown(text)
    escaped = _SPECIAL.sub(r"\\\g<0>", in_one_line(text, longest))
    escaped = "".join(_ENTITIES.get(character, character) for character in escaped)
    return Markdown(_LINE_START.sub(r"\1\\\2", escaped))


def in_one_line(text: object, longest: int = LONGEST) -> str:
    """Return the text on one line, with invisible and unprintable characters replaced."""
    if isinstance(text, str) and len(text) <= longest and text.isascii() and text.isprintable():
        return text.strip()
    return visible(_shortened(str(text), longest))


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
