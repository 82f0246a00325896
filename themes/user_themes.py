"""User themes: TOML files in a configuration folder, in addition to the bundled themes."""

import re
from collections.abc import Iterable, Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
from msgspec.structs import replace

from benchtui.sessions.files.bounded_toml import parse_toml
from benchtui.sessions.files.input_file import read_text
from benchtui.themes import COLORS, DEFAULT, LIGHT, LINES, TERMINAL, Theme, load, names

BUNDLED = "bundled"

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
ANSI = ("ansi_default", *(f"ansi_{hue}" for hue in _HUES), *(f"ansi_bright_{hue}" for hue in _HUES))


class ThemeSet(msgspec.Struct, frozen=True):
    """All available themes, bundled and user-defined."""

    themes: dict[str, Theme]
    """Themes by name: the default, the other bundled ones, the user's own."""
    sources: dict[str, str]
    """Source of each theme: its file, or ``bundled``."""
    problems: dict[str, str]
    """Error of each invalid file, by theme name: one line that begins with the file."""


def folder() -> Path:
    """Return the folder of user themes."""
    return Path(platformdirs.user_config_dir("benchtui")) / "themes"


def load_all(place: Path | None = None) -> ThemeSet:
    """Load all bundled themes and those in a folder, by default the user's configuration folder."""
    loaded = ThemeSet({name: load(name) for name in names()}, dict.fromkeys(names(), BUNDLED), {})
    for path in sorted((place or folder()).glob("*.toml")):
        try:
            if path.stem in names():
                raise ValueError(f"a theme named {path.stem} is bundled with benchtui; rename the file")
            loaded.themes[path.stem] = parse(path.stem, read_text(path))
            loaded.sources[path.stem] = str(path)
        except OSError as error:
            loaded.problems[path.stem] = f"{path}: can't be read: {error.strerror}"
        except ValueError as error:
            loaded.problems[path.stem] = f"{path}: {error}"
    return loaded


def unknown_reason(name: str) -> str | None:
    """Return why a theme isn't available, in one line; None if it is."""
    loaded = load_all()
    if name in loaded.themes:
        return None
    return loaded.problems.get(name) or f"unknown theme {name!r}; available: {', '.join(loaded.themes)}"


def parse(name: str, text: str) -> Theme:
    """Parse a theme from TOML; missing colors come from the bundled dark, light or terminal theme.

    Raises:
        ValueError: With one line that says what is wrong and what is allowed.
    """
    table = parse_toml(text)
    if "colours" in table and "colors" not in table:  # the table's name in older files
        table["colors"] = table.pop("colours")
    _reject_unknown(table, "", ("dark", "ansi", "colors"))
    ansi, colors = _flag(table, "ansi", False), table.get("colors", {})
    dark = _flag(table, "dark", True)
    if not isinstance(colors, dict):
        raise ValueError(f"colors: {colors!r} is not a table; use [colors] with {', '.join(COLORS)}")
    _reject_unknown(colors, "colors.", (*COLORS, "lines"))
    given = {key: _color(f"colors.{key}", value, ansi) for key, value in colors.items() if key != "lines"}
    base = load(TERMINAL if ansi else DEFAULT if dark else LIGHT)
    lines = _lines(colors["lines"], ansi) if "lines" in colors else base.lines
    return replace(base, name=name, dark=dark, ansi=ansi, lines=lines, **given)


def _reject_unknown(table: Mapping[str, object], where: str, known: Iterable[str]) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise ValueError(f"unknown entry {where}{unknown[0]}; allowed: {', '.join(known)}")


def _flag(table: Mapping[str, Any], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"{key}: {value!r} is not a boolean; use true or false")
    return value


def _color(where: str, value: object, ansi: bool) -> str:
    valid = value in ANSI if ansi else isinstance(value, str) and bool(_HEX.fullmatch(value))
    if not valid or not isinstance(value, str):
        allowed = ", ".join(ANSI) if ansi else '"#rrggbb"'
        raise ValueError(f"{where}: {value!r} is not a color; allowed: {allowed}")
    return value


def _lines(values: object, ansi: bool) -> tuple[str, ...]:
    """Return ``LINES`` colors, repeating the list if it has fewer."""
    if not isinstance(values, list) or not values:
        raise ValueError(f"colors.lines: {values!r} is not a non-empty list of colors")
    return tuple(islice(cycle(_color("colors.lines", value, ansi) for value in values), LINES))
