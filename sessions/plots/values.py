"""Values of a plot: invisible shapes in its SVG whose titles a browser shows."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.plots import style
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
