"""The speedup figure of a report on a terminal."""

from benchtui.sessions.compare.align import SessionComparison
from benchtui.sessions.plots.bars import case_speedups, speedup_label
from benchtui.sessions.plots.comparison import case_ratios
from benchtui.sessions.plots.spec import plot_data
from benchtui.sessions.report.content import Section, Speedup, Speedups
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.text.wording import ratio_with_interval


def with_speedups(document: Section, of: Session | SessionComparison) -> Section:
    """Add the figure at the end of a report's first section, if a case has a speedup."""
    rows = _rows(of)
    if not rows:
        return document
    first = next(part for part in document.content if isinstance(part, Section))
    drawn = Section(first.title, (*first.content, Speedups(rows)))
    return Section(document.title, tuple(drawn if part is first else part for part in document.content))


def _rows(of: Session | SessionComparison) -> tuple[Speedup, ...]:
    if isinstance(of, Session):
        data = plot_data(of)
        return tuple(_row(speedup_label(data, row.result), row.ratio) for row in case_speedups(data))
    return tuple(_row(label, ratio) for label, ratio in case_ratios(of))


def _row(label: str, ratio: Ratio) -> Speedup:
    return Speedup(label, ratio.value, ratio.low, ratio.high, ratio.verdict.name, ratio_with_interval(ratio))
