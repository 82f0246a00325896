"""Plot of power over session time, with the measured windows of the cases."""

from array import array
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from benchtui.sessions.plots import style
from benchtui.sessions.plots.spec import Plan, PlotData, SkippedPlot, Value, value_text
from benchtui.sessions.state.columns import Trace
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NUMBERS = 40
MOST_POINTS = 2000
MOST_CURVES = 12
MOST_WINDOWS = 500
"""Maximum number of measured windows and out-of-memory moments to draw individually."""
LEGEND_COLUMNS, FEW_LEGEND_ROWS, LEGEND_ROW_IN = 4, 2, 0.18
"""Columns of the legend, rows that every plot has room for, and the height in inches of each further row."""


class Power(msgspec.Struct, frozen=True):
    """Power of a device over session time. NaN if it couldn't be read."""

    label: str
    at_s: Sequence[float]
    power_w: Sequence[float]


class MeasuredWindow(msgspec.Struct, frozen=True):
    """Measured window of a case, in seconds of session time."""

    case: int
    """Index of the case; the plot counts from 1."""
    start_s: float
    end_s: float
    ran_out: bool
    text: str = ""
    """Case and mean power; empty for merged windows."""


def power(data: PlotData) -> Plan | SkippedPlot:
    """Plan the plot of every device's power over time."""
    devices, spans = curves(data.session), windows(data.session)
    if not devices:
        return SkippedPlot("power", "power not measured")
    means = [fmean(value for value in curve.power_w if isfinite(value)) for curve in devices]
    kept = sorted(range(len(devices)), key=lambda place: -means[place])[:MOST_CURVES]
    shown = [devices[place] for place in sorted(kept)]
    more = f" The {MOST_CURVES} of {len(devices):,} devices with the highest mean." if shown != devices else ""
    numbers = ", with the case number above" if len(spans) <= MOST_NUMBERS else ""
    ended = "; cross: the case ran out of memory" if any(span.ran_out for span in spans) else ""
    caption = f"Shaded: measured windows of the cases{numbers}{ended}. Readings are not smoothed.{more}"
    draw = partial(_draw, devices=shown, spans=merged(spans), numbered=bool(numbers))
    rows = -(-len(shown) // LEGEND_COLUMNS)
    height_in = 3.6 + LEGEND_ROW_IN * max(0, rows - FEW_LEGEND_ROWS)
    return Plan("power", "Results", "Power over time", caption, draw, height_in)


def curves(session: Session) -> list[Power]:
    """Return the power readings of each GPU, and the processors' power from energy differences."""
    gpus = [
        Power(f"GPU {index}", trace.at_s, trace.columns["power_w"])
        for index, trace in sorted(session.machine.gpus.items())
        if "power_w" in trace.columns
    ]
    devices = [*gpus, _processors(session.machine.trace)]
    return [_thinned(curve) for curve in devices if any(isfinite(value) for value in curve.power_w)]


def merged(spans: Sequence[MeasuredWindow]) -> list[MeasuredWindow]:
    """Merge windows with a gap too small to see, if there are more than ``MOST_WINDOWS``."""
    if len(spans) <= MOST_WINDOWS:
        return list(spans)
    gap_s = (max(span.end_s for span in spans) - spans[0].start_s) / MOST_WINDOWS
    joined: list[MeasuredWindow] = []
    for ran_out in (False, True):
        last: MeasuredWindow | None = None
        for span in (candidate for candidate in spans if candidate.ran_out is ran_out):
            if last is None or span.start_s - last.end_s >= gap_s:
                joined.append(last := span)
            elif not ran_out:
                joined[-1] = last = replace(last, end_s=max(last.end_s, span.end_s), text="")
    return joined


def windows(session: Session) -> list[MeasuredWindow]:
    """Return all measured windows, and the moments at which cases ran out of memory, sorted by start."""
    spans = []
    for case in session.cases:
        for event in case.ends:
            if event.measured_s and case.state != "oom":
                mean_w = number(event.energy.mean_power_w) if event.energy else None
                text = value_text(case.name, f"mean power {mean_w} W" if mean_w else "power not measured")
                spans.append(MeasuredWindow(case.index, *event.measured_s, ran_out=False, text=text))
        if case.state == "oom" and case.finished:
            spans.append(MeasuredWindow(case.index, case.finished.t, case.finished.t, ran_out=True))
    return sorted(spans, key=lambda span: span.start_s)


def _processors(host: Trace) -> Power:
    energy_j = host.columns.get("package_energy_j", array("d"))
    samples = list(zip(host.at_s, energy_j, strict=False))
    rates = [
        (late, (after - before) / (late - early))
        for (early, before), (late, after) in pairwise(samples)
        if late > early and after >= before
    ]
    return Power("CPU packages", [at for at, _ in rates], [rate for _, rate in rates])


def _thinned(curve: Power) -> Power:
    """Downsample a long curve to the minimum and maximum of each stretch."""
    stretch = -(-len(curve.at_s) // (MOST_POINTS // 2))
    if stretch <= 2:
        return curve
    kept: list[int] = []
    for start in range(0, len(curve.at_s), stretch):
        places = range(start, min(start + stretch, len(curve.power_w)))
        measured = [place for place in places if isfinite(curve.power_w[place])]
        ends = (
            (min(measured, key=curve.power_w.__getitem__), max(measured, key=curve.power_w.__getitem__))
            if measured
            else ()
        )
        kept += sorted(set(ends)) or list(places[:1])
    return Power(curve.label, [curve.at_s[place] for place in kept], [curve.power_w[place] for place in kept])


def _draw(
    figure: "Figure", devices: Sequence[Power], spans: Sequence[MeasuredWindow], numbered: bool
) -> list[Value]:
    axes = figure.subplots()
    for span in spans:
        if not span.ran_out:
            axes.axvspan(span.start_s, span.end_s, color=style.GRID, alpha=0.7, linewidth=0)
    for place, curve in enumerate(devices):
        strokes = style.line_style(place)
        del strokes["marker"], strokes["markersize"]
        axes.plot(curve.at_s, curve.power_w, label=curve.label, **strokes)
    for span in spans:
        middle = (span.start_s + span.end_s) / 2
        if span.ran_out:
            axes.plot([middle], [0.04], "X", color=style.INK, transform=axes.get_xaxis_transform())
        elif numbered:
            above = axes.get_xaxis_transform()
            number = str(span.case + 1)
            axes.text(middle, 1.01, number, transform=above, ha="center", fontsize=7, color=style.FAINT)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Session time (s)")
    axes.set_ylabel("Power (W)")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.17), borderaxespad=0, ncols=LEGEND_COLUMNS)
    above = axes.get_xaxis_transform()
    return [Value(above, (span.start_s, span.end_s), (0, 1), span.text) for span in spans if span.text]
