import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from benchtui.sessions.text import markdown
from benchtui.sessions.text.formatting import (
    count,
    half_width,
    listed,
    loss,
    memory,
    number,
    percent,
    percentage,
    ratio_span,
    ratio_text,
    signed_percent,
    span,
    time_ms,
)
from benchtui.sessions.text.markdown import plain

HOSTILE = [
    "a|b",
    "a\\|b|c\\",
    "`code` ``two``",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- gone -->",
    "&lt;b&gt; &amp; &#124;",
    "[click](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "[ref]: http://evil.example",
    "http://evil.example/a_b",
    "www.evil.example",
    "<http://evil.example>",
    "**bold** _it_ __it__ *it* ~~no~~",
    "$x$ $$y$$",
    "# heading #",
    "1. item",
    "- item",
    "+ item",
    "> quote",
    "---",
    "===",
    "| a | b |\\n|---|---|",
    "\\",
    "*_*",
    "{{ 7 * 7 }} {% raw %}",
    "snake_case_name and _private_",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("frame", ["{}", "- **Label**: {}", "# {}", "> **Note**: {}"])
def test_hostile_text_is_rendered_literally(text: str, frame: str) -> None:
    md = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "strikethrough", "linkify"])
    tokens = md.parse(frame.format(plain(text)))
    (inline,) = [token for token in tokens if token.type == "inline"]
    seen = "".join(child.content for child in inline.children or () if child.type in ("text", "text_special"))
    assert seen.endswith(text)
    assert {child.type for child in inline.children or ()} <= {
        "text",
        "text_special",
        "strong_open",
        "strong_close",
    }
    assert inline.content.count("**") == frame.count("**") + inline.content.count("\\**")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\nb\r\nc", "a b  c"),
        ("tab\there", "tab here"),
        ("line\u2028separator\x85next", "line separator next"),
        ("\x1b[31mred\x07", "\ufffd\\[31mred\ufffd"),
        ("\u202eright to left", "\ufffdright to left"),
        ("zero\u200bwidth", "zero\ufffdwidth"),
        ("\udcff", "\ufffd"),
        ("not assigned \ud7ff \U0010ffff", "not assigned \ufffd \ufffd"),
        ("  padded  ", "padded"),
        ("naïve – 中文 😀", "naïve – 中文 😀"),
        ("cuda:0 amp_fp16 bs=32", "cuda:0 amp_fp16 bs=32"),
        ("3.14", "3.14"),
        ("-5", "-5"),
    ],
)
def test_text_is_one_visible_line_and_ordinary_names_are_unchanged(text: str, seen: str) -> None:
    assert plain(text) == seen


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (number(None), None),
        (number(float("nan")), None),
        (number(float("inf")), None),
        (number(0.0), "0"),
        (number(-0.001), "-0.00100"),
        (number(-0.0), "0"),
        (number(9.996), "10.0"),
        (number(99.96), "100"),
        (number(0.000123456), "0.000123"),
        (number(999.6), "1,000"),
        (number(1671.68), "1,670"),
        (number(53451187.85), "53,500,000"),
        (memory(746.88), "712 MiB"),
        (memory(1671.68), "1.56 GiB"),
        (memory(1073.5), "1.00 GiB"),
        (memory(700, like_mb=2000), "0.652 GiB"),
        (memory(None), None),
        (signed_percent(0.0), "+0.00"),
        (signed_percent(-0.0005), "-0.05"),
        (signed_percent(1.2246), "+122"),
        (percent(0.00004), "0.00"),
        (percent(0.0), "0.00"),
        (percent(18.854), "1,890"),
        (percentage(0.171), "0.17"),
        (percentage(None), None),
        (half_width(0.171), "0.17"),
        (half_width(100.0), "100"),
        (half_width(872.5), "over 100"),
        (half_width(None), None),
        (half_width(float("inf")), None),
        (loss(10.32149), "10.321"),
        (number(0.0000001234), "1.23e-07"),
        (number(-12345.6, 0), "-12,346"),
        (number(9999.9, 0), "10,000"),
        (number(1234, 0), "1,234"),
        (time_ms(1.234), "1.23"),
        (time_ms(0.01234), "0.0123"),
        (time_ms(None), None),
        (percent(0.1234), "12.3"),
        (percent(None), None),
        (span("1", "2"), "1 to 2"),
        (span("1", "1"), "1"),
        (span(None, "2"), None),
        (count(1, "case"), "1 case"),
        (count(12000, "case"), "12,000 cases"),
        (listed([]), ""),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_numbers_are_formatted(made: Any, text: str | None) -> None:
    assert made == text


@given(st.from_regex(markdown._HARMLESS, fullmatch=True))
def test_unescaped_fast_path_equals_full_escaping(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "_HARMLESS", re.compile(r"(?!)"))
        assert plain(text) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0346, "0.0346"),
        (0.5, "0.500"),
        (0.95, "0.950"),
        (1.0, "1.000"),
        (1.0994, "1.099"),
        (1.2, "1.20"),
        (27.926, "27.9"),
        (0.05, "0.0500"),
        (0.94999, "0.950"),
        (12345.6, "12,300"),
        (float("inf"), None),
    ],
)
def test_ratio_shows_more_decimals_near_one_and_for_small_values(value: float, text: str | None) -> None:
    assert ratio_text(value) == text


def test_bounds_of_a_ratio_near_one_have_three_decimals() -> None:
    assert ratio_span(0.9, 1.2, 1.05) == "0.900 to 1.200"
    assert ratio_span(0.027, 12.34, 0.51) == "0.0270 to 12.3"
    assert ratio_span(1.04, 12.34, 1.05) == "1.040 to 12.3"
    assert ratio_span(None, 1.2, 1.05) is None
