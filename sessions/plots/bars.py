"""Plots with one row per case: speedups, compile cost, parts of a step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchtui.sessions.plots import style
from benchtui.sessions.plots.spec import Plan, PlotData, SkippedPlot, step_counts
from benchtui.sessions.stats.ratios import pairs, throughput_ratio
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.text.labels import case_label, unverified_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 30
ROW_IN = 0.24
WIDE = 8
"""Largest over smallest ratio above which the axis is logarithmic."""
DOUBT = " ?"
"""Suffix of a case's name if one of its options wasn't verified as applied."""
REST = "rest"
"""Label of the step time that no part accounts for."""


@dataclass(frozen=True, slots=True)
class CaseSpeedup:
    """A case and its throughput relative to the baseline."""

    result: Result
    ratio: Ratio

    @property
    def sure(self) -> bool:
        """Whether the case is certainly faster or slower than its baseline."""
        return self.ratio.verdict in (Verdict.FASTER, Verdict.SLOWER)


def speedups(data: PlotData) -> Plan | SkippedPlot:
    """Plan the plot of throughput relative to the baseline, best case first."""
    found = case_speedups(data)
    bases = [base.name for base in data.baselines.values()]
    if not found:
        return SkippedPlot("speedup", "no case other than the baseline has a throughput")
    against = bases[0] if len(bases) == 1 else "the baseline of its sequence length"
    shown = found[:MOST_ROWS]
    labels = [_label(data, each.result) for each in shown]
    more = _more(found, "fastest")
    caption = (
        f"Samples per second at the typical step, over {style.label(against)}. {step_counts(data.results)}"
        f" Bars: 95% interval. Hollow: same or unsure.{_doubtful(labels)}{_out_of_memory_note(data)}{more}"
    )
    draw = partial(_draw_speedups, found=shown, labels=labels)
    return Plan("speedup", "Decision", "Speedup over the baseline", caption, draw, _height(shown))


def case_speedups(data: PlotData) -> list[CaseSpeedup]:
    """Return every case except the baselines, fastest first."""
    held = ((data.baselines.get(result.config.work), result) for result in data.results)
    ratios = ((result, throughput_ratio(base, result)) for base, result in held if base and base is not result)
    found = [CaseSpeedup(result, ratio) for result, ratio in ratios if ratio]
    return sorted(found, key=lambda place: -place.ratio.value)


def compiling(data: PlotData) -> Plan | SkippedPlot:
    """Plan the plot of compile cost (cold steps beyond steady ones) and median step."""
    rows = compiled_and_not(data)
    if not rows:
        return SkippedPlot("compile", "no compiled case has recorded steps")
    shown, more = rows[:MOST_ROWS], _more(rows, "first")
    doubt_note = _doubtful(_label(data, result) for result in shown)
    caption = (
        "Left: time of the first step, and of warm-up steps in which torch compiled, beyond steady ones."
        " Right: median step, which compiling should shorten; bars: 95% interval."
        f" {step_counts(rows)}{doubt_note}{more}"
    )
    draw = partial(_draw_compiling, data=data, rows=shown)
    return Plan(
        "compile", "What each option brings", "Compile cost and step time", caption, draw, _height(shown)
    )


def compiled_and_not(data: PlotData) -> list[Result]:
    """Return each compiled case that kept its steps, preceded by its uncompiled counterpart if there is one."""
    known = [result for result in data.results if result.metrics.cold_cost_ms is not None]
    bases = {pair.new.case.index: pair.base for pair in pairs(known, "compile", "off")}
    found: dict[int, Result] = {}
    for result in known:
        if result.config.compile != "off":
            for each in (bases.get(result.case.index, result), result):
                found.setdefault(each.case.index, each)
    return list(found.values())


def parts(data: PlotData) -> Plan | SkippedPlot:
    """Plan the plot of each part's share of the mean step."""
    rows = [result for result in data.results if result.metrics.parts_ms and result.metrics.latency_ms.mean]
    if not rows:
        return SkippedPlot("parts", "no case has timed parts")
    fastest = sorted(rows, key=lambda result: result.metrics.samples_per_s or 0.0, reverse=True)[:MOST_ROWS]
    kept = {result.case.index for result in fastest}
    shown = [result for result in rows if result.case.index in kept]
    more = _more(rows, "fastest")
    caption = f"Shares of the mean step, whose time is on the right. {step_counts(rows)}{more}"
    draw = partial(_draw_parts, data=data, rows=shown)
    return Plan("parts", "Results", "Parts of a step", caption, draw, _height(shown) + 0.3)


