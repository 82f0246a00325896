"""Plot specifications, before rendering, and the values of a plot, which its SVG shows as titles of shapes."""

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.plots import style
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.formatting import span

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

RADIUS_PT = 7
"""Radius of the circle around a point."""
POINTS_PER_INCH = 72
LONGEST_TEXT = 200
END = b"</svg>"


class Value(msgspec.Struct, frozen=True):
    """A value, and the point or the box that shows it."""

    coordinates: "Transform"
    """Coordinate system of the ends."""
    x: tuple[float, float]
    y: tuple[float, float]
    """Ends of the box; equal for a point."""
    text: str


def value_text(case: str, figure: str | None, low: str | None = None, high: str | None = None) -> str:
    """Describe a value by its case, with the ends of its bar."""
    bar = span(low, high) if low != high else None
    return f"{case}: {figure}{f' ({bar})' if bar else ''}"


def with_values(svg: bytes, figure: "Figure", values: Sequence[Value]) -> bytes:
    """Add the values to the SVG of a figure. The figure must have been laid out."""
    shapes = "\n".join(_shape(figure, value) for value in values)
    group = f'<g class="values" fill="none" pointer-events="all">\n{shapes}\n</g>\n'
    return svg.replace(END, group.encode() + END) if values else svg


def _shape(figure: "Figure", value: Value) -> str:
    scale = POINTS_PER_INCH / figure.dpi
    corners = value.coordinates.transform(list(zip(value.x, value.y, strict=True))) * scale
    (left, right), (bottom, top) = (sorted(ends) for ends in corners.T.tolist())
    above = figure.get_figheight() * POINTS_PER_INCH - top
    title = f"<title>{escape(style.label(value.text, LONGEST_TEXT))}</title>"
    if left == right and bottom == top:
        return f'<circle cx="{left:.1f}" cy="{above:.1f}" r="{RADIUS_PT}">{title}</circle>'
    size = f'width="{right - left:.1f}" height="{top - bottom:.1f}"'
    return f'<rect x="{left:.1f}" y="{above:.1f}" {size}>{title}</rect>'


class PlotData(msgspec.Struct, frozen=True):
    """Data shared by all plots, computed once."""

    session: Session
    results: tuple[Result, ...]
    baselines: dict[Work, Result]
    """Baseline case of each work."""


class Plan(msgspec.Struct, frozen=True):
    """A plot to draw, with its title and caption."""

    name: str
    """File name without extension."""
    section: str
    """Heading of the report section that it belongs to; empty for the first section, whatever its heading."""
    title: str
    caption: str
    """Legend in words: n, and the meaning of bars and marks. Shown below the plot."""
    draw: Callable[["Figure"], Sequence[Value]]
    """Draws the plot and returns its values."""
    height_in: float = 4.2


class SkippedPlot(msgspec.Struct, frozen=True):
    """A plot that isn't drawn, and why."""

    name: str
    reason: str


def plot_data(session: Session) -> PlotData:
    """Collect the data for plots. Raises BenchtuiError if the session has no first event."""
    results = measured(session)
    bases = baselines(results, session.start.sweep.measure.baseline)
    return PlotData(session, results, bases)


def step_counts(results: Sequence[Result]) -> str:
    """Describe how many steps per case the plots are based on."""
    counts = sorted({result.metrics.latency_ms.n for result in results})
    if not counts or not counts[-1]:
        return "The source has no steps."
    few, many = counts[0], counts[-1]
    return f"n = {few:,} steps per case." if few == many else f"n = {few:,} to {many:,} steps per case."
