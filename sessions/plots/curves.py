"""Plots over batch size with one line per series. Sizes that ran out of memory are marked at the top."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import Better, CaseData, Quantity
from benchtui.sessions.metrics.views import COMPARED_BY, shown
from benchtui.sessions.plots import style
from benchtui.sessions.plots.spec import Plan, PlotData, SkippedPlot, Value, step_counts, value_text
from benchtui.sessions.stats.quantiles import LEAST_FOR_P95
from benchtui.sessions.stats.results import Result, series_key, task_of
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.labels import without_shared_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

HEIGHT_IN = 3.7
MOST_LINES = 24
MOST_TICKS = 14
LANE, MOST_LANES = 0.06, 8
"""Height of a lane of out-of-memory marks, as a share of the axis, and the number of lanes."""
WIDE = 20
"""Largest over smallest value above which the y axis is logarithmic."""


class Point(msgspec.Struct, frozen=True):
    """Value at one measured batch size. ``low`` and ``high`` are the ends of its bar."""

    batch_size: int
    value: float
    low: float | None = None
    high: float | None = None


class Line(msgspec.Struct, frozen=True):
    """A series: its measured points, and the batch sizes that ran out of memory."""

    label: str
    points: tuple[Point, ...]
    out_of_memory: tuple[int, ...]
    config: Config
    """One of its cases."""
    side: str = ""
    """Letter of its session in a comparison."""


BEST = {"higher": "highest", "lower": "lowest", None: "first"}


class Curve(msgspec.Struct, frozen=True):
    """A quantity to plot over batch size."""

    name: str
    title: str
    row: Quantity
    """The quantity, whose heading labels the y axis, and whose better values are drawn of too many series."""
    to_point: Callable[[Result], Point | None]
    caption: str
    missing_reason: str
    """Why the plot is skipped if no case has a value."""
    bars: str = ""
    """Meaning of the bars, shown after the caption if there are any."""


def throughput(results: Sequence[Result]) -> Curve:
    """Return the throughput to plot, in the unit of the first case: tokens of a language model, or samples."""
    unit = results[0].headline_rate[1] if results else task_of(results).unit
    row = shown(COMPARED_BY["throughput"], unit=unit)
    return Curve(
        "throughput",
        "Throughput",
        row,
        partial(_throughput, unit=unit),
        "",
        "no case has a throughput",
        bars="Bars: 95% interval, over the rounds if there are at least three, else within one process.",
    )


def latency(results: Sequence[Result]) -> Curve:
    """Return the step time to plot: the typical step, or the mean if no case has a median."""
    medians = any(result.metrics.latency_ms.median is not None for result in results)
    return Curve(
        "latency",
        "Latency",
        quantity(COMPARED_BY["latency"]),
        _latency,
        "Typical step." if medians else "Mean step.",
        "no case was measured",
        bars=f"Bars: from the fastest step to p95, or to the slowest with fewer than {LEAST_FOR_P95} steps.",
    )


def plan(data: PlotData, curve: Curve) -> Plan | SkippedPlot:
    """Plan the plot of a quantity over batch size."""
    return plan_lines(lines(data, curve), step_counts(data.results), curve)


def lines(data: PlotData, curve: Curve) -> list[Line]:
    """Return the series with a value or an out-of-memory case, in the order of the plan."""
    by_series: dict[tuple[object, ...], tuple[Config, list[Point], list[int]]] = {}
    results = {result.case.index: result for result in data.results}
    for case in data.session.cases:
        _, points, ended = by_series.setdefault(series_key(case.config), (case.config, [], []))
        result = results.get(case.index)
        if case.state == "oom":
            ended.append(case.config.batch_size)
        elif result and (point := curve.to_point(result)):
            points.append(point)
    return [
        Line(
            config.name if config.label else config.family,
            tuple(sorted(points, key=lambda point: point.batch_size)),
            tuple(sorted(set(ended))),
            config,
        )
        for config, points, ended in by_series.values()
        if points or ended
    ]


def plan_lines(
    candidates: list[Line], counts: str, curve: Curve, section: str = "Results"
) -> Plan | SkippedPlot:
    """Plan the plot of a quantity over batch size. ``counts`` describes the steps behind it."""
    if not any(line.points for line in candidates):
        return SkippedPlot(curve.name, curve.missing_reason)
    shown, more = _best(candidates, curve.row.better), ""
    _, names = without_shared_words([line.label for line in shown])
    shown = [
        replace(line, label=style.label(name or line.label)) for line, name in zip(shown, names, strict=True)
    ]
    if len(candidates) > MOST_LINES:
        more += f" The {MOST_LINES} of {len(candidates):,} series with the {BEST[curve.row.better]} values."
    points = [point for line in shown for point in line.points]
    bars = curve.bars if any(None not in (point.low, point.high) for point in points) else ""
    said = (counts, curve.caption, bars, more.strip())
    return Plan(
        name=curve.name,
        section=section,
        title=f"{curve.title} by batch size",
        caption=" ".join(filter(None, said)),
        draw=partial(_draw, drawn_lines=shown, unit=curve.row.heading()),
        height_in=HEIGHT_IN + 0.09 * len(shown),
    )


def _best(candidates: list[Line], better: Better | None) -> list[Line]:
    """Return the ``MOST_LINES`` series with the best values, in their original order."""
    choose, sign = (max, -1) if better == "higher" else (min, 1)
    ranks = [
        sign * choose(point.value for point in line.points) if line.points else inf  # all out of memory
        for line in candidates
    ]
    kept = sorted(sorted(range(len(candidates)), key=ranks.__getitem__)[:MOST_LINES])
    return [candidates[place] for place in kept]


def _point(
    result: Result, value: float | None, low: float | None = None, high: float | None = None
) -> Point | None:
    return None if value is None else Point(result.config.batch_size, value, low, high)


def _throughput(result: Result, unit: str) -> Point | None:
    (rate, own), metrics = result.headline_rate, result.metrics
    if rate is None or own != unit or not metrics.samples_per_s:
        return None
    scale = rate / metrics.samples_per_s
    low, high = (end and end * scale for end in (metrics.samples_per_s_low, metrics.samples_per_s_high))
    return _point(result, rate, low, high)


def _latency(result: Result) -> Point | None:
    latency_ms = result.metrics.latency_ms
    return _point(
        result,
        result.typical_ms,
        latency_ms.least,
        latency_ms.most if latency_ms.p95 is None else latency_ms.p95,
    )


def _figure(result: Result, row: Quantity) -> Point | None:
    """Return the point of a quantity, with its 95% interval if it has one."""
    data = CaseData.of(result)
    ends = (quantity(key).figure(data) for key in row.interval or ())
    return _point(result, row.figure(data), *ends)


def _memory(result: Result) -> Point | None:
    peaks = result.case.finished.memory if result.case.finished else None
    if peaks is None:
        return None
    if result.config.device == "cpu":
        return _point(result, peaks.peak_rss_mb)
    peaks_mb = (peaks.peak_allocated_mb, peaks.peak_reserved_mb, peaks.peak_device_mb)
    return _point(result, next((peak_mb for peak_mb in peaks_mb if peak_mb is not None), None))


def _draw(figure: "Figure", drawn_lines: Sequence[Line], unit: str) -> list[Value]:
    axes = figure.subplots()
    for place, line in enumerate(drawn_lines):
        _draw_line(axes, line, place)
    ended = [(place, line) for place, line in enumerate(drawn_lines) if line.out_of_memory]
    for lane, (place, line) in enumerate(ended):
        _ended(axes, line, place, lane)
    _scale(axes, drawn_lines, unit, LANE * min(len(ended), MOST_LANES))
    handles, names = axes.get_legend_handles_labels()
    if ended:
        handles.append(_cross(axes, [], []))
        names.append("out of memory")
    axes.legend(handles, names, loc="upper left", bbox_to_anchor=(0, -0.14), borderaxespad=0, ncols=2)
    return [
        *(value for line in drawn_lines for value in _values(axes, line, unit)),
        *(value for lane, (_, line) in enumerate(ended) for value in _out_of_memory(axes, line, lane)),
    ]


def _values(axes: "Axes", line: Line, unit: str) -> Iterator[Value]:
    _, _, short = unit.removesuffix(")").rpartition("(")
    for at in line.points:
        shown = f"{number(at.value)} {short}"
        text = value_text(_named(line, at.batch_size), shown, number(at.low), number(at.high))
        yield Value(axes.transData, (at.batch_size,) * 2, (at.value,) * 2, text)


def _out_of_memory(axes: "Axes", line: Line, lane: int) -> Iterator[Value]:
    for size in line.out_of_memory:
        text = value_text(_named(line, size), "out of memory")
        yield Value(axes.get_xaxis_transform(), (size,) * 2, (_lane_height(lane),) * 2, text)


def _named(line: Line, batch_size: int) -> str:
    return style.label(f"{line.side}{replace(line.config, batch_size=batch_size).name}")


def _lane_height(lane: int) -> float:
    """Return the height of a lane of out-of-memory marks, as a share of the axis."""
    return 1 - LANE * (0.5 + lane % MOST_LANES)


def _draw_line(axes: "Axes", line: Line, place: int) -> None:
    strokes = style.line_style(place)
    sizes = [point.batch_size for point in line.points]
    axes.plot(sizes, [point.value for point in line.points], label=line.label, **strokes)
    bars = [
        (point.batch_size, point.low, point.high)
        for point in line.points
        if point.low is not None and point.high is not None
    ]
    if bars:
        at, low, high = zip(*bars, strict=True)
        axes.vlines(at, low, high, colors=strokes["color"], linewidth=1)
        axes.plot([*at, *at], [*low, *high], "_", color=strokes["color"], markersize=5)


def _ended(axes: "Axes", line: Line, place: int, lane: int) -> None:
    """Mark each batch size that ran out of memory with the series' marker, hollow and crossed."""
    sizes, heights = line.out_of_memory, [_lane_height(lane)] * len(line.out_of_memory)
    hollow = style.line_style(place) | {"linestyle": "none", "markersize": 10, "markerfacecolor": style.PAPER}
    axes.plot(sizes, heights, transform=axes.get_xaxis_transform(), **hollow)
    _cross(axes, sizes, heights)


