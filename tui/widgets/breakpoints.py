"""Sizes of the terminal at which the layout changes, with the CSS class of a screen from each size on."""

USUAL_HEIGHT = 34
"""Number of rows from which panels have whole frames."""
HIGH = 46
"""Number of rows from which there is room for more."""
WIDTHS = [(0, "-tiny"), (60, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-flat"), (20, "-short"), (USUAL_HEIGHT, "-preferred"), (HIGH, "-high")]
"""Minimum width and height in cells, and the class."""
