"""Lines of a report for a terminal: texts, tables in blocks, and bars, at several widths."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from benchtui import sessions
from benchtui.sessions.files import visible_json
from benchtui.sessions.report.content import Code, Items, Note, Section, Speedup
from benchtui.sessions.report.document import report
from benchtui.sessions.report.speedup_block import with_speedups
from benchtui.sessions.text.tables import Table
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.drawing.styled_text import Line, width_of, wrap_spans
from benchtui.tui.report.lines import bar_lines, report_lines
from benchtui.tui.report.table_lines import table_lines

DEMO = Path(sessions.__file__).parent / "library" / "demo" / "demo.json"
DOCUMENT = Section(
    "A report",
    (
        Note("Measured today"),
        Section(
            "Answer",
            (
                Items((("First", "run a|b, FASTER"), ("", "no subject"))),
                Table(("Case", "ms"), (False, True), (("one", "1"), ("two", None))),
                Items((("Noisy", "see https://example.org/x"),), quoted=True),
                Code("toml", ('name = "x"', "", "y = 1")),
            ),
        ),
    ),
)
WIDE = Table(
    ("Device", "Batch size", *(f"Column {place}" for place in range(12))),
    (False, *(True,) * 13),
    tuple(
        (device, size, *(str(1000 * place) for place in range(12)))
        for device in ("cpu", "cuda:0")
        for size in "12"
    ),
)


@pytest.fixture(scope="module")
def demo() -> Section:
    session = sessions.load(DEMO)
    return with_speedups(report(session), session)


def text_of(drawn: Line) -> str:
    return "".join(text for text, _ in drawn)


def shown(table: Table, width: int) -> list[str]:
    return [text_of(drawn) for drawn in table_lines(table, width, UNICODE)]


def speedup(case: str, value: float, verdict: str = "FASTER") -> Speedup:
    return Speedup(case, value, value * 0.9, value * 1.1, verdict, f"{value} × ({value} to {value})")


def test_parts_stand_below_their_headings_and_unknown_cells_have_a_sign() -> None:
    lines = report_lines(DOCUMENT, 30, UNICODE).lines
    assert [text_of(drawn) for drawn in lines] == [
        "A report",
        "Measured today",
        f"Answer {UNICODE.track * 23}",
        f"{UNICODE.dot} First: run a|b, FASTER",
        f"{UNICODE.dot} no subject",
        "",
        "Case  ms",
        UNICODE.track * 8,
        "one    1",
        "two    –",
        "",
        f"{UNICODE.flag} Noisy: see",
        "  https://example.org/x",
        "",
        'name = "x"',
        "",
        "y = 1",
    ]


def test_verdicts_have_their_colors_and_caveats_their_sign() -> None:
    lines = report_lines(DOCUMENT, 60, UNICODE).lines
    spans = [span for drawn in lines for span in drawn]
    assert ("FASTER", "good") in spans
    assert (f"{UNICODE.flag} ", "warning") in spans
    assert ("Noisy", "strong") in spans
    assert ("Measured today", "muted") in spans


def test_report_has_the_same_parts_after_its_way_through_a_subprocess(demo: Section) -> None:
    again = msgspec.json.decode(visible_json.encode(demo), type=Section)
    assert report_lines(again, 80, UNICODE) == report_lines(demo, 80, UNICODE)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_every_word_of_the_demo_is_shown_within_the_width(width: int, demo: Section) -> None:
    lines = report_lines(demo, width, UNICODE).lines
    assert max(map(width_of, lines)) <= width
    words = {word for drawn in lines for word in text_of(drawn).split()}
    assert {word for text in texts_of(demo) for word in text.split() if len(word) < 20} <= words


def texts_of(shown: Section) -> Iterator[str]:
    """Yield the paragraphs and items of a report."""
    for part in shown.content:
        if isinstance(part, Section):
            yield from texts_of(part)
        elif isinstance(part, Items):
            yield from (text for _, text in part.items)
        elif isinstance(part, str | Note):
            yield part if isinstance(part, str) else part.text


def test_ascii_terminal_gets_no_other_signs(demo: Section) -> None:
    lines = report_lines(demo, 80, ASCII).lines
    assert all(text_of(drawn).isascii() for drawn in lines)


def test_columns_that_do_not_fit_follow_with_the_names_of_their_rows() -> None:
    lines = shown(WIDE, 80)
    blank = lines.index("")
    assert max(map(cell_len, lines)) <= 80
    assert [line.split()[:2] for line in lines if line.startswith("c")] == 2 * [
        ["cpu", "1"],
        ["cpu", "2"],
        ["cuda:0", "1"],
        ["cuda:0", "2"],
    ]
    assert "Column" in lines[blank + 1]
    assert {str(1000 * place) for place in range(12)} <= set(" ".join(lines).split())


def test_last_columns_of_a_narrow_terminal_are_named() -> None:
    lines = shown(WIDE, 24)
    assert max(map(cell_len, lines)) <= 24
    note = " ".join(lines[lines.index(next(line for line in lines if "more columns" in line)) :])
    left_out = note.partition(": ")[2].split(", ")
    numbers = set(" ".join(lines).split())
    assert left_out
    assert all((str(1000 * place) in numbers) is (f"Column {place}" not in left_out) for place in range(1, 12))


def test_numbers_are_never_split_and_words_wrap_at_spaces() -> None:
    text = "a sentence of many words that explains the figure"
    table = Table(("Need", "Rate", "Why"), (False, True, False), (("throughput", "1,234,567", text),))
    lines = shown(table, 50)
    assert lines[2].startswith("throughput  1,234,567  a sentence of many words")
    assert " ".join(line[23:].strip() for line in lines[2:]) == text


def test_only_row_that_is_too_wide_has_a_line_for_each_column() -> None:
    rows = (("compile=default bs=5: 13,600 tokens/s", "3.66 GiB", "indistinguishable from 3 others"),)
    table = Table(("Throughput", "Peak memory", "Confidence"), (False, False, False), rows)
    assert shown(table, 44) == [
        "Throughput   compile=default bs=5: 13,600",
        "             tokens/s",
        "Peak memory  3.66 GiB",
        "Confidence   indistinguishable from 3 others",
    ]
    assert len(shown(table, 90)) == 4


def test_bars_are_longer_for_faster_cases_and_name_what_differs() -> None:
    rows = [
        speedup("cpu bf16 bs=8", 3.0),
        speedup("cpu bf16 bs=4", 2.0),
        speedup("cpu bf16 bs=1", 0.5, "SLOWER"),
    ]
    lines = list(bar_lines(rows, 80, UNICODE))
    filled = [
        sum(text.count(UNICODE.eighths[-1]) + text.count("▐") for text, _ in drawn) for drawn in lines[:3]
    ]
    assert filled[0] > filled[1] > 0
    assert [text_of(drawn).split()[0] for drawn in lines] == ["bs=8", "bs=4", "bs=1", "all:"]
    assert ("SLOWER", "bad") in lines[2]
    assert text_of(lines[3]) == "all: cpu bf16"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_bars_stay_within_the_width(width: int) -> None:
    rows = [speedup(f"cuda:0 bf16 compile=max-autotune-{place} attn=sdpa", 1 + place) for place in range(20)]
    lines = list(bar_lines(rows, width, UNICODE))
    assert max(map(width_of, lines)) <= width
    assert "12 more cases" in text_of(lines[-1])


@given(
    st.lists(st.tuples(st.text("ab é漢", min_size=0, max_size=30), st.sampled_from(["plain", "strong"]))),
    st.integers(2, 40),
)
def test_wrapped_spans_keep_every_character_and_the_width(spans: list[tuple[str, str]], width: int) -> None:
    lines = wrap_spans(spans, width)
    assert all(width_of(drawn) <= width for drawn in lines)
    assert "".join(text_of(drawn) for drawn in lines).replace(" ", "") == "".join(
        text for text, _ in spans
    ).replace(" ", "")
    assert all(not text_of(one).endswith(" ") for one, _ in pairwise(lines))
