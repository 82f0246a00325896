"""How figures look: colours that the colour-blind and a grey print tell apart, with markers, lines and hatches.

The colours are those of Okabe and Ito (Color Universal Design, 2008) without black and yellow, which vanish on
a dark or a light page.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchtui.sessions.sanitize import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, INK, FAINT, GRID = "#fefefe", "#1c1c21", "#5d5d66", "#dcdce1"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
MARKERS = ("o", "s", "^", "D", "v", "P", "<")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "\\\\\\", "xxx", "|||", "---", "+++")
"""Four rounds of unequal length: together they repeat after 210 places and more."""
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
    "svg.fonttype": "none",  # text stays text, which can be read aloud, searched and selected
    "text.color": INK,
    "text.parse_math": False,  # a dollar in the name of a model is a dollar
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """A session's text as a figure may show it: one line, and no leading underscore, which would hide it."""
    shown = visible(text, longest)
    return f" {shown}" if shown.startswith("_") else shown


def colour(place: int) -> str:
    """The colour of the series, or the part, at this place."""
    return COLOURS[place % len(COLOURS)]


def strokes(place: int) -> dict[str, Any]:
    """Colour, marker and line of the series at this place."""
    return {
        "color": colour(place),
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place % len(LINES)],
        "linewidth": 1.4,
        "markersize": 5,
    }


def hatch(place: int) -> str:
    """The hatch of the part at this place."""
    return HATCHES[place % len(HATCHES)]


@contextmanager
def drawing() -> Iterator[None]:
    """What is drawn in here looks as said above, whatever the user has set for matplotlib."""
    import logging
    import warnings

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it can't keep its caches is no news of ours
    import matplotlib.style  # only whoever wants figures waits for matplotlib

    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a viewer has other fonts
        warnings.filterwarnings(
            "ignore", message="constrained_layout not applied"
        )  # names too long for the sheet
        yield


def new_figure(height_in: float) -> "Figure":
    """An empty figure."""
    from matplotlib.figure import Figure  # as above; without pyplot, which would keep figures alive

    return Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
