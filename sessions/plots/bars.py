"""Plots with one row per case: speedups, compile cost, parts of a step."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.plots import style
from benchtui.sessions.plots.spec import Plan, PlotData, SkippedPlot, Value, step_counts, value_text
from benchtui.sessions.stats.ratios import matched, throughput_ratio
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.text.formatting import number, percent, ratio_text, time_ms
from benchtui.sessions.text.labels import unverified_options, without_shared_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 30
ROW_IN = 0.24
WIDE = 8
"""Largest over smallest ratio above which the axis is logarithmic."""
DOUBT = " ?"
"""Suffix of a case's name if one of its options wasn't verified as applied."""
DIVERGED = " (diverged)"
REST = "rest"
"""Label of the step time that no part accounts for."""


class CaseSpeedup(msgspec.Struct, frozen=True):
    """A case and its throughput relative to the baseline."""

    result: Result
    ratio: Ratio


def speedups(data: PlotData) -> Plan | SkippedPlot:
    """Plan the plot of throughput relative to the baseline, best case first."""
    cases = case_speedups(data)
    bases = [base.name for base in data.baselines.values()]
    if not cases:
        return SkippedPlot("speedup", "no case has a ratio to its baseline")
    against = bases[0] if len(bases) == 1 else "the baseline of the same workload"
    shown = cases[:MOST_ROWS]
    labels = [speedup_label(speedup.result) for speedup in shown]
    more = _more(cases, "fastest")
    bars = " Bars: 95% interval." if any(speedup.ratio.bounds for speedup in shown) else ""
    caption = (
        f"Samples per second at the typical step, over {style.label(against)}. {step_counts(data.results)}"
        f"{bars} Hollow: same, unsure or reported.{_doubtful(labels)}{_out_of_memory_note(data)}{more}"
    )
    draw = partial(
        draw_ratios,
        ratios=[speedup.ratio for speedup in shown],
        labels=labels,
        title="Throughput relative to the baseline",
    )
    return Plan("speedup", "", "Speedup over the baseline", caption, draw, height_of(shown))


def case_speedups(data: PlotData) -> list[CaseSpeedup]:
    """Return every case with a ratio to show to its baseline, fastest first."""
    held = ((data.baselines.get(result.config.work), result) for result in data.results)
    ratios = ((result, throughput_ratio(base, result)) for base, result in held if base and base is not result)
    shown = [CaseSpeedup(result, ratio) for result, ratio in ratios if ratio and ratio.shown is not None]
    return sorted(shown, key=lambda place: -place.ratio.value)


def compiling(data: PlotData) -> Plan | SkippedPlot:
    """Plan the plot of compile cost (cold steps above steady state) and typical step."""
    rows = compiled_and_not(data)
    if not rows:
        return SkippedPlot("compile", "no compiled case has recorded steps")
    shown, more = rows[:MOST_ROWS], _more(rows, "first")
    doubt_note = _doubtful(speedup_label(result) for result in shown)
    caption = (
        "Left: time of the first step, and of warm-up steps in which torch compiled, above steady state."
        " Right: typical step, which compiling should shorten; bars: 95% interval."
        f" {step_counts(rows)}{doubt_note}{more}"
    )
    draw = partial(_draw_compiling, rows=shown)
    return Plan(
        "compile", "What each option brings", "Compile cost and step time", caption, draw, height_of(shown)
    )


def compiled_and_not(data: PlotData) -> list[Result]:
    """Return each compiled case with recorded steps, preceded by its uncompiled counterpart if there is one."""
    timed = [result for result in data.results if result.metrics.cold_cost_ms is not None]
    bases = {new.case.index: base for base, new in matched(timed, "compile", "off")}
    rows: dict[int, Result] = {}
    for result in timed:
        if result.config.compile != "off":
            for side in (bases.get(result.case.index, result), result):
                rows.setdefault(side.case.index, side)
    return list(rows.values())


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
    draw = partial(_draw_parts, rows=shown)
    return Plan("parts", "Results", "Step breakdown", caption, draw, height_of(shown) + 0.3)


def shares(result: Result) -> dict[str, float]:
    """Return the percentage of the mean step for each part. The remainder, if any, comes last."""
    whole = result.metrics.latency_ms.mean
    percentages = {name: 100 * spread.mean / whole for name, spread in result.metrics.parts_ms.items()}
    rest = 100 - sum(percentages.values())
    return {**percentages, REST: rest} if rest > 0.05 else percentages


def speedup_label(result: Result) -> str:
    """Name a case, marked if its loss diverged or an option wasn't verified."""
    diverged = DIVERGED if result.metrics.diverged else ""
    doubt = DOUBT if unverified_options(result) else ""
    return style.label(f"{result.name}{diverged}{doubt}")


def _more(cases: Sequence[object], which: str) -> str:
    """Describe which rows are drawn, if there are too many."""
    return f" The {MOST_ROWS} {which} of {len(cases):,} cases." if len(cases) > MOST_ROWS else ""


def _doubtful(labels: Iterable[str]) -> str:
    return (
        f"{DOUBT}: an option wasn't verified as applied."
        if any(label.endswith(DOUBT) for label in labels)
        else ""
    )


def _out_of_memory_note(data: PlotData) -> str:
    amount = sum(case.state == "oom" for case in data.session.cases)
    return f" {amount:,} of {len(data.session.cases):,} cases ran out of memory." if amount else ""


