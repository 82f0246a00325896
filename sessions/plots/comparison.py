"""Plots of a comparison: the ratio of each case, and throughput and latency of all sessions over batch size."""

from functools import partial

from msgspec.structs import replace

from benchtui.sessions.compare.align import LETTERS, SessionComparison, by_change
from benchtui.sessions.plots import bars, curves, style
from benchtui.sessions.plots.spec import Plan, PlotData, SkippedPlot, step_counts
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio


def plans(compared: SessionComparison) -> list[Plan | SkippedPlot]:
    """Plan all plots of a comparison, in the order of the document."""
    results = [result for side in compared.sides for result in side.results]
    return [
        _over_batch(compared, results, curves.throughput(results)),
        _over_batch(compared, results, curves.latency(results)),
        _ratios(compared, results),
    ]


def _over_batch(compared: SessionComparison, results: list[Result], curve: curves.Curve) -> Plan | SkippedPlot:
    batch_lines = []
    for letter, side in zip(LETTERS, compared.sides, strict=False):
        data = PlotData(side.session, side.results, {})
        lines = curves.lines(data, curve)
        batch_lines += [replace(line, label=f"{letter}: {line.label}", side=f"{letter}: ") for line in lines]
    return curves.plan_lines(batch_lines, f"{_names(compared)} {step_counts(results)}", curve, "Interpretation")


def _ratios(compared: SessionComparison, results: list[Result]) -> Plan | SkippedPlot:
    paired, several = case_ratios(compared), len(compared.against) > 1
    if not paired:
        return SkippedPlot("ratios", "no case was measured in both sessions")
    shown = paired[: bars.MOST_ROWS]
    new = "The new session" if several else compared.against[0].new_letter
    draw = partial(
        bars.draw_ratios,
        ratios=[ratio for _, ratio in shown],
        labels=[label for label, _ in shown],
        title=f"{new} relative to A: above 1 it is faster",
    )
    signs = "Bars: 95% interval. Hollow: same, unsure or reported."
    caption = f"{_names(compared)} Typical steps. {step_counts(results)} {signs}"
    more = f" The first {len(shown)} of {len(paired):,} cases." if len(shown) < len(paired) else ""
    return Plan(
        "ratios", "", "Speed of each case relative to A", f"{caption}{more}", draw, bars.height_of(shown)
    )


def case_ratios(compared: SessionComparison) -> list[tuple[str, Ratio]]:
    """Return the name of each case with its ratio, the largest change of each session first."""
    several = len(compared.against) > 1
    return [
        (style.label(f"{f'{against.new_letter}: ' if several else ''}{row.case.name}"), ratio)
        for against in compared.against
        for row in by_change(against.compared)
        if (ratio := row.ratio) and ratio.shown is not None
    ]


def _names(compared: SessionComparison) -> str:
    """Name the session of each letter, because a plot may be viewed without its report."""
    pairs = zip(LETTERS, compared.sides, strict=False)
    return f"{', '.join(f'{letter}: {style.label(side.name)}' for letter, side in pairs)}."
