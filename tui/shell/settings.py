"""The user's settings: ``config.toml``, read entry by entry; a mistake in it is one line, never an end."""

import tomllib
from pathlib import Path
from typing import Any, get_args

import msgspec
import platformdirs

from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.sanitize import quoted
from benchtui.themes import user_themes
from benchtui.tui.shell.refresh_rate import RATES_HZ, Quiet
from benchtui.tui.table.columns import KEYS


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user may set for good."""

    theme: str | None = None
    hz: float | None = None
    """How often to draw, in 1/s."""
    columns: tuple[str, ...] | None = None
    """Columns of the table of cases, in their order."""
    sort: str | None = None
    """Column that the table is sorted by; a minus before it turns the order round."""
    quiet: Quiet = "auto"
    keys: dict[str, str] = {}
    """Keys by the id of what they do, as ``benchtui keys`` lists them; several are joined by commas."""


def path() -> Path:
    """The user's file; it need not be there."""
    return Path(platformdirs.user_config_dir("benchtui")) / "config.toml"


def read(source: Path) -> tuple[Settings, tuple[str, ...]]:
    """The settings of a file, and a line for every entry that can't be understood and is left out."""
    try:
        table = tomllib.loads(read_text(source))
    except FileNotFoundError:
        return Settings(), ()
    except OSError as error:
        return Settings(), (f"{source}: {error.strerror}; none of it is used",)
    except (ValueError, RecursionError) as error:
        return Settings(), (f"{source}: {error}; none of it is used",)
    known: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in table.items():
        if problem := _problem(name, value):
            problems.append(f"{source}: {problem}")
        else:
            known[name] = value
    return msgspec.convert(known, Settings), tuple(problems)


def _problem(name: str, value: object) -> str | None:
    """What is wrong with an entry: its name, its type, or its value."""
    if name not in Settings.__struct_fields__:
        return f"no entry {quoted(name)}; entries: {', '.join(Settings.__struct_fields__)}"
    try:
        msgspec.convert({name: value}, Settings)
    except msgspec.ValidationError as error:
        return f"{name} = {quoted(value)}: {error}".replace(f" - at `$.{name}`", "")
    if name == "theme" and (refused := user_themes.unknown_reason(str(value))):
        return f"theme: {refused}"
    allowed, given = _allowed(name), value if isinstance(value, list) else [value]
    wrong = [each for each in given if allowed and str(each) not in allowed]
    return f"{name}: {quoted(wrong[0])} is not known; allowed: {', '.join(allowed)}" if wrong else None


def _allowed(name: str) -> tuple[str, ...]:
    """The values that an entry may have; none where its type says all."""
    sortable = ("case", *(key for key in KEYS if key != "notes"))
    return {
        "columns": KEYS,
        "sort": (*sortable, *(f"-{key}" for key in sortable)),
        "quiet": get_args(Quiet),
        "hz": tuple(word for hz in RATES_HZ for word in (str(hz), f"{hz:g}")),
    }.get(name, ())
