"""TOML of users: nesting, keys and lists are limited before the text is parsed.

A parser takes quadratic time and memory for a dotted key: 200 kB of dots cost half a minute and 5 GB.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import reduce
from operator import getitem
from typing import Any

MOST_LEVELS = 50
"""Maximum depth of lists and tables, and maximum parts of a dotted key. No entry has more than 4."""
LONGEST_KEY = 1_000
"""Maximum characters of a key, and of a number or another value without quotes."""
MOST_VALUES = 50_000
"""Maximum number of values, tables and parts of keys; an axis has at most 10,000 values."""
MOST_PARSED = 1_000_000
"""Maximum characters to parse for the line of an entry: each beginning of the text is parsed."""

_MANY_PARTS = f"a key with more than {MOST_LEVELS} parts"
_LONG_KEY = f"a key with more than {LONGEST_KEY:,} characters"
_LONG_WORD = f"a key or number with more than {LONGEST_KEY:,} characters"
_DEEP = f"lists and tables nested more than {MOST_LEVELS} levels deep"
_MANY_VALUES = f"more than {MOST_VALUES:,} values"
_TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\.?|"{1,2}(?!"))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']++|'{1,2}(?!'))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+"
    r"|\n(?:\s++|\#[^\n]*+)*+"
    r"|[.,=\[\]{}]"
    r"|[^\s\"'\#.,=\[\]{}]++",
    re.DOTALL,
)
"""A text, a comment, a line break, a sign of structure, or a word; nothing is read twice, so it is linear."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML text.

    Raises ValueError if it isn't valid, with one line that says where, or exceeds a limit of this module.
    """
    _check_limits(text)
    return tomllib.loads(text)


def line_of(text: str, path: Sequence[str | int], value: object) -> int | None:
    """Return the line at which an entry with this value begins; None if it isn't found.

    It follows the longest beginning of the text that is valid and lacks the entry.
    """
    lines = text.splitlines(keepends=True)
    begins = 1
    for count in range(1, len(lines) + 1 if len(lines) * len(text) <= MOST_PARSED else 0):
        try:
            beginning = tomllib.loads("".join(lines[:count]))
        except ValueError:  # within a value of several lines
            continue
        if value_at(beginning, path) == value:
            return begins
        begins = count + 1
    return None


def value_at(value: Any, path: Sequence[str | int]) -> object:  # noqa: ANN401  (any part of a document)
    """Return the value at a path; None if there is none."""
    try:
        return reduce(getitem, path, value)
    except (KeyError, IndexError, TypeError):
        return None


def _check_limits(text: str) -> None:
    """Raise ValueError for text that exceeds a limit.

    Text that isn't valid may be misread here, but only behind the place where the parser stops.
    """
    level = dots = values = key_start = 0
    is_key = True
    """Whether this place is before an equals sign: in a key or in the header of a table."""
    for match in _TOKEN.finditer(text):
        at = match.start()
        sign = text[at]
        problem = None
        values += sign in ",=." or (is_key and sign == "[")
        if sign == ".":
            dots += 1
            if dots >= MOST_LEVELS or values > MOST_VALUES:
                problem = _MANY_PARTS if dots >= MOST_LEVELS else _MANY_VALUES
        elif sign in ",=[]{}\n":
            level = max(0, level + (sign in "[{") - (sign in "]}"))
            if is_key and sign in "=]" and len(text[key_start:at].strip()) > LONGEST_KEY:
                problem = _LONG_KEY
            elif level > MOST_LEVELS or values > MOST_VALUES:
                problem = _DEEP if level > MOST_LEVELS else _MANY_VALUES
            is_key = sign == "{" or (sign == "\n" and not level) or (is_key and sign != "=")
            dots, key_start = 0, match.end()
        elif sign not in "\"'#" and match.end() - at > LONGEST_KEY:
            problem = _LONG_WORD
        if problem:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"{problem} (at line {line})")
