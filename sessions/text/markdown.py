"""Escaping of session text for Markdown and HTML."""

import re

from benchtui.sessions.sanitize import visible

MISSING = "–"
LONGEST = 2_000
LONGEST_CELL = 300
"""Maximum characters shown in a paragraph and in a table cell; longer text ends in an ellipsis."""
LONGEST_LINE = 159
"""Maximum length of a line, as far as words and columns allow."""
_UNBROKEN = ("|", "#", "```", "![")
_MARKERS = (">   ", "> - ")
"""Indent of the further lines of a quoted item, and its start."""
_STARTS_BLOCK = re.compile(r"(?:[-+*]|#+|=+|--+|\d+[.)])$|[>|]|~~~|```")
_SPECIAL = re.compile(r"[\\`*\[\]{}|~$#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_LINE_START = re.compile(r"^(\d{0,9})([-+=.)])(?=[\s=-]|$)")
_HARMLESS = re.compile(r"[A-Za-z][A-Za-z0-9 =,/()-]*(?<! )|[-+]?\d[\d,]*(?:\.\d+)?", re.ASCII)
"""Matches most cells: words and numbers that need no escaping."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_HTML = str.maketrans({**_ENTITIES, '"': "&quot;"})


def wrapped(text: str) -> str:
    """Break the long lines of Markdown outside of tables and code."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        lines.append(line if fenced or line.startswith(_UNBROKEN) else _broken(line))
    return "\n".join(lines)


def _broken(line: str) -> str:
    """Break a line between words, but not before one that would start a list, a quote or a heading."""
    if len(line) <= LONGEST_LINE:
        return line
    indent = _MARKERS[0] if line.startswith(_MARKERS[1]) else "  " if line.startswith("- ") else ""
    lines, words = [], iter(line.split(" "))
    current = next(words)
    for word in words:
        if len(current) + 1 + len(word) > LONGEST_LINE and not _STARTS_BLOCK.match(word):
            lines.append(current)
            current = f"{indent}{word}"
        else:
            current = f"{current} {word}"
    return "\n".join([*lines, current])


def escape_html(text: str) -> str:
    """Escape text for HTML, attributes in double quotes included. A parser has one, with 2 MB of tables."""
    return text.translate(_HTML)


def plain(text: object, longest: int = LONGEST) -> str:
    """Escape text so that Markdown renders it literally, on one line.

    Nothing in it can begin a table cell, a link, a tag, an entity, emphasis, code, a formula, a list or a
    heading. Invisible and unprintable characters are replaced.
    """
    if isinstance(text, str) and len(text) <= longest and _HARMLESS.fullmatch(text):
        return text
    escaped = _SPECIAL.sub(r"\\\g<0>", in_one_line(text, longest))
    escaped = "".join(_ENTITIES.get(character, character) for character in escaped)
    return _LINE_START.sub(r"\1\\\2", escaped)


def in_one_line(text: object, longest: int = LONGEST) -> str:
    """Return the text on one line, with invisible and unprintable characters replaced."""
    if isinstance(text, str) and len(text) <= longest and text.isascii() and text.isprintable():
        return text.strip()
    whole = str(text)
    return visible(whole if len(whole) <= longest else f"{whole[: longest - 1]}…")
