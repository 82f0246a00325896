"""Plot style: colors, markers, lines and hatches that work for color-blind readers and in grayscale.

The colors are those of Okabe and Ito (Color Universal Design, 2008), except black and yellow, which vanish on a
dark or a light page.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchtui.sessions.files.extras import import_extra
from benchtui.sessions.sanitize import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTRA = "figures"
"""Extra of benchtui that installs matplotlib."""
PAPER, INK, FAINT, GRID = "#fefefe", "#1c1c21", "#5d5d66", "#dcdce1"
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
MARKERS = ("o", "s", "^", "D", "v", "P", "<")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "\\\\\\", "xxx", "|||", "---", "+++")
"""Colors, markers and lines together repeat only after 210 series, colors and hatches after 42 parts."""
WIDTH_IN = 7.5
LONGEST_LABEL = 70

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.facecolor": PAPER,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "hatch.color": PAPER,
    "hatch.linewidth": 0.8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",  # keeps text searchable, selectable and readable by screen readers
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a model's name is literal
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return session text as a one-line label. Matplotlib would hide a label with a leading underscore."""
    shown = visible(text, longest)
    return f" {shown}" if shown.startswith("_") else shown


def plain_number(value: float, _place: object) -> str:
    """Format the label of a tick."""
    return f"{value:,.10g}"


def color(place: int) -> str:
    """Return the color of the series or part at this position."""
    return COLORS[place % len(COLORS)]


def line_style(place: int) -> dict[str, Any]:
    """Return the color, marker and line of the series at this position."""
    return {
        "color": color(place),
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place % len(LINES)],
        "linewidth": 1.4,
        "markersize": 5,
    }


def hatch(place: int) -> str:
    """Return the hatch of the part at this position."""
    return HATCHES[place % len(HATCHES)]


@contextmanager
def drawing() -> Iterator[None]:
    """Apply ``STYLE`` within this context, regardless of the user's matplotlib settings."""
    import logging
    import warnings

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # hides messages about unwritable caches
    styles = import_extra("matplotlib.style", EXTRA, "drawing figures")  # imported only if plots are wanted
    with styles.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # viewers have other fonts
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # labels too long
        yield


def new_figure(height_in: float) -> "Figure":
    """Create an empty figure of the standard width."""
    from matplotlib.figure import Figure  # imported late; pyplot would keep figures alive

    return Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
