import os
import re
import subprocess
from pathlib import Path

import pytest

from benchtui.sessions.sanitize import (
    LONGEST_MESSAGE,
    LONGEST_VALUE,
    quoted,
    shell_word,
    shortened,
    terminal_text,
    visible,
)
from benchtui.tui.cli.options import printable
from benchtui.tui.drawing.format import clean

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "file", "screen", "command_line"),
    [
        ("plain text", "plain text", "plain text", "plain text"),
        ("a\nb\tc", "a b c", "a b c", "a\ufffdb\ufffdc"),
        ("line\u2028separator\x85", "line separator", "line separator ", "line\ufffdseparator\ufffd"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd", "[31mred", "\ufffd[31mred\ufffd"),
        ("\u202ereversed\u200b", "\ufffdreversed\ufffd", "reversed", "\ufffdreversed\ufffd"),
        ("\udcff", "\ufffd", "", "\ufffd"),
        ("naïve – 中文 😀", "naïve – 中文 😀", "naïve – 中文 😀", "naïve – 中文 😀"),
    ],
)
def test_each_output_replaces_the_same_characters(text: str, file: str, screen: str, command_line: str) -> None:
    assert (visible(text), clean(text), printable(text)) == (file, screen, command_line)
    assert all(each.isprintable() for each in (file, screen, command_line))


def test_characters_are_replaced_in_one_module_only() -> None:
    """Elsewhere, ``isprintable`` may accept or reject text, but not replace parts of it."""
    replaces = re.compile(r"\.isprintable\(\) else|\\ufffd|\ufffd|\\N{REPLACEMENT", re.IGNORECASE)
    paths = [
        path for folder in ("engine", "sessions", "themes", "tui") for path in (ROOT / folder).rglob("*.py")
    ]
    assert [path.name for path in paths if replaces.search(path.read_text())] == ["sanitize.py"]


def test_long_values_and_messages_are_shortened() -> None:
    assert len(visible("x" * 1000, LONGEST_VALUE)) == LONGEST_VALUE
    assert len(quoted("x" * 1000)) == LONGEST_VALUE
    assert shortened("x" * LONGEST_MESSAGE) == "x" * LONGEST_MESSAGE
    assert len(shortened("x" * 1000)) == LONGEST_MESSAGE + 1


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "a b",
        "it's",
        "a\\b\x1b'c",
        "\x1b]0;x\x07",
        "$(touch x)\n`y`",
        "\u202eabc\x9b31m",
        os.fsdecode(b"\xffa9"),
        "",
    ],
)
def test_a_shell_word_is_printable_and_means_the_text(text: str) -> None:
    word = shell_word(text)
    assert word.isprintable()
    done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, timeout=20)
    assert done.stdout == os.fsencode(text)


def test_terminal_text_keeps_lines_and_tabs() -> None:
    assert terminal_text("a\n\tb é\n") == "a\n\tb é\n"
    assert terminal_text("a\r\nb\x1b\x9b\u202e\x7f") == "a\nb" + "\ufffd" * 4
