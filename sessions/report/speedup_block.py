"""The speedup figure as a block of a report, which terminals draw as bars."""

from collections.abc import Sequence

import msgspec

from benchtui.sessions.compare.align import SessionComparison
from benchtui.sessions.files import visible_json
from benchtui.sessions.plots.bars import case_speedups, speedup_label
from benchtui.sessions.plots.comparison import case_ratios
from benchtui.sessions.plots.spec import plot_data
from benchtui.sessions.report.content import Section
from benchtui.sessions.report.reproduce import FENCE
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.text.markdown import Markdown
from benchtui.sessions.text.wording import ratio_with_interval

SPEEDUPS = "speedups"
"""Info string of the fenced block. Text from a session can't begin a block."""


class Speedup(msgspec.Struct, frozen=True):
    """A case with its speed relative to the baseline, or to the base of a comparison."""

    case: str
    value: float
    low: float | None
    high: float | None
    """95% interval."""
    verdict: str
    text: str
    """The ratio with its interval, as the report prints it."""


def with_speedups(document: Section, of: Session | SessionComparison) -> Section:
    """Add the block at the end of a report's first section, if a case has a speedup."""
    rows = _rows(of)
    if not rows:
        return document
    block = Markdown(f"{FENCE}{SPEEDUPS}\n{visible_json.encode(rows).decode()}\n{FENCE}")
    first = next(part for part in document.content if isinstance(part, Section))
    drawn = Section(first.title, (*first.content, block))
    return Section(document.title, tuple(drawn if part is first else part for part in document.content))


def _rows(of: Session | SessionComparison) -> Sequence[Speedup]:
    if isinstance(of, Session):
        data = plot_data(of)
        return [_row(speedup_label(data, row.result), row.ratio) for row in case_speedups(data)]
    return [_row(label, ratio) for label, ratio in case_ratios(of)]


def _row(label: str, ratio: Ratio) -> Speedup:
    return Speedup(label, ratio.value, ratio.low, ratio.high, ratio.verdict.name, ratio_with_interval(ratio))
