"""Drawing characters: one Unicode set and one ASCII set."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbols:
    """Characters that the screen draws with, one cell wide each except for signs within a text."""

    bar: str
    """Filled cell of a bar."""
    half: str
    """Last cell of a bar, half filled."""
    track: str
    """Empty cell of a bar."""
    up: str
    """Fill levels of a cell from the bottom, from empty to full."""
    shade: str
    """Full cell of steps that aren't counted."""
    tick: str
    """Vertical axis at a label."""
    axis: str
    middle: str
    """Vertical axis at a labeled percentile (median, p99)."""
    level: str
    """Line of the median where there is no step yet."""
    corner: str
    """Corner where two axes meet."""
    below: str
    """Horizontal axis at a label."""
    dots: str
    """Cells of a plot by their dots: all 256 of braille, or only empty and filled."""
    above: str
    """Value above the scale."""
    outlier: str
    """Above an outlier step."""
    throttled: str
    compiling: str
    """Above steps with a throttled clock, or with the compiler active."""
    round: str
    """In front of a round's number."""
    fills: str
    """Fills for the parts of one bar, each different from its neighbors."""
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
    up=" ▁▂▃▄▅▆▇█",
    shade="░",
    tick="┤",
    axis="│",
    middle="┼",
    level="╌",
    corner="└",
    below="┬",
    dots="".join(chr(0x2800 + bits) for bits in range(256)).replace("\u2800", " "),
    above="▴",
    outlier="▾",
    throttled="T",
    compiling="C",
    round="R",
    fills="█▓▒░",
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
ASCII = Symbols(
    bar="#",
    half="=",
    track="-",
    up=" .:#",
    shade="%",
    tick="+",
    axis="|",
    middle="+",
    level="-",
    corner="+",
    below="+",
    dots=" .",
    above="^",
    outlier="v",
    throttled="T",
    compiling="C",
    round="R",
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
