"""The first 24 lines at 80 columns answer what a reader asks first; golden reports stay short and narrow."""

from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.advice.conclusion import Conclusion
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.overview.choices import choices
from benchtui.sessions.report.overview.short_facts import devices
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured
from benchtui.sessions.text.conclusion import certainty_so_far, headline_figure
from benchtui.sessions.text.formatting import memory, ratio_text
from benchtui.sessions.text.markdown import LONGEST_LINE, plain
from benchtui.sessions.text.wording import compile_time, unverified_note

from .test_golden import GOLDEN, REPORTS

ROWS, COLUMNS = 24, 80
SESSIONS = (
    "demo",
    "demo-cpu",
    "quick-cpu",
    "comprehensive-report",
    "gpt2-training",
    "lm-train",
    "generate",
    "recorded-classify",
)


def first_screen(report: str) -> str:
    """Return what a terminal shows of a report without scrolling, in one line."""
    shown, rows = [], 0
    for line in report.splitlines():
        rows += max(1, ceil(len(line) / COLUMNS))
        if rows > ROWS:
            break
        shown.append(line)
    return " ".join(" ".join(shown).split())


class Asked:
    """A session with the choices of its first workload."""

    def __init__(self, session: Session) -> None:
        self.session, self.results = session, measured(session)
        made = choices(session, self.results)
        self.throughput: Conclusion = next(iter(made["throughput"].values()))
        self.latency: Conclusion = next(iter(made["latency"].values()))

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
    "how much of the plan": lambda asked: [f"Measured: {len(asked.results)} of "],
    "which batch size for throughput": lambda asked: [f"bs={asked.throughput.best.config.batch_size}"],
    "how fast": lambda asked: [headline_figure(asked.throughput.best, asked.throughput.choice)],
    "which batch size for latency": lambda asked: [f"bs={asked.latency.best.config.batch_size}"],
    "how long a step": lambda asked: [headline_figure(asked.latency.best, asked.latency.choice)],
    "how sure": lambda asked: [certainty_so_far(asked.throughput)],
    "against the baseline": lambda asked: asked.ratio,
    "at what memory": lambda asked: [memory(asked.throughput.best.case.peak_memory_mb)],
    "what compiling costs, and whether options applied": lambda asked: [
        compile_time(asked.throughput.best, asked.throughput.baseline),
        unverified_note(asked.throughput.best),
    ],
    "what would settle it": lambda asked: asked.settles,
}


@pytest.mark.parametrize("name", SESSIONS)
def test_first_screen_answers_each_question(bench: Any, tmp_path: Path, name: str) -> None:
    session = REPORTS[name](bench, tmp_path)
    screen, asked = first_screen(markdown(session)), Asked(session)
    missing = {
        question: wanted
        for question, answer in QUESTIONS.items()
        for wanted in filter(None, answer(asked))
        if plain(wanted) not in screen
    }
    assert missing == {}


SIZES = {
    "recorded-classify": 90,
    "demo": 90,
    "lm-train": 100,
    "generate": 100,
    "comparison-recorded": 135,
    "comprehensive-report": 90,
    "batch-sweep": 90,
    "gpt2-training": 90,
}
"""Most lines of the reports that were once 129, 177 and more lines of up to 412 characters."""


@pytest.mark.parametrize("name", SIZES)
def test_golden_report_is_short_and_narrow(name: str) -> None:
    lines = (GOLDEN / f"{name}.md").read_text().splitlines()
    prose = [line for line in lines if not line.startswith("#")]
    assert len(lines) <= SIZES[name]
    assert max(map(len, prose)) <= LONGEST_LINE
