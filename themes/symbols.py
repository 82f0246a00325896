"""Two sets of characters to draw with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbols:
    """The characters that the screen draws with, one cell wide each but for signs inside a text."""

    bar: str
    """A filled cell of a bar."""
    half: str
    """The last cell of a bar that is filled halfway."""
    track: str
    """An empty cell of a bar."""
    up: str
    """Fill of a cell from below, from none to all."""
    shade: str
    """A full cell of what isn't counted."""
    tick: str
    """An axis where a label stands."""
    axis: str
    middle: str
    """An axis at the median."""
    level: str
    """The median's line where no step stands yet."""
    corner: str
    """Where two axes meet."""
    below: str
    """A horizontal axis where a label stands."""
    dots: str
    """A cell of a drawing by the dots in it: all 256 of braille, or none and some."""
    above: str
    """A value above the scale."""
    outlier: str
    """Above a step that is an outlier."""
    throttled: str
    compiling: str
    """Above steps in which the clock was held down, or the compiler was at work."""
    round: str
    """Before the number of a round."""
    fills: str
    """Fills of the parts of one bar, each unlike its neighbours."""
    down: str
    """A column sorted from its highest, and from its lowest value."""
    upward: str
    rule: str
    """Between two panels."""
    absent: str
    """A figure that is not known."""
    dot: str
    """Between words of a line."""
    flag: str
    plus_minus: str
    about: str
    ellipsis: str
    degree: str
    arrows: str
    """The keys up and down."""
    chosen: str
    """Before the chosen row."""
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
