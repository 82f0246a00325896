"""User settings: ``config.toml``, parsed entry by entry. An invalid entry is reported and ignored."""

from pathlib import Path
from typing import Any, get_args

import msgspec
import platformdirs

from benchtui.sessions.files.bounded_toml import parse_toml
from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.sanitize import quoted
from benchtui.themes import user_themes
from benchtui.tui.shell.refresh_rate import Quiet
from benchtui.tui.table.columns import KEYS, UNSORTED


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entries of ``config.toml``."""

    theme: str | None = None
    columns: tuple[str, ...] | None = None
    """Columns of the case table, in order."""
    sort: str | None = None
    """Column that the case table is sorted by; a leading minus reverses the order."""
    quiet: Quiet = "auto"
    notify: bool = True
    """Whether the end of a watched sweep rings the bell and sends a desktop notification."""
    mouse: bool = True
    """Whether to use the mouse; otherwise the terminal selects text with it."""
    models: tuple[str, ...] = ()
    """Folders whose models Home lists, such as ``~/models``."""
    keys: dict[str, str] = {}
    """Keys by action ID, as listed by ``benchtui keys``; several are separated by commas."""


def path() -> Path:
    """Return the path of the user's settings file, which may not exist."""
    return Path(platformdirs.user_config_dir("benchtui")) / "config.toml"


def read(source: Path) -> tuple[Settings, tuple[str, ...]]:
    """Parse a settings file; return its valid entries, and a message for each invalid one."""
    try:
        table = parse_toml(read_text(source))
    except FileNotFoundError:
        return Settings(), ()
    except OSError as error:
        return Settings(), (f"{source}: {error.strerror}; the file is ignored",)
    except ValueError as error:
        return Settings(), (f"{source}: {error}; the file is ignored",)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in table.items():
        if problem := _problem(name, value):
            problems.append(f"{source}: {problem}")
        else:
            values[name] = value
    return msgspec.convert(values, Settings), tuple(problems)


def _problem(name: str, value: object) -> str | None:
    """Return what is wrong with an entry's name, type or value; None if it is valid."""
    if name not in Settings.__struct_fields__:
        return f"unknown entry {quoted(name)}; allowed: {', '.join(Settings.__struct_fields__)}"
    try:
        msgspec.convert({name: value}, Settings)
    except msgspec.ValidationError as error:
        return f"{name} = {quoted(value)}: {error}".replace(f" - at `$.{name}`", "")
    if name == "theme" and (reason := user_themes.unknown_reason(str(value))):
        return f"theme: {reason}"
    allowed, given = _allowed(name), value if isinstance(value, list) else [value]
    wrong = [entry for entry in given if allowed and str(entry) not in allowed]
    return f"{name}: {quoted(wrong[0])} is not allowed; allowed: {', '.join(allowed)}" if wrong else None


def _allowed(name: str) -> tuple[str, ...]:
    """Return the allowed values of an entry; empty if its type defines them."""
    sortable = ("case", *(key for key in KEYS if key not in UNSORTED))
    return {
        "columns": KEYS,
        "sort": (*sortable, *(f"-{key}" for key in sortable)),
        "quiet": get_args(Quiet),
    }.get(name, ())
