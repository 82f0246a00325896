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
    """Add the figure to a report's first section, before the notes at its end, if a case has a speedup."""
    rows = _rows(of)
    if not rows:
        return document
    first = next(part for part in document.content if isinstance(part, Section))
    end = len(first.content) - isinstance(first.content[-1], str)
    drawn = Section(first.title, (*first.content[:end], Speedups(rows), *first.content[end:]))
    return Section(document.title, tuple(drawn if part is first else part for part in document.content))


def _rows(of: Session | SessionComparison) -> tuple[Speedup, ...]:
    if isinstance(of, Session):
        data = plot_data(of)
        return tuple(
            _row(speedup_label(row.result), row.ratio, str(row.result.config.work))
            for row in case_speedups(data)
        )
    return tuple(_row(label, ratio) for label, ratio in case_ratios(of))


def _row(label: str, ratio: Ratio, work: str = "") -> Speedup:
    text = ratio_with_interval(ratio)
    return Speedup(label, ratio.value, ratio.low, ratio.high, ratio.verdict.name, text, work)