def shares(result: Result) -> dict[str, float]:
    """Return the percentage of the mean step for each part. The remainder, if any, comes last."""
    whole = result.metrics.latency_ms.mean
    found = {name: 100 * spread.mean / whole for name, spread in result.metrics.parts_ms.items()}
    rest = 100 - sum(found.values())
    return {**found, REST: rest} if rest > 0.05 else found


def _label(data: PlotData, result: Result) -> str:
    return style.label(f"{case_label(result.config, data.kinds)}{DOUBT if unverified_options(result) else ''}")


def _more(found: Sequence[object], which: str) -> str:
    """Describe which rows are drawn, if there are too many."""
    return f" The {MOST_ROWS} {which} of {len(found):,} cases." if len(found) > MOST_ROWS else ""


def _doubtful(labels: Iterable[str]) -> str:
    return (
        f"{DOUBT}: an option wasn't verified as applied."
        if any(label.endswith(DOUBT) for label in labels)
        else ""
    )


def _out_of_memory_note(data: PlotData) -> str:
    amount = sum(case.state == "oom" for case in data.session.cases)
    return f" {amount:,} of {len(data.session.cases):,} cases ran out of memory." if amount else ""


def _height(rows: Sequence[object]) -> float:
    return 1.7 + ROW_IN * len(rows)


def _rows(axes: "Axes", labels: Sequence[str]) -> None:
    """Label the rows, the first one on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.10g}")


def _draw_speedups(figure: "Figure", found: Sequence[CaseSpeedup], labels: Sequence[str]) -> None:
    axes = figure.subplots()
    axes.axvline(1, color=style.FAINT, linewidth=1, linestyle="--")
    for row, place in enumerate(found):
        color = style.COLORS[0] if place.ratio.value >= 1 else style.COLORS[1]
        if place.ratio.low is not None and place.ratio.high is not None:
            axes.hlines(row, place.ratio.low, place.ratio.high, colors=color, linewidth=1.4)
        marker = "o" if place.ratio.value >= 1 else "s"
        face = color if place.sure else style.PAPER
        axes.plot([place.ratio.value], [row], marker, color=color, markerfacecolor=face, markersize=6)
    values = [place.ratio.value for place in found]
    wide = min(values) > 0 and max(values) / min(values) > WIDE
    if wide:
        axes.set_xscale("log", base=2)
    _rows(axes, labels)
    axes.set_xlabel(f"Throughput relative to the baseline (×{', log scale' if wide else ''})")


def _draw_compiling(figure: "Figure", data: PlotData, rows: Sequence[Result]) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    for row, result in enumerate(rows):
        compiled = result.config.compile != "off"
        color, pattern = (style.COLORS[1], "///") if compiled else (style.COLORS[4], "")
        left.barh(row, (result.metrics.cold_cost_ms or 0) / 1000, 0.62, color=color, hatch=pattern)
        spread = result.metrics.latency_ms
        if spread.low is not None and spread.high is not None:
            right.hlines(row, spread.low, spread.high, colors=style.INK, linewidth=1.2)
        right.plot([result.typical_ms], [row], "s" if compiled else "o", color=color, markersize=6)
    for axes, unit in ((left, "Cold steps beyond steady ones (s)"), (right, "Median step (ms)")):
        _rows(axes, [_label(data, result) for result in rows])
        axes.set_xlim(left=0)
        axes.set_xlabel(unit)
    right.tick_params(axis="y", labelleft=False)


def _draw_parts(figure: "Figure", data: PlotData, rows: Sequence[Result]) -> None:
    axes = figure.subplots()
    found = [shares(result) for result in rows]
    names = dict.fromkeys(name for row in found for name in row if name != REST)
    if any(REST in row for row in found):
        names[REST] = None
    starts = [0.0] * len(rows)
    for place, name in enumerate(names):
        widths = [row.get(name, 0.0) for row in found]
        color, pattern = (style.GRID, "") if name == REST else (style.color(place), style.hatch(place))
        axes.barh(
            range(len(rows)), widths, 0.7, starts, color=color, hatch=pattern, label=style.label(name, 30)
        )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    for row, result in enumerate(rows):
        axes.annotate(_time(result), (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    _rows(axes, [_label(data, result) for result in rows])
    axes.set_xlim(0, max(100.0, *starts))
    axes.set_xlabel("Share of the mean step (%)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, borderaxespad=0.2)


def _time(result: Result) -> str:
    return f"{result.metrics.latency_ms.mean:,.4g} ms"
