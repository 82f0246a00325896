"""Lines of a report for a terminal: texts, tables in blocks, and bars, at several widths."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from benchtui import sessions
from benchtui.sessions.report.content import render
from benchtui.sessions.report.document import markdown, report
from benchtui.sessions.report.speedup_block import Speedup, with_speedups
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.drawing.styled_text import Line, width_of, wrap_spans
from benchtui.tui.report.blocks import Code, Heading, ReportTable, Speedups, Text, read_blocks
from benchtui.tui.report.lines import report_lines
from benchtui.tui.report.speedup_bars import bar_lines
from benchtui.tui.report.table_lines import table_lines

DEMO = Path(sessions.__file__).parent / "library" / "demo" / "demo.json"
DOCUMENT = """# A report

*Measured today*

## Answer

- **First**: run a\\|b, FASTER

| Case | ms |
|:-----|---:|
| one  |  1 |

> - **Noisy**: see https://example.org/x

```toml
name = "x"
```
"""
WIDE = ReportTable(
    ("Device", "Batch size", *(f"Column {place}" for place in range(12))),
    (False, *(True,) * 13),
    tuple(
        (device, size, *(str(1000 * place) for place in range(12)))
        for device in ("cpu", "cuda:0")
        for size in "12"
    ),
)


def text_of(drawn: Line) -> str:
    return "".join(text for text, _ in drawn)


def shown(table: ReportTable, width: int) -> list[str]:
    return [text_of(drawn) for drawn in table_lines(table, width, UNICODE)]


def speedup(case: str, value: float, verdict: str = "FASTER") -> Speedup:
    return Speedup(case, value, value * 0.9, value * 1.1, verdict, f"{value} × ({value} to {value})")


def test_blocks_of_markdown_have_their_text_without_its_escapes() -> None:
    first, date, second, item, table, caveat, code = read_blocks(DOCUMENT)
    assert (first, second) == (Heading(1, "A report"), Heading(2, "Answer"))
    assert date == Text((("Measured today", "muted"),))
    assert item == Text((("First", "strong"), (": run a|b, FASTER", "plain")), item=True)
    assert table == ReportTable(("Case", "ms"), (False, True), (("one", "1"),))
    assert isinstance(caveat, Text) and caveat.quoted and caveat.item
    assert code == Code(('name = "x"',))


def test_verdicts_have_their_colors_and_caveats_their_sign() -> None:
    lines = report_lines(read_blocks(DOCUMENT), 60, UNICODE).lines
    spans = [span for drawn in lines for span in drawn]
    assert ("FASTER", "good") in spans
    assert (f"{UNICODE.flag} ", "warning") in spans
    assert ("Noisy", "strong") in spans


def test_sections_begin_at_their_headings() -> None:
    rendered = report_lines(read_blocks(markdown(sessions.load(DEMO))), 80, UNICODE)
    headings = [text_of(rendered.lines[place]) for place in rendered.sections]
    assert headings == [
        block.text
        for block in read_blocks(markdown(sessions.load(DEMO)))
        if isinstance(block, Heading) and block.level == 2
    ]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_every_word_of_the_demo_is_shown_within_the_width(width: int) -> None:
    session = sessions.load(DEMO)
    blocks = read_blocks(render(with_speedups(report(session), session)))
    lines = report_lines(blocks, width, UNICODE).lines
    assert max(map(width_of, lines)) <= width
    words = {word for drawn in lines for word in text_of(drawn).split()}
    texts = ["".join(text for text, _ in block.spans) for block in blocks if isinstance(block, Text)]
    assert {word for text in texts for word in text.split() if len(word) < 20} <= words


def test_ascii_terminal_gets_no_other_signs() -> None:
    session = sessions.load(DEMO)
    lines = report_lines(read_blocks(render(with_speedups(report(session), session))), 80, ASCII).lines
    assert all(text_of(drawn).isascii() for drawn in lines)


def test_table_that_fits_is_one_block_with_aligned_columns() -> None:
    table = ReportTable(("Case", "ms"), (False, True), (("one", "1.5"), ("three", "20")))
    assert shown(table, 40) == ["Case    ms", UNICODE.track * 10, "one    1.5", "three   20"]


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
    lines = shown(WIDE, 36)
    assert max(map(cell_len, lines)) <= 36
    note = " ".join(lines[lines.index(next(line for line in lines if "more columns" in line)) :])
    left_out = note.partition(": ")[2].split(", ")
    numbers = set(" ".join(lines).split())
    assert left_out
    assert all((str(1000 * place) in numbers) is (f"Column {place}" not in left_out) for place in range(1, 12))


def test_numbers_are_never_split_and_words_wrap_at_spaces() -> None:
    text = "a sentence of many words that explains the figure"
    table = ReportTable(("Need", "Rate", "Why"), (False, True, False), (("throughput", "1,234,567", text),))
    lines = shown(table, 50)
    assert lines[2].startswith("throughput  1,234,567  a sentence of many words")
    assert " ".join(line[23:].strip() for line in lines[2:]) == text


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


def test_speedups_stand_at_the_end_of_the_first_section() -> None:
    session = sessions.load(DEMO)
    blocks = read_blocks(render(with_speedups(report(session), session)))
    place = next(place for place, block in enumerate(blocks) if isinstance(block, Speedups))
    headings = [place for place, block in enumerate(blocks) if isinstance(block, Heading) and block.level == 2]
    assert headings[0] < place == headings[1] - 1
    rows = blocks[place].rows  # type: ignore[union-attr]
    assert [row.value for row in rows] == sorted((row.value for row in rows), reverse=True)
    assert json.dumps(rows[0].verdict) == '"FASTER"'


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