def height_of(rows: Sequence[object]) -> float:
    """Return the height of a plot with these rows, in inches."""
    return 1.7 + ROW_IN * len(rows)


def _rows(axes: "Axes", labels: Sequence[str]) -> None:
    """Label the rows, the first one on top. What all labels share stands above them."""
    shared, own = without_shared_words(labels)
    if shared:
        axes.set_title(f"all: {style.label(shared)}", loc="left", fontsize=8, color=style.FAINT)
    axes.set_yticks(range(len(labels)), [style.label(text) for text in own])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter(style.plain_number)


def draw_ratios(figure: "Figure", ratios: Sequence[Ratio], labels: Sequence[str], title: str) -> list[Value]:
    """Draw a row for each ratio, with its interval. Markers are hollow unless it is FASTER or SLOWER."""
    axes = figure.subplots()
    axes.axvline(1, color=style.FAINT, linewidth=1, linestyle="--")
    for row, ratio in enumerate(ratios):
        color, marker = (style.COLORS[0], "o") if ratio.value >= 1 else (style.COLORS[1], "s")
        if ratio.low is not None and ratio.high is not None:
            axes.hlines(row, ratio.low, ratio.high, colors=color, linewidth=1.4)
        face = color if ratio.verdict in (Verdict.FASTER, Verdict.SLOWER) else style.PAPER
        axes.plot([ratio.value], [row], marker, color=color, markerfacecolor=face, markersize=6)
    values = [ratio.value for ratio in ratios]
    wide = min(values) > 0 and max(values) / min(values) > WIDE
    if wide:
        axes.set_xscale("log", base=2)
    _rows(axes, labels)
    axes.set_xlabel(f"{title} (×{', log scale' if wide else ''})")
    return [
        Value(axes.transData, (ratio.value,) * 2, (row,) * 2, value_text(label, *_ratio(ratio)))
        for row, (label, ratio) in enumerate(zip(labels, ratios, strict=True))
    ]


def _ratio(ratio: Ratio) -> tuple[str, str | None, str | None]:
    low, high = (None if end is None else ratio_text(end, ratio.value) for end in (ratio.low, ratio.high))
    return f"{ratio_text(ratio.value)} ×", low, high


def _draw_compiling(figure: "Figure", rows: Sequence[Result]) -> list[Value]:
    left, right = figure.subplots(1, 2, sharey=True)
    for row, result in enumerate(rows):
        compiled = result.config.compile != "off"
        color, pattern = (style.COLORS[1], "///") if compiled else (style.COLORS[4], "")
        left.barh(row, (result.metrics.cold_cost_ms or 0) / 1000, 0.62, color=color, hatch=pattern)
        if (bounds := result.typical_bounds) and bounds.high < inf:
            right.hlines(row, bounds.low, bounds.high, colors=style.INK, linewidth=1.2)
        right.plot([result.typical_ms], [row], "s" if compiled else "o", color=color, markersize=6)
    for axes, unit in ((left, "Cold cost (s)"), (right, "Typical step (ms)")):
        _rows(axes, [speedup_label(result) for result in rows])
        axes.set_xlim(left=0)
        axes.set_xlabel(unit)
    right.tick_params(axis="y", labelleft=False)
    right.set_title("", loc="left")
    return [value for row, result in enumerate(rows) for value in _compile_values(left, right, row, result)]


def _compile_values(left: "Axes", right: "Axes", row: int, result: Result) -> Iterator[Value]:
    cost_s, name = (result.metrics.cold_cost_ms or 0) / 1000, result.name
    step_ms = f"{time_ms(result.typical_ms)} ms"
    yield Value(left.transData, (0, cost_s), (row - 0.31, row + 0.31), value_text(name, f"{number(cost_s)} s"))
    ends = (time_ms(bounds.low), time_ms(bounds.high)) if (bounds := result.typical_bounds) else ()
    text = value_text(name, step_ms, *ends)
    yield Value(right.transData, (result.typical_ms,) * 2, (row,) * 2, text)


def _draw_parts(figure: "Figure", rows: Sequence[Result]) -> list[Value]:
    axes = figure.subplots()
    rows_of_shares = [shares(result) for result in rows]
    names = dict.fromkeys(name for row in rows_of_shares for name in row if name != REST)
    if any(REST in row for row in rows_of_shares):
        names[REST] = None
    starts, values = [0.0] * len(rows), list[Value]()
    for place, name in enumerate(names):
        widths = [row.get(name, 0.0) for row in rows_of_shares]
        color, pattern = (style.GRID, "") if name == REST else (style.color(place), style.hatch(place))
        axes.barh(
            range(len(rows)), widths, 0.7, starts, color=color, hatch=pattern, label=style.label(name, 30)
        )
        ends = [start + width for start, width in zip(starts, widths, strict=True)]
        for row, (result, start, end) in enumerate(zip(rows, starts, ends, strict=True)):
            text = value_text(result.name, f"{name} {percent((end - start) / 100)} %")
            values.append(Value(axes.transData, (start, end), (row - 0.35, row + 0.35), text))
        starts = ends
    for row, result in enumerate(rows):
        time = f"{time_ms(result.metrics.latency_ms.mean)} ms"
        axes.annotate(time, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    _rows(axes, [speedup_label(result) for result in rows])
    axes.set_xlim(0, max(100.0, *starts))
    axes.set_xlabel("Share of the mean step (%)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, borderaxespad=0.2)
    return [value for value in values if value.x[0] < value.x[1]]
