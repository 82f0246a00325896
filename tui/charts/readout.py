"""Words of charts: metrics, values with their intervals, and verdicts, independent of Textual."""

from benchtui.sessions.analysis.chart_series import LATENCY, PlotMetric, Value
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.stats.evidence import bounds_ms, rate_bounds
from benchtui.sessions.sweep.options import BY_NAME
from benchtui.sessions.text.formatting import ratio_text
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.model.case_rows import ROLES
from benchtui.tui.model.row_cells import VERDICT_ROLES
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


def with_interval(
    case: CaseState, value: Value | None, figure: PlotMetric, metrics: Metrics | None, judge: CaseVerdicts
) -> Value | None:
    """Return a rate or a typical step with its 95% interval, which holds another session."""
    evidence = judge.evidence(case)
    if value is None or metrics is None or evidence is None:
        return value
    if figure.of is LATENCY.of:
        bounds = bounds_ms(evidence, again=True)
        return Value(value.middle, bounds.low, bounds.high) if bounds else value
    ends, rate = rate_bounds(metrics, evidence), metrics.samples_per_s
    if ends is None or not rate or not figure.higher_is_better:
        return value
    return Value(value.middle, *(end * value.middle / rate for end in ends))


def case_facts(
    case: CaseState, value: Value | None, figure: PlotMetric, judge: CaseVerdicts, symbols: Symbols
) -> list[list[Span]]:
    """Render a case's value, or its state if it has none, its verdict and the value's interval."""
    if value is None:
        return [[state_span(case, symbols)], _verdict(case, judge)]
    bounds: list[Span] = []
    if value.low is not None and value.high is not None:
        low, high = (format.significant(bound, symbols) for bound in (value.low, value.high))
        bounds = [(f"95 %: {low} to {high}", "muted")]
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
    return [word] if ratio.shown is None else [word, (f": {ratio_text(ratio.shown)}x the baseline", "muted")]
