"""Themes and symbols as plain data: one TOML a theme, and two sets of characters to draw with."""

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources

DEFAULT = "benchtui-dark"
LIGHT = "benchtui-light"
TERMINAL = "terminal"
"""The theme that leaves all colours to the terminal."""
LINES = 6
"""Colours that a chart's lines take in turn."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A set of colours; each is ``#rrggbb`` or, in a theme of the terminal's own colours, ``ansi_…``."""

    name: str
    dark: bool
    background: str
    foreground: str
    bright: str
    """What the eye should find first: headline figures."""
    muted: str
    """Labels and units."""
    faint: str
    """Axes, tracks and what is switched off."""
    accent: str
    """The one colour of what runs and of what is drawn."""
    soft: str
    """The accent stepped back: spread, history."""
    good: str
    warning: str
    bad: str
    cursor: str
    """Behind the chosen row."""
    lines: tuple[str, ...]
    """Of a chart's lines, in turn, ``LINES`` of them; letters tell the lines apart as well."""
    ansi: bool = False
    """Whether the colours are the terminal's own sixteen."""


COLOURS = tuple(field.name for field in fields(Theme) if field.type is str and field.name != "name")
"""Names of the colours that a theme has but for its lines."""


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


def names() -> list[str]:
    """Names of the themes that ship with benchtui, the default first."""
    found = (entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))
    return sorted(found, key=lambda name: (name != DEFAULT, name))


@cache
def load(name: str) -> Theme:
    """Read a theme by its name; raises KeyError for a name that isn't among ``names()``."""
    if name not in names():
        raise KeyError(name)
    table = tomllib.loads((_folder() / f"{name}.toml").read_text("utf-8"))
    colours = table["colours"]
    lines = tuple(colours.pop("lines"))
    return Theme(name=name, dark=table["dark"], ansi=table.get("ansi", False), lines=lines, **colours)


def _folder() -> resources.abc.Traversable:
    return resources.files("benchtui.themes")
