"""Text of a stranger's file in one line, without characters that can't be seen."""

LONGEST_VALUE = 80
"""Characters of a value in a message."""
LONGEST_SAID = 300
"""Characters of what a library says of a value."""


def visible(text: str, longest: int | None = None) -> str:
    """A space for what breaks a line, the replacement character for what can't be seen or printed.

    Longer than this many characters, it ends in an ellipsis.
    """
    line = "".join(letter if letter.isprintable() else _stand_in(letter) for letter in text).strip()
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def quoted(value: object) -> str:
    """A value as it is written in code, for a message; a long one ends in an ellipsis."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def shortened(said: str) -> str:
    """What a library says of a value, which it may quote at any length: its beginning and its end."""
    return said if len(said) <= LONGEST_SAID else f"{said[: LONGEST_SAID // 2]}…{said[-LONGEST_SAID // 2 :]}"


def _stand_in(letter: str) -> str:
    return " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"
