"""Themes and symbols as plain data: one TOML file per theme, and two sets of drawing characters."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import fields

DEFAULT = "benchtui-dark"
LIGHT = "benchtui-light"
TERMINAL = "terminal"
"""Theme that leaves all colors to the terminal."""
LINES = 6
"""Number of colors that a chart's lines cycle through."""


class Theme(msgspec.Struct, frozen=True):
    """Color theme; each color is ``#rrggbb`` or, in a theme of the terminal's own colors, ``ansi_…``."""

    name: str
    dark: bool
    background: str
    foreground: str
    bright: str
    """Most prominent text: headline metrics."""
    muted: str
    """Labels and units."""
    faint: str
    """Axes, tracks and disabled items."""
    accent: str
    """Running items and plotted data."""
    soft: str
    """Dimmed accent: spread, history."""
    good: str
    warning: str
    bad: str
    cursor: str
    """Background of the selected row."""
    lines: tuple[str, ...]
    """Colors of a chart's lines in order, ``LINES`` of them; letters also distinguish the lines."""
    ansi: bool = False
    """Whether the colors are the terminal's own sixteen."""


COLORS = tuple(field.name for field in fields(Theme) if field.type is str and field.name != "name")
"""Names of a theme's colors, except those of a chart's lines."""


def names() -> list[str]:
    """List the bundled themes, the default first."""
    bundled = (path.stem for path in _folder().glob("*.toml"))
    return sorted(bundled, key=lambda name: (name != DEFAULT, name))


@cache
def load(name: str) -> Theme:
    """Load a bundled theme by name; raises KeyError for a name that isn't among ``names()``."""
    if name not in names():
        raise KeyError(name)
    table = tomllib.loads((_folder() / f"{name}.toml").read_text("utf-8"))
    colors = table["colors"]
    lines = tuple(colors.pop("lines"))
    return Theme(name=name, dark=table["dark"], ansi=table.get("ansi", False), lines=lines, **colors)


def _folder() -> Path:
    return Path(__file__).parent  # importlib.resources takes 3 ms to import
