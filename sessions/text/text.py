"""Text of the report: session text made harmless, and numbers as a reader wants them."""

import re
from math import isfinite

from benchtui.sessions.sanitize import visible

MISSING = "–"
LEAST_SEPARATED = 10_000
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


def number(value: float | None, digits: int = 2) -> str | None:
    """A number with this many decimals; None for what is no number.

    Thousands are separated in whole numbers, and in those with decimals from five digits on.
    """
    if value is None or not isfinite(value):
        return None
    separator = "," if digits == 0 or abs(value) >= LEAST_SEPARATED else ""
    return f"{value:z{separator}.{digits}f}"


def time_ms(value: float | None) -> str | None:
    """Milliseconds to two decimals, and to four below one."""
    return number(value, 2 if value is None or abs(value) >= 1 else 4)


def percent(share: float | None, digits: int = 2) -> str | None:
    """A share of 1 in percent, without the sign for percent."""
    return None if share is None else number(100 * share, digits)


def signed_percent(share: float, digits: int = 2) -> str | None:
    """A change as a share of 1 in percent with its sign, without the sign for percent."""
    return f"{100 * share:+z,.{digits}f}" if isfinite(share) else None


def span(low: str | None, high: str | None) -> str | None:
    """Two formatted bounds as one text, or None where one is missing."""
    if low is None or high is None:
        return None
    return low if low == high else f"{low} to {high}"


def count(amount: int, noun: str) -> str:
    """An amount with its noun, in the plural where it is one."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def listed(words: list[str]) -> str:
    """Words as an enumeration: ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def capitalized(sentence: str) -> str:
    """A sentence with a capital letter at its begin, the rest as it is."""
    return sentence[:1].upper() + sentence[1:]
