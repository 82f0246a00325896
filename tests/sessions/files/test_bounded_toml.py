"""TOML within limits: what is ordinary is read as by tomllib, and what isn't is refused in one line."""

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.sessions.files.bounded_toml import LONGEST_KEY, MOST_LEVELS, MOST_VALUES, parse_toml


def outcome(parse: Any, text: str) -> object:
    try:
        return parse(text)
    except ValueError:
        return ValueError


@given(st.text("\"'\\#[]{}.,=\n\r \tab1-", max_size=80))
def test_any_short_text_is_read_as_by_tomllib(text: str) -> None:
    assert outcome(parse_toml, text) == outcome(tomllib.loads, text)


@pytest.mark.parametrize(
    "text",
    [
        f'a = "{"." * 1000}{"[" * 1000}{"x," * 1000}"',
        f"a = '''\n{'[.' * 1000}'''",
        f'a = """\n{"[." * 1000}\\"""" # {"[." * 1000}',
        f"# {'x' * 5000}\na = 1",
        f"a = [{'1.5, ' * 20_000}]",
        "a" + ".a" * (MOST_LEVELS - 1) + " = 1",
        "a = " + "[" * MOST_LEVELS + "]" * MOST_LEVELS,
        "a" * LONGEST_KEY + " = 1",
        f"[a]\n{'# 1.2.3' * 500}\nb.c = 1.5\n" + "\n[b]\n" * 1,
        "[[a]]\nb = 1\n" * 5_000,
    ],
    ids=range(10),
)
def test_long_but_ordinary_text_is_read(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\na" + ".a" * 200_000 + " = 1", "a key with more than 50 parts (at line 2)"),
        ("a" + ' . "a"' * MOST_LEVELS + " = 1", "a key with more than 50 parts (at line 1)"),
        ("\n\n[" + "a." * MOST_LEVELS + "a]", "a key with more than 50 parts (at line 3)"),
        ("a = {" + "a." * MOST_LEVELS + "a=1}", "a key with more than 50 parts (at line 1)"),
        ("a = " + "[" * 200_000, "lists and tables nested more than 50 levels deep (at line 1)"),
        ("a = [\n" + "{a=[" * 30, "lists and tables nested more than 50 levels deep (at line 2)"),
        ("a" * (LONGEST_KEY + 1) + " = 1", "a key or number with more than 1,000 characters (at line 1)"),
        (f'"{"a" * LONGEST_KEY}" = 1', "a key with more than 1,000 characters (at line 1)"),
        (f'["{"a" * LONGEST_KEY}"]', "a key with more than 1,000 characters (at line 1)"),
        ("a = 0x" + "f" * 5_000, "a key or number with more than 1,000 characters (at line 1)"),
        ("a = [" + "1," * (MOST_VALUES + 1) + "]", "more than 50,000 values (at line 1)"),
        ("[a]\n" * (MOST_VALUES + 1), "more than 50,000 values (at line 50001)"),
    ],
    ids=range(12),
)
def test_text_beyond_a_limit_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        parse_toml(text)
