"""Sanitizing of untrusted text: one line, visible characters only, limited length.

``replace_unprintable`` is the only rule on characters. Every output applies it with its own replacements:
files and errors through ``visible``, Markdown in ``text.markdown``, the screen in ``tui.drawing.format`` and
the command line in ``tui.cli.options``. Where a replacement would change the meaning, the characters become
escapes: ``shell_word`` in commands, ``files.visible_json`` in JSON. Whatever these miss is replaced by
``terminal_text`` as it leaves for a terminal: in ``tui.cli.text.streams`` and ``tui.shell.output_diff``.
"""

import shlex
from collections.abc import Callable

LONGEST_VALUE = 80
"""Maximum characters of a value in a message."""
LONGEST_MESSAGE = 300
"""Maximum characters of a library's message about a value."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
FORMULA = ("=", "+", "-", "@")
"""First characters of text that a spreadsheet would evaluate."""


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


def escape_unprintable(text: str, escape: Callable[[str], str]) -> str:
    """Replace every unprintable character by its escape, which may be a replacement."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else escape(character) for character in text)


def terminal_text(text: str) -> str:
    """Replace every unprintable character except line feeds and tabs; carriage returns are removed."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    kept = {"\n": "\n", "\t": "\t", "\r": ""}
    return escape_unprintable(text, lambda character: kept.get(character, REPLACEMENT))


def spreadsheet_text(text: str) -> str:
    """Return text with a leading apostrophe if a spreadsheet would evaluate it as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def shell_word(text: str) -> str:
    """Quote text as one word of a shell command, in printable characters only.

    Unprintable characters become escapes of ``$'...'`` (bash, zsh, ksh), so that the word still means exactly
    this text.
    """
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{escape_unprintable(escaped, _bytes_in_hex)}'"


def _bytes_in_hex(character: str) -> str:
    try:
        encoded = character.encode("utf-8", "surrogateescape")  # as the file system has it
    except UnicodeEncodeError:
        encoded = REPLACEMENT.encode()
    return "".join(f"\\x{byte:02x}" for byte in encoded)


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