def _cross(axes: "Axes", sizes: Sequence[int], heights: Sequence[float]) -> "Line2D":
    """Draw the out-of-memory crosses. ``heights`` are shares of the y axis."""
    across = axes.get_xaxis_transform()
    (crosses,) = axes.plot(
        sizes, heights, "x", color=style.INK, markersize=5, markeredgewidth=1.4, transform=across
    )
    return crosses


def _scale(axes: "Axes", drawn_lines: Sequence[Line], unit: str, above: float) -> None:
    """Scale both axes. The top share ``above`` of the y axis stays free for out-of-memory marks."""
    sizes = sorted({size for line in drawn_lines for size in _sizes(line)})
    ticks = _ticks(sizes)
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes[0] / 2**0.4, sizes[-1] * 2**0.4)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("Batch size")
    _scale_y(axes, [point.value for line in drawn_lines for point in line.points], unit)
    bottom, top = axes.transLimits.inverted().transform([(0, 0), (0, 1 / (1 - above))])[:, 1]
    bottom, top = axes.yaxis.get_transform().inverted().transform([bottom, top])
    axes.set_ylim(bottom, top)


def _scale_y(axes: "Axes", values: Sequence[float], unit: str) -> None:
    from matplotlib.ticker import LogLocator  # already imported

    if min(values) > 0 and max(values) / min(values) > WIDE:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter("")
        axes.set_ylabel(f"{unit}, log scale")
    else:
        axes.set_ylim(bottom=0)
        axes.set_ylabel(unit)
    axes.yaxis.set_major_formatter(style.plain_number)


