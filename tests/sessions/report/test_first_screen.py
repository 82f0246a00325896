"""The first 24 lines at 80 columns answer what a reader asks first; golden reports stay short and narrow.

``UPDATE_GOLDEN=1 pytest tests/sessions/report/test_first_screen.py`` writes the recorded screens again.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.advice.conclusion import Conclusion
from benchtui.sessions.compare.align import SessionComparison
from benchtui.sessions.report import compare
from benchtui.sessions.report.content import Section, render
from benchtui.sessions.report.document import report
from benchtui.sessions.report.overview.decision import choices
from benchtui.sessions.report.overview.short_facts import devices
from benchtui.sessions.report.speedup_block import with_speedups
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured
from benchtui.sessions.text.conclusion import certainty_so_far
from benchtui.sessions.text.formatting import memory, ratio_text
from benchtui.sessions.text.markdown import LONGEST_LINE
from benchtui.sessions.text.wording import compile_time, figure, unverified_note
from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.report.lines import report_lines

from .test_golden import GOLDEN, REPORTS
from .test_golden_comparison import COMPARISONS

ROWS, COLUMNS = 24, 80
SESSIONS = (
    "demo",
    "demo-gpu",
    "demo-cpu",
    "quick-cpu",
    "comprehensive-report",
    "gpt2-training",
    "lm-train",
    "generate",
    "recorded-classify",
)


SCREENS = GOLDEN / "screens"
SHORT = ("demo", "comprehensive-report", "batch-sweep", "gpt2-training")


def rendered(session: Session) -> list[str]:
    """Return the lines that a terminal shows of a report."""
    return ["".join(text for text, _ in drawn).rstrip() for drawn in terminal_lines(report(session), session)]


def terminal_lines(document: Section, of: Session | SessionComparison) -> list[Line]:
    return report_lines(with_speedups(document, of), COLUMNS, UNICODE).lines


def shows(lines: Sequence[str], wanted: str) -> bool:
    """Return whether a paragraph, or a cell that may be wrapped, has a text."""
    if wanted in " ".join(" ".join(lines).split()):
        return True
    first = wanted.split()[0]
    return any(
        wanted in _cell(lines[place:], match.start())
        for place, line in enumerate(lines)
        for match in re.finditer(re.escape(first), line)
    )


def _cell(lines: Sequence[str], left: int) -> str:
    """Return the text of the cell that begins in this column of the first line, without what is right of it."""
    parts = [re.split(r"\s{2,}", line[left:])[0] for line in lines]
    height = next((place for place, part in enumerate(parts) if not part.strip()), len(parts))
    return " ".join(parts[:height])


class Asked:
    """A session with the choices of its first workload."""

    def __init__(self, session: Session) -> None:
        self.session, self.results = session, measured(session)
        made = choices(session, self.results)
        self.throughput: Conclusion = next(iter(made["throughput"].values()))
        self.latency: Conclusion = next(iter(made["latency"].values()))

    @property
    def most_mb(self) -> float:
        return max(result.case.peak_memory_mb or 0.0 for result in self.results)

    @property
    def ratio(self) -> list[str | None]:
        ratio = self.throughput.against_baseline
        return [ratio_text(ratio.value)] if ratio and self.throughput.decided else []

    @property
    def settles(self) -> list[str | None]:
        return [] if self.throughput.decided else ["may be as good or better", "easure"]


QUESTIONS: dict[str, Callable[[Asked], list[str | None]]] = {
    "which model": lambda asked: [asked.session.start.sweep.model.split("/")[-1]],
    "which machine": lambda asked: [devices(asked.session, asked.results)],
    "when": lambda asked: [" on 20"],
    "how much of the plan": lambda asked: [f": {len(asked.results)} of "],
    "which batch size for throughput": lambda asked: [f"bs={asked.throughput.best.config.batch_size}"],
    "how fast": lambda asked: [figure(asked.throughput.best, "throughput")],
    "which batch size for latency": lambda asked: [f"bs={asked.latency.best.config.batch_size}"],
    "how long a step": lambda asked: [figure(asked.latency.best, "latency")],
    "how sure": lambda asked: [certainty_so_far(asked.throughput)],
    "against the baseline": lambda asked: asked.ratio,
    "at what memory": lambda asked: [memory(asked.throughput.best.case.peak_memory_mb, asked.most_mb)],
    "what compiling costs, and whether options applied": lambda asked: [
        compile_time(asked.throughput.best, asked.throughput.baseline),
        unverified_note(asked.throughput.best),
    ],
    "what would settle it": lambda asked: asked.settles,
}


@pytest.mark.parametrize("name", SESSIONS)
def test_first_screen_answers_each_question(bench: Any, tmp_path: Path, name: str) -> None:
    session = REPORTS[name](bench, tmp_path)
    screen, asked = rendered(session)[:ROWS], Asked(session)
    missing = {
        question: wanted
        for question, answer in QUESTIONS.items()
        for wanted in filter(None, answer(asked))
        if not shows(screen, wanted)
    }
    assert missing == {}


def test_text_that_is_not_on_the_screen_is_missing() -> None:
    lines = ["Rate     Confidence", "12 ms    as good or", "         better"]
    assert shows(lines, "as good or better") and shows(lines, "12 ms")
    assert not shows(lines, "12 ms better") and not shows(lines, "as good and better")


def leads(shown: Section) -> Iterator[str]:
    """Yield the texts in front of the tables and lists of each section."""
    for part in shown.content:
        if isinstance(part, Section):
            texts = list(takewhile(lambda each: isinstance(each, str), part.content))
            yield " ".join(map(str, texts)) if len(texts) < len(part.content) else ""
            yield from leads(part)


@pytest.mark.parametrize("name", [*REPORTS, *COMPARISONS])
def test_at_most_one_sentence_stands_in_front_of_a_section(name: str, bench: Any, tmp_path: Path) -> None:
    if name in COMPARISONS:
        documents = [compare.report(COMPARISONS[name](tmp_path))]
    else:
        session = REPORTS[name](bench, tmp_path)
        documents = [report(session), report(session, full=True)]
    found = [lead for document in documents for lead in leads(document)]
    assert [lead for lead in found if re.search(r"[.!?] [A-Z]", lead)] == []


SCREENED = (
    "recorded-classify",
    "demo",
    "lm-train",
    "generate",
    "comparison-recorded",
    "comparison-imported",
    "comprehensive-report",
    "batch-sweep",
    "gpt2-training",
)


def size_of(lines: Sequence[str]) -> tuple[int, int]:
    """Return the number of lines, and the length of the longest one that isn't a heading."""
    return len(lines), max(len(line) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.md")), ids=lambda golden: golden.stem)
def test_golden_report_is_short_and_narrow(golden: Path) -> None:
    count, longest = size_of(golden.read_text().splitlines())
    assert longest <= LONGEST_LINE
    assert count <= 90 or golden.stem not in SHORT


@pytest.mark.parametrize("name", SCREENED)
def test_first_screen_is_as_recorded(bench: Any, tmp_path: Path, name: str) -> None:
    """A file has the size of the Markdown, its longest line, and the first screen of a terminal."""
    if made := COMPARISONS.get(name.removeprefix("comparison-")):
        of: Session | SessionComparison = made(tmp_path)
        document = compare.report(of)
    else:
        of = REPORTS[name](bench, tmp_path)
        document = report(of)
    lines = ["".join(part for part, _ in drawn).rstrip() for drawn in terminal_lines(document, of)]
    assert max(map(len, lines)) <= COLUMNS
    size = "{} lines, longest {}".format(*size_of(render(document).splitlines()))
    shown = "\n".join([size, *lines[:ROWS], ""])
    place = SCREENS / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        place.write_text(shown)
    assert shown == place.read_text()
