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
