"""Text of sessions made harmless in markdown and HTML."""

import re

from benchtui.sessions.sanitize import visible

MISSING = "–"
LONGEST = 2_000
LONGEST_CELL = 300
"""Characters shown of a text, in a paragraph and in a table; a longer one ends in an ellipsis."""
_SPECIAL = re.compile(r"[\\`*\[\]{}|~$#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_LINE_START = re.compile(r"^(\d{0,9})([-+=.)])(?=[\s=-]|$)")
_HARMLESS = re.compile(r"[A-Za-z][A-Za-z0-9 =,/()-]*(?<! )|[-+]?\d[\d,]*(?:\.\d+)?", re.ASCII)
"""Most cells: words and numbers in which nothing below has anything to do."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Markdown(str):
    """Text that is markdown already, and passes the template as it is."""

    __slots__ = ()


def plain(text: object, longest: int = LONGEST) -> Markdown:
    """The text as markdown that renders as this very text, in one line; markdown itself passes unchanged.

    Nothing in it can begin a table cell, a link, a tag, an entity, emphasis, code, a formula, a list or a
    heading; what can't be seen or printed is replaced.
    """
    if isinstance(text, Markdown):
        return text
    if isinstance(text, str) and len(text) <= longest and _HARMLESS.fullmatch(text):
        return Markdown(text)
    escaped = _SPECIAL.sub(r"\\\g<0>", in_one_line(text, longest))
    escaped = "".join(_ENTITIES.get(character, character) for character in escaped)
    return Markdown(_LINE_START.sub(r"\1\\\2", escaped))


def in_one_line(text: object, longest: int = LONGEST) -> str:
    """The text as a reader sees it: in one line, with nothing in it that can't be seen."""
    if isinstance(text, str) and len(text) <= longest and text.isascii() and text.isprintable():
        return text.strip()
    return visible(_shortened(str(text), longest))


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
