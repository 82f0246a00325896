"""Drawing characters: one Unicode set and one ASCII set."""

import msgspec
from msgspec.structs import replace


class Symbols(msgspec.Struct, frozen=True):
    """Drawing characters of the screen, one cell wide except for signs within text."""

    bar: str
    """Filled cell of a bar."""
    half: str
    """Last cell of a bar, half filled."""
    track: str
    """Empty cell of a bar."""
    eighths: str
    """Fill levels of a cell from the left, from empty to full."""
    from_right: str
    """Fill levels of a cell from the right, from empty to full."""
    ends: str
    """Characters before and after a gauge's bar."""
    empty: str
    """Empty cell of a gauge's bar."""
    light: str
    """Cell of a bar within the interval of its value."""
    quiet: str
    """In front of a machine without disturbance."""
    best: str
    """In front of the best row."""
    hatch: str
    """Fill of a heatmap cell whose case ran out of memory."""
    up: str
    """Fill levels of a cell from the bottom, from empty to full."""
    shade: str
    """Hatched cell of steps that aren't counted."""
    spread: str
    """Empty cell between p5 and p95."""
    tick: str
    """Vertical axis at a label."""
    axis: str
    middle: str
    """Vertical axis at a labeled percentile (median, p99)."""
    level: str
    """Line of p99 in cells without a step; the line of the median is ``track``."""
    axis_break: str
    """Break of an axis that omits the range down to zero."""
    corner: str
    """Corner where two axes meet."""
    below: str
    """Horizontal axis at a label."""
    dots: str
    """Cells of a plot, indexed by their dots: all 256 braille patterns, or only empty and filled."""
    above: str
    """Value above the scale."""
    outlier: str
    """Above an outlier step."""
    fills: str
    """Fills for the parts of one bar, in turn; colors distinguish them where available."""
    down: str
    """Column sorted in descending order, and in ascending order."""
    upward: str
    rule: str
    """Separator of two panels."""
    absent: str
    """Unknown metric."""
    dot: str
    """Separator of words in a line."""
    flag: str
    plus_minus: str
    about: str
    ellipsis: str
    degree: str
    arrows: str
    """Up and down keys."""
    chosen: str
    """In front of the selected row."""
    running: str
    queued: str
    ok: str
    oom: str
    skipped: str
    failed: str
    timeout: str
    interrupted: str


UNICODE = Symbols(
    bar="━",
    half="╸",
    track="─",
    eighths=" ▏▎▍▌▋▊▉█",
    from_right=" ▐█",
    ends="▕▏",
    empty="·",
    light="▒",
    quiet="●",
    best="★",
    hatch="▒",
    up=" ▁▂▃▄▅▆▇█",
    shade="╱",
    spread="░",
    tick="┤",
    axis="│",
    middle="┼",
    level="╌",
    axis_break="≈",
    corner="└",
    below="┬",
    dots="".join(chr(0x2800 + bits) for bits in range(256)).replace("\u2800", " "),
    above="▴",
    outlier="▾",
    fills="█",
    down="▾",
    upward="▴",
    rule="│",
    absent="–",
    dot="·",
    flag="⚑",
    plus_minus="±",
    about="≈",
    ellipsis="…",
    degree="°C",
    arrows="↑↓",
    chosen="▸",
    running="▶",
    queued="·",
    ok="✓",
    oom="▲",
    skipped="○",
    failed="✗",
    timeout="◷",
    interrupted="■",
)
MONOCHROME = replace(UNICODE, fills="█▓▒░")
"""Unicode without color: distinct characters replace distinctions otherwise made only by color."""
ASCII = Symbols(
    bar="#",
    half="=",
    track="-",
    eighths=" #",
    from_right=" #",
    ends="[]",
    empty=".",
    light="+",
    quiet="o",
    best="B",
    hatch="/",
    up=" .:#",
    shade="/",
    spread=",",
    tick="+",
    axis="|",
    middle="+",
    level="-",
    axis_break="~",
    corner="+",
    below="+",
    dots=" .",
    above="^",
    outlier="v",
    fills="#=+:",
    down="v",
    upward="^",
    rule="|",
    absent="-",
    dot="-",
    flag="!",
    plus_minus="+-",
    about="~",
    ellipsis="..",
    degree="C",
    arrows="up/dn",
    chosen="*",
    running=">",
    queued=".",
    ok="+",
    oom="^",
    skipped="o",
    failed="x",
    timeout="t",
    interrupted="#",
)
