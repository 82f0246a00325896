"""Sanitizing of untrusted text: one line, visible characters only, limited length."""

LONGEST_VALUE = 80
"""Maximum characters of a value in a message."""
LONGEST_SAID = 300
"""Maximum characters of a library's message about a value."""


def visible(text: str, longest: int | None = None) -> str:
    """Replace line breaks by spaces, and other unprintable characters by U+FFFD.

    Text longer than ``longest`` characters ends in an ellipsis.
    """
    line = "".join(letter if letter.isprintable() else _stand_in(letter) for letter in text).strip()
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def quoted(value: object) -> str:
    """Return the ``repr`` of a value for a message; a long one ends in an ellipsis."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def shortened(said: str) -> str:
    """Shorten a library's message to its beginning and end, since it may quote a value in full."""
    return said if len(said) <= LONGEST_SAID else f"{said[: LONGEST_SAID // 2]}…{said[-LONGEST_SAID // 2 :]}"


def _stand_in(letter: str) -> str:
    return " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"
