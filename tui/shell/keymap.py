"""Key bindings by action ID: defaults, user mappings and their validation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character
from textual.screen import Screen

QUIT_KEYS = ("ctrl+q", "ctrl+c")
"""Keys that always quit, however other keys are mapped."""
BACK = "escape"
"""Key that always goes back, in addition to any mapped one."""
SHORT = {
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "delete": "del",
    "backspace": "bksp",
    "slash": "/",
    "plus": "+",
    "minus": "-",
}
LONG = {short: long for long, short in SHORT.items()}
NAMED = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values())
"""Names of special keys; character keys also have Unicode names."""
MODIFIERS = ("ctrl", "shift", "alt", "super")
TITLES = {
    "app": "Everywhere",
    "home": "Home",
    "sweep": "Sweep",
    "open": "Opening a sweep",
    "monitor": "Monitor",
    "replay": "Replay, in addition to the keys of the Monitor",
    "columns": "Choosing columns",
    "charts": "Charts",
    "case": "Case details",
    "why": "Why",
    "report": "Report",
    "library": "Library",
    "import": "Importing a table",
    "compare": "Compare",
    "nothing": "Monitor and Charts without an open session",
    "page": "Help and other pages",
    "permission": "Permission to run code or set variables",
    "other_sweep": "Start while another sweep is running",
    "palette": "Command palette",
}
"""Section titles by the first part of an action ID, in listing order."""

_defaults: dict[str, str] = {}
"""Default keys by action ID, of all views imported so far."""
_mapped: dict[str, str] = {}
"""Keys mapped by the user, by action ID."""


class Bound(msgspec.Struct, frozen=True):
    """Keys bound to an action."""

    id: str
    keys: str
    """Textual key names, separated by commas."""
    does: str
    about: str = ""
    """Details for the help page."""


def table(place: str, *rows: tuple[str, ...]) -> list[BindingType]:
    """Create the bindings of a view from rows of keys, name, description, details and action.

    The action is by default called as the name. Users can remap each by its ID, view and name, such as
    ``monitor.skip``.
    """
    return [_binding(place, *row) for row in rows]


def movement(thing: str, about: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the rows for ``table`` of the keys that move through a list of things, such as cases."""
    return (
        ("down,j", "down", f"Next {thing}", about, "move(1)"),
        ("up,k", "up", f"Previous {thing}", "", "move(-1)"),
        ("pagedown", "page_down", f"Ten {thing}s down", "", "move(10)"),
        ("pageup", "page_up", f"Ten {thing}s up", "", "move(-10)"),
        ("home,g", "first", f"First {thing}", "", "move(-1000000)"),
        ("end,G", "last", f"Last {thing}", "", "move(1000000)"),
    )


def scrolling() -> tuple[tuple[str, ...], ...]:
    """Return the rows for ``table`` of the keys that scroll a text."""
    return (
        ("down,j", "down", "Down", "", "move(1)"),
        ("up,k", "up", "Up", "", "move(-1)"),
        ("pagedown", "page_down", "One page down", "", "page(1)"),
        ("pageup", "page_up", "One page up", "", "page(-1)"),
        ("home,g", "first", "First line", "", "move(-1000000)"),
        ("end,G", "last", "Last line", "", "move(1000000)"),
    )


def choosing() -> tuple[tuple[str, ...], ...]:
    """Return the rows for ``table`` of the keys that move through a list below an input."""
    return (
        ("down", "down", "Down", "", "move(1)"),
        ("up", "up", "Up", "", "move(-1)"),
        ("pagedown", "page_down", "Down by ten", "", "move(10)"),
        ("pageup", "page_up", "Up by ten", "", "move(-10)"),
        ("escape", "back", "Back"),
    )


def set_user_map(wanted: Mapping[str, str]) -> None:
    """Set the user's key map, for text that mentions keys."""
    _mapped.clear()
    _mapped.update(wanted)


def key(name: str) -> str:
    """Return the display name of an action's key, for text that mentions it."""
    return _shown(_mapped.get(name, _defaults[name]).split(",")[0])


def bindings_of(owner: type) -> list[Bound]:
    """Return the bindings with an ID that a class defines itself, without inherited ones."""
    return [
        Bound(binding.id, binding.key, binding.description, binding.tooltip or "")
        for binding in vars(owner).get("BINDINGS", ())
        if isinstance(binding, Binding) and binding.id
    ]


def bound(*owners: type) -> list[Bound]:
    """Return all bindings with an ID, without keys that an earlier one has taken.

    A class comes before its base classes.
    """
    bindings: list[Bound] = []
    taken: set[str] = set()
    for binding in (binding for owner in owners for place in owner.__mro__ for binding in bindings_of(place)):
        free = [key for key in binding.keys.split(",") if key not in taken]
        taken.update(free)
        if free:
            bindings.append(replace(binding, keys=",".join(free)))
    return bindings


