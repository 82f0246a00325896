"""Sanitizing of untrusted text: one line, visible characters only, limited length.

``replace_unprintable`` is the only rule on characters. Every output applies it with its own replacements:
files and errors through ``visible``, Markdown in ``text.markdown``, the screen in ``tui.drawing.format`` and
the command line in ``tui.cli.options``.
"""

LONGEST_VALUE = 80
"""Maximum characters of a value in a message."""
LONGEST_MESSAGE = 300
"""Maximum characters of a library's message about a value."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def replace_unprintable(text: str, *, space: str = " ", other: str = REPLACEMENT) -> str:
    """Replace white space except the plain space, and every other character that isn't printable.

    These are the characters that can control a terminal, break a line, or reverse or hide text: control and
    format characters, separators, surrogates and unassigned code points (see ``str.isprintable``).
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else space if character.isspace() else other for character in text
    )


def visible(text: str, longest: int | None = None) -> str:
    """Replace line breaks by spaces, and other unprintable characters by U+FFFD.

    Text longer than ``longest`` characters ends in an ellipsis.
    """
    line = replace_unprintable(text).strip()
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def quoted(value: object) -> str:
    """Return the ``repr`` of a value for a message; a long one ends in an ellipsis."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def shortened(message: str) -> str:
    """Shorten a library's message to its beginning and end, since it may quote a value in full."""
    half = LONGEST_MESSAGE // 2
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:half]}…{message[-half:]}"
