"""Plot of throughput against the distance of each case's answer from the baseline's, with the Pareto fronts."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.analysis.chart_series import PlotMetric
from benchtui.sessions.analysis.pareto import ParetoPoint, answer_distance, fronts, pareto_points
from benchtui.sessions.plots import style
from benchtui.sessions.plots.spec import Plan, PlotData, Value, step_counts, value_text
from benchtui.sessions.text.formatting import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SECTION = "What the speed costs"
HEIGHT_IN = 3.9
MOST_NAMED = 12
"""Maximum number of cases on the fronts with a distinct marker and an entry in the legend."""
WIDE = 10
"""Largest over smallest positive distance above which the axis is logarithmic."""


class Tradeoffs(msgspec.Struct, frozen=True):
    """Cases with an answer, and the fronts, one per work."""

    distance: PlotMetric
    points: tuple[ParetoPoint, ...]
    fronts: tuple[tuple[ParetoPoint, ...], ...]
    labels: dict[int, str]
    """Label of each case, by index."""


def answers(data: PlotData) -> Plan | None:
    """Plan the plot of throughput against distance; None unless some answer differs from its baseline's."""
    session = data.session
    distance = answer_distance(session.cases, session.answer_baselines)
    if distance is None:
        return None
    metrics = {result.case.index: result.metrics for result in data.results}
    points = pareto_points(session.cases, lambda case: metrics.get(case.index), distance)
    if not any(point.cost.middle for point in points):
        return None
    labels = {point.case.index: style.label(point.case.name) for point in points}
    tradeoffs = Tradeoffs(distance, points, tuple(fronts(points).values()), labels)
    return Plan(
        "answers",
        SECTION,
        "Throughput against the difference of the answers",
        f"{step_counts(data.results)} {_caption(tradeoffs)}",
        partial(_draw, tradeoffs=tradeoffs),
        HEIGHT_IN + 0.09 * len(_named(tradeoffs)),
    )


def _caption(tradeoffs: Tradeoffs) -> str:
    count = (
        "Connected: the Pareto front"
        if len(tradeoffs.fronts) == 1
        else "Connected: one Pareto front per workload"
    )
    suspect = (
        " Hollow: DIFFERENT or BROKEN."
        if any(point.case.has_other_answer for point in tradeoffs.points)
        else ""
    )
    return f"Upper left is best. {count}. Gray: the others. 0: equal to the baseline.{suspect}"


def _named(tradeoffs: Tradeoffs) -> list[ParetoPoint]:
    return [point for row in tradeoffs.fronts for point in row][:MOST_NAMED]


def _draw(figure: "Figure", tradeoffs: Tradeoffs) -> list[Value]:
    axes = figure.add_subplot()
    named = _named(tradeoffs)
    for row in tradeoffs.fronts:
        axes.plot(*_coordinates(row), color=style.FAINT, linewidth=1)
    places = {point.case.index: place for place, point in enumerate(named)}
    for point in tradeoffs.points:
        _draw_point(axes, point, places.get(point.case.index), tradeoffs.labels[point.case.index])
    _scale(axes, tradeoffs)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.14), borderaxespad=0, ncols=2)
    return [_value(axes, point, tradeoffs) for point in tradeoffs.points]


def _coordinates(points: Iterable[ParetoPoint]) -> tuple[list[float], list[float]]:
    row = tuple(points)
    return [point.cost.middle for point in row], [point.gain.middle for point in row]


def _draw_point(axes: "Axes", point: ParetoPoint, place: int | None, label: str) -> None:
    """Draw a case of the legend with a distinct marker, any other case as a gray dot."""
    color, marker = (style.FAINT, "o") if place is None else (style.color(place), style.MARKERS[place % 7])
    axes.plot(
        *_coordinates([point]),
        color=color,
        marker=marker,
        linestyle="none",
        markersize=4 if place is None else 7,
        markerfacecolor=style.PAPER if point.case.has_other_answer else color,
        label="" if place is None else label,
    )


def _scale(axes: "Axes", tradeoffs: Tradeoffs) -> None:
    positive = [point.cost.middle for point in tradeoffs.points if point.cost.middle > 0]
    if max(positive) / min(positive) > WIDE:
        axes.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(left=0 if min(point.cost.middle for point in tradeoffs.points) else None)
    axes.set_ylim(bottom=0)
    unit = f" ({tradeoffs.distance.unit})" if tradeoffs.distance.unit else ""
    axes.set_xlabel(f"{tradeoffs.distance.name[0].upper()}{tradeoffs.distance.name[1:]}{unit}")
    axes.set_ylabel("Throughput (samples/s)")


def _value(axes: "Axes", point: ParetoPoint, tradeoffs: Tradeoffs) -> Value:
    x, y = point.cost.middle, point.gain.middle
    unit = f" {tradeoffs.distance.unit}" if tradeoffs.distance.unit else ""
    text = f"{number(y)} samples/s at {tradeoffs.distance.name} {x:.2g}{unit}"
    return Value(axes.transData, (x, x), (y, y), value_text(tradeoffs.labels[point.case.index], text))