def _sizes(line: Line) -> tuple[int, ...]:
    return (*(point.batch_size for point in line.points), *line.out_of_memory)


def _ticks(sizes: Sequence[int]) -> list[int]:
    """Return the batch sizes to label: all if they fit, else powers of two, thinned out if needed."""
    powers = [size for size in sizes if size & (size - 1) == 0]
    wanted = list(sizes) if len(sizes) <= MOST_TICKS else powers or list(sizes)
    return wanted[:: -(-len(wanted) // MOST_TICKS)]


_ENERGY_ROW, _JITTER_ROW = quantity(COMPARED_BY["energy"]), quantity("jitter_percent")
MEMORY = Curve(
    "memory",
    "Peak memory",
    quantity(COMPARED_BY["memory"]),
    _memory,
    "GPU: memory allocated by the framework (with CUDA graphs: reserved), else used on the device. CPU:"
    " resident memory of the worker. 1 MB is 1,000,000 bytes.",
    "no case has a peak memory",
)
ENERGY = Curve(
    "energy",
    "Energy per sample",
    _ENERGY_ROW,
    partial(_figure, row=_ENERGY_ROW),
    "Over all measured steps.",
    "no case has an energy reading",
    bars="Bars: 95% interval over the rounds, if there are at least three.",
)
JITTER = Curve(
    "jitter",
    "Jitter",
    _JITTER_ROW,
    partial(_figure, row=_JITTER_ROW),
    "Standard deviation of the steps over their mean.",
    "no case has a jitter",
)
