"""Words of charts: metrics, values with their intervals, and verdicts, independent of Textual."""

from benchtui.sessions.analysis.chart_series import PlotMetric, Value
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep.options import BY_NAME
from benchtui.sessions.text.formatting import ratio_text, span
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.model.case_rows import ROLES
from benchtui.tui.model.row_cells import VERDICT_ROLES, ratio_cell
from benchtui.tui.table.case_names import case_name


def title(figure: PlotMetric) -> str:
    """Return a metric's name with its unit, unless the name already includes it."""
    return figure.name if figure.unit in ("1/s", "") else f"{figure.name}, {figure.unit}"


def option_words(axis: str) -> str:
    """Return an option's name in words."""
    return axis.replace("_", " ")


def option_word(axis: str) -> str:
    """Return an option as one word, as in case names."""
    return BY_NAME[axis].prefix.rstrip("=") or axis


def state_span(case: CaseState, symbols: Symbols) -> Span:
    """Return a case's state with its sign."""
    return (f"{getattr(symbols, case.state)} {case.state}", ROLES[case.state])


def case_facts(
    case: CaseState, value: Value | None, figure: PlotMetric, judge: CaseVerdicts, symbols: Symbols
) -> list[list[Span]]:
    """Render a case's value, or its state if it has none, its verdict and the value's interval."""
    if value is None:
        return [[state_span(case, symbols)], _verdict(case, judge)]
    shown = span(
        *(None if end is None else format.significant(end, symbols) for end in (value.low, value.high))
    )
    percent = judge.half_width_percent(case) if figure.higher_is_better else None  # holds fresh processes, too
    text = f"95 %: {shown}" if percent is None else format.half_width(percent, symbols)
    bounds: list[Span] = [(text, "muted")] if shown else []
    middle = (format.significant(value.middle, symbols), "bright")
    return [[middle, (f" {figure.unit_words}", "muted")], _verdict(case, judge), bounds]


def _verdict(case: CaseState, judge: CaseVerdicts) -> list[Span]:
    """Render a case's verdict and its ratio to the baseline, worded as in the report."""
    if judge.is_base(case):
        return [("the baseline", "muted")]
    ratio = judge.verdict(case)
    if ratio is None:
        why = format.clean(judge.missing_base_reason(case, case_name))
        return [(why, "muted")] if why else []
    word = (ratio.verdict.name, VERDICT_ROLES[ratio.verdict])
    return [word, (f": {ratio_text(ratio.value)}x the baseline", "muted")]


def ratio_span(case: CaseState, judge: CaseVerdicts, symbols: Symbols) -> Span:
    """Return a case's ratio to the baseline with the prefix and color of its verdict."""
    if judge.is_base(case):
        return ("base", "muted")
    ratio = judge.verdict(case)
    if ratio is None:
        return (symbols.absent, "muted")
    return ratio_cell(ratio.value, ratio.verdict, symbols)
