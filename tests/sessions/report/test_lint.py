"""Every report is valid GitHub Markdown, short, without empty or repeated columns, and in plain words."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from benchtui.sessions.report.document import markdown

from .drawn import Drawn
from .test_golden import GOLDEN, REPORTS

MOST_LINES = 120
"""Length of a report of eight cases."""
DRAWN = 30
PHRASES = (
    "no difference from",
    "makes no difference",
    "Same machine, same software",
    "comes nearest to",
    "without intervals, how sure",
    "Note that",
    "in force",
    "had a hand in",
    "worth measuring again",
    "such as: ",
    "stands out",
    "lead one to expect",
    "longer by the end of a round",
    "all that both",
    "what holds 1",
    "what holds it back",
    "hold back",
    "holds back",
    "A day at that rate",
    "least product of",
    "in the middle",
    "the unsure ones among them",
    "leaving aside",
    "correspond here",
    "held against",
    "elsewhere been called",
    "may bring more",
    "something slowed",
    "install the driver",
    "clearly behind",
    "came as far as",
    "its doing",
    "put down to",
    "isn't known",
    "synchronised",
    "utilisation",
    "None",
    "nan",
    "inf",
)
"""Constructions that readers stumbled over, and what no report may print."""
ZERO_IS_NEWS = r"gain|doubling|Pays off|Break-even|Cold cost|^No\.$|^At \(s\)$"
"""Columns in which a zero is a result, a number or a moment."""
PATTERNS = (
    r"(?<![\d.,=])1 (?:case|thread|step|round|sample|token|other|row|processor)s\b",
    r"\ball [12] cases?\b",
    r"(?<![\d.,])0\.0+ (?:tokens|samples|J)/",
    r"(?<![\d.,])\d{4,}\.\d",  # thousands are separated
)


def problems(text: str) -> list[str]:
    """Return what is wrong with a report as Markdown and as prose."""
    return [*table_problems(text), *word_problems(text)]


def table_problems(text: str) -> list[str]:
    """Compare the tables that a parser finds with the lines that are meant as tables."""
    parsed = parse_tables(text)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    found = []
    if len(lines) != sum(len(rows) + 1 for rows in parsed):  # and the line below each header
        found.append(f"{len(lines)} lines of tables, but {[len(rows) for rows in parsed]} rows")
    widths = [len(re.split(r"(?<!\\)\|", line)) - 2 for line in lines]
    if widths != [len(rows[0]) for rows in parsed for _ in range(len(rows) + 1)]:
        found.append("a row has more or fewer cells than its header")
    for header, *rows in parsed:
        for title, *cells in zip(header, *rows, strict=True):
            says_something = any(re.search(r"[1-9a-zA-Z]", cell) for cell in cells)
            if not says_something and not re.search(ZERO_IS_NEWS, title):
                found.append(f"column {title!r} of {header} has only {set(cells)}")
    return found


def parse_tables(text: str) -> list[list[list[str]]]:
    """Return the rows of each table as GitHub renders it, the header first."""
    tables: list[list[list[str]]] = []
    in_cell = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("th_open", "td_open"):
            in_cell = True
        elif token.type == "inline" and in_cell:
            tables[-1][-1].append(token.content)
            in_cell = False
    return tables


def word_problems(text: str) -> list[str]:
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    found = [phrase for phrase in PHRASES if re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", prose)]
    return found + [match[0] for pattern in PATTERNS for match in re.finditer(pattern, prose)]


@pytest.fixture(params=list(REPORTS))
def reports(request: pytest.FixtureRequest, bench: Any, tmp_path: Path) -> list[str]:
    """Both reports of a golden session."""
    session = REPORTS[request.param](bench, tmp_path)
    return [markdown(session), markdown(session, full=True)]


def test_report_has_no_problems(reports: list[str]) -> None:
    assert [problem for text in reports for problem in problems(text)] == []


def test_no_golden_report_has_problems() -> None:
    golden = sorted(GOLDEN.glob("*.md"))
    assert len(golden) >= len(REPORTS)
    assert {each.stem: problems(each.read_text()) for each in golden} == {each.stem: [] for each in golden}


@pytest.mark.parametrize("seed", range(DRAWN))
def test_drawn_report_has_no_problems(seed: int) -> None:
    session = Drawn(seed).session()
    assert problems(markdown(session)) + problems(markdown(session, full=True)) == []


def test_nothing_that_all_rows_share_is_in_each(reports: list[str]) -> None:
    for header, *rows in parse_tables(reports[0]):
        if "Batch size" in header and "Option" not in header and len(rows) > 1:
            figures = list(zip(*rows, strict=True))[header.index("Batch size") + 1 :]
            assert all(len(set(column)) > 1 for column in figures), header


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text.replace("| cpu ", "| more | cpu ", 1), "more or fewer cells"),
        (lambda text: text.replace("\n| :", "\n\n| :", 1), "lines of tables"),
        (lambda text: re.sub(r"\| +[\d.]+ \|\n", "| 0.00 |\n", text), "has only"),
        (lambda text: text + "It makes no difference.\n", "makes no difference"),
        (lambda text: text + "All 1 threads.\n", "1 threads"),
        (lambda text: text + "It is 0.00 tokens/s per MB, of 3512949.16.\n", "0.00 tokens/"),
    ],
)
def test_linter_finds_a_planted_fault(bench: Any, change: Callable[[str], str], problem: str) -> None:
    made = [bench.case(size, 10.0 * size**0.5, threads=threads) for size in (1, 2) for threads in (1, 2)]
    text = markdown(bench.session(*made), full=True)
    assert problems(text) == []
    assert change(text) != text
    assert any(problem in each for each in problems(change(text)))