def active(screen: Screen[Any]) -> list[Bound]:
    """Return the bindings active on a screen, as mapped: the screen's own before the app's."""
    keys: dict[str, list[str]] = {}
    for name, binding in screen.active_bindings.items():
        keys.setdefault(binding.binding.id or "", []).append(name)
    app_bindings = bound(type(screen), type(screen.app))
    return [replace(binding, keys=",".join(keys[binding.id])) for binding in app_bindings if binding.id in keys]


def shown(keys: str) -> str:
    """Format keys for display: ``?`` for ``question_mark``, ``esc`` for ``escape``.

    Characters that alt+0 types on other keyboards aren't shown next to it.
    """
    names = [_shown(part.strip()) for part in keys.split(",")]
    return "  ".join([name for name in names if name.isascii()] or names)


def listed(wanted: Mapping[str, str], owners: Iterable[type]) -> Iterator[tuple[str, Bound]]:
    """Iterate over all bindings as mapped by the user, each with the title of its view."""
    kept = valid_entries(wanted)[0]
    bindings = [binding for owner in owners for binding in bindings_of(owner)]
    for place, title in TITLES.items():
        for binding in bindings:
            if binding.id.startswith(f"{place}."):
                yield title, replace(binding, keys=kept.get(binding.id, binding.keys))


def listing(wanted: Mapping[str, str], owners: Iterable[type]) -> list[str]:
    """List all keys by view, with action ID and description, as mapped by the user."""
    rows = list(listed(wanted, owners))
    lines = []
    for title in TITLES.values():
        lines += [title, *(_row(row) for view, row in rows if view == title), ""]
    return [*lines, f"always: {_shown(BACK)} goes back, {' and '.join(QUIT_KEYS)} quit"]


def valid_entries(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return a map's valid entries, and a message for each invalid one.

    Entries must not use the keys that always go back or quit.
    """
    kept: dict[str, str] = {}
    problems = []
    for name, given in wanted.items():
        keys = [LONG.get(entry.strip(), entry.strip()) for entry in given.split(",")]
        if problem := next(filter(None, (_invalid_reason(entry, name) for entry in keys)), None):
            problems.append(f"keys: {name} = {given!r}: {problem}")
        else:
            kept[name] = ",".join([*keys, BACK] if _goes_back(name) and BACK not in keys else keys)
    return kept, problems


def problems(wanted: Mapping[str, str], owners: Sequence[type]) -> list[str]:
    """Return a message for each invalid entry, unknown ID and key with two actions in one view.

    ``owners`` are the app and its screens, in that order.
    """
    kept, problems = valid_entries(wanted)
    app, *places = owners
    ids = {binding.id for owner in owners for binding in bindings_of(owner)}
    unknown = [
        f"keys: unknown action {name!r}; list all actions with `benchtui keys`"
        for name in wanted
        if name not in ids
    ]
    clashes = dict.fromkeys(line for place in places for line in _clashes(bound(place, app), kept))
    return [*problems, *unknown, *clashes]


def _binding(place: str, keys: str, name: str, does: str, about: str = "", action: str = "") -> Binding:
    _defaults[f"{place}.{name}"] = keys
    return Binding(keys, action or name, does, id=f"{place}.{name}", show=False, tooltip=about)


def _goes_back(name: str) -> bool:
    return name.endswith(".back")


def _invalid_reason(key: str, name: str) -> str | None:
    """Return why a key can't be mapped to an action; None if it can."""
    if not key:
        return "no key given"
    if key in QUIT_KEYS:
        return f"{key} always quits"
    if key == BACK and not _goes_back(name):
        return f"{_shown(BACK)} always goes back"
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    if set(modifiers) <= set(MODIFIERS) and (len(last) == 1 or last in NAMED or key_to_character(last)):
        return None
    return f"{key!r} is not a key; use f5, space, pgdn, ctrl+k, or a letter"


def _clashes(bindings: Iterable[Bound], keymap: Mapping[str, str]) -> list[str]:
    taken: dict[str, str] = {}
    problems = []
    for binding in bindings:
        for key in keymap.get(binding.id, binding.keys).split(","):
            name = _shown(key)
            other = taken.setdefault(name, binding.id)
            if other != binding.id and not {other, binding.id}.isdisjoint(keymap):
                wins = _winner(other, binding.id, keymap)
                problems.append(f"keys: {name} is bound to {other} and {binding.id}; {wins}")
    return problems


def _winner(first: str, second: str, keymap: Mapping[str, str]) -> str:
    """Describe which of two actions gets their key. If one is the app's, it is the second."""
    if second.startswith("app.") and not first.startswith("app."):
        return f"{first} takes precedence where available"
    if first in keymap and second in keymap:
        return "map one of them to another key"
    return "the mapped one takes precedence"


def _row(binding: Bound) -> str:
    return f"  {binding.id:22}  {shown(binding.keys):18}  {binding.does}"


def _shown(key: str) -> str:
    character = key_to_character(key) if "+" not in key and len(key) > 1 else None
    return SHORT.get(key) or (character if character and character.isprintable() and character != " " else key)
