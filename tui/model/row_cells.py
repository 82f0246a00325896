"""Cells of a case's row: its state, ratio, notes, and graphs with their scales. Independent of Textual."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from statistics import median

from benchtui.sessions.payloads import AnswerVerdict
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep import Measure, Work
from benchtui.sessions.text.answers import answer_cell, meaningful_comparison
from benchtui.sessions.text.formatting import not_measured_further, ratio_text
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import history, ratio_bar, ratio_bounds
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.table.case_names import case_name

VERDICT_ROLES: dict[Verdict, str] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.SAME: "plain",
    Verdict.UNSURE: "muted",
    Verdict.REPORTED: "bright",
}
"""Color role of a ratio, by verdict."""

ANSWER_ROLES: dict[AnswerVerdict, str] = {
    "identical": "plain",
    "close": "plain",
    "different": "warning",
    "broken": "bad",
}
"""Color role of a comparison, by verdict."""


def state_text(case: CaseState, measure: Measure, symbols: Symbols) -> str:
    """Format a case's state as symbol and word. Progress is added while running and between rounds."""
    shape = str(getattr(symbols, case.state))
    if case.state != "running" and not case.between_rounds:
        return f"{shape} {case.state}"
    if case.state != "running" and not measure.rounds_auto:
        return f"{shape} {len(case.ends)}/{measure.rounds} rounds"
    if not len(case.measured):
        before = first_step_phase(case) if case.prepared else "loading"
        return f"{shape} {'warm-up' if len(case.warmup) else before}"
    if measure.rounds_auto or not measure.for_device(case.config.device).by_count:
        return f"{shape} {len(case.measured)} steps"
    return f"{shape} {len(case.measured)}/{max(measure.planned_steps, len(case.measured))}"


def first_step_phase(case: CaseState) -> str:
    """Return the phase of a case whose model is loaded and whose first step hasn't ended, in words."""
    return "first step" if case.config.compile == "off" else "compiling"


def note(case: CaseState, shared: frozenset[str] = frozenset()) -> str:
    """Join a case's outcome reason, why it got no further round, and marks (caveats) not in ``shared``."""
    reason = case.finished.reason if case.finished else None
    settled = case.settled and not_measured_further(case.settled)
    parts = (part for part in (reason, settled, *case.marks) if part and part not in shared)
    return format.clean(", ".join(parts))


def ratio_cell(value: float | None, verdict: Verdict, symbols: Symbols) -> Span:
    """Format a ratio to the baseline with the sign and color of its verdict; without a value, only its sign."""
    if value is None:
        return ("?", VERDICT_ROLES[verdict])
    lead = symbols.about if verdict is Verdict.SAME else ""
    sign = {Verdict.UNSURE: "?", Verdict.REPORTED: "*"}.get(verdict, "")
    return (f"{lead}{ratio_text(value)}x{sign}", VERDICT_ROLES[verdict])


def answer_span(case: CaseState, is_baseline: bool, symbols: Symbols) -> Span:
    """Format the verdict on a case's answer, with its color."""
    if case.comparison and case.comparison.verdict:
        cell = answer_cell(meaningful_comparison(case), ascii_only=symbols.about.isascii())
        return (cell or "", ANSWER_ROLES[case.comparison.verdict])
    if is_baseline:
        return ("base", "muted")
    return (symbols.absent if case.finished else "", "muted")


def base_cell(case: CaseState, judge: CaseVerdicts, symbols: Symbols) -> Span:
    """Format how a case compares with its baseline: its ratio, or why there is none."""
    if judge.is_base(case):
        return ("base", "muted")
    if judge.missing_base_reason(case, case_name):
        return ("pending" if judge.has_pending_base(case) else "no base", "muted")
    ratio = judge.verdict(case)
    return ratio_cell(ratio.shown, ratio.verdict, symbols) if ratio else (symbols.absent, "muted")


def ratio_graph(ratio: Ratio, most: float, width: int, symbols: Symbols) -> Sequence[Span]:
    """Draw a ratio and its interval as a bar around 1. Without an interval, the whole bar is light."""
    if ratio.shown is None or not ratio.value > 0:
        return ()
    bounds = ratio_bounds(ratio.value, ratio.low, ratio.high)
    return ratio_bar(bounds, most, width, symbols, VERDICT_ROLES[ratio.verdict])


def steps_trace(case: CaseState, width: int, symbols: Symbols) -> str:
    """Draw a case's measured steps over time as a sparkline from 0 to twice the median.

    Empty if its steps aren't in memory.
    """
    times = case.measured.wall_ms if case.steps_in_memory else ()
    if not len(times):
        return ""
    columns = min(width, len(times))
    edges = [place * len(times) // columns for place in range(columns + 1)]
    parts = [times[start:end] for start, end in pairwise(edges)]
    means = [sum(part) / len(part) for part in parts]
    return history(means, 2 * median(means), len(means), symbols)


LEAST_SPAN = 1.5
"""Smallest ratio at the end of a ratio's bar, so that small differences look small."""


class BarScales:
    """Right ends of the bars."""

    def __init__(self) -> None:
        self.most_rate: float | None = None
        """Highest throughput of all cases in samples/s, also of those still running."""
        self.span = LEAST_SPAN
        """Largest ratio of two throughputs of the same work, and of any to its baseline."""
        self._ranges: dict[Work, tuple[float, float]] = {}
        """Lowest and highest positive throughput, by work."""

    def add_measured(self, work: Work, rate: float | None) -> None:
        """Widen the scales for the throughput of a case that has ended, or of its rounds so far."""
        if rate is None or not isfinite(rate):
            return
        self.widen(rate)
        if rate > 0:
            least, most = self._ranges.get(work, (rate, rate))
            least, most = self._ranges[work] = min(least, rate), max(most, rate)
            self.span = max(self.span, most / least)

    def widen(self, rate: float) -> bool:
        """Widen the scale of throughputs to this one. Return whether it was higher than all before."""
        higher = self.most_rate is None or rate > self.most_rate
        self.most_rate = rate if higher else self.most_rate
        return higher
