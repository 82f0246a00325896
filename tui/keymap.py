"""Every key of the app by the id of what it does; how a user maps them anew, and mistakes in that."""

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from textual.binding import Binding, BindingType
from textual.keys import key_to_character
from textual.screen import Screen

KEPT = ("ctrl+q", "ctrl+c")
"""Keys that always leave: whatever else is mapped wrongly, these end the app."""
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


@dataclass(frozen=True, slots=True)
class Bound:
    """What keys do."""

    id: str
    keys: str
    """Joined by commas, as Textual names them."""
    does: str
    about: str = ""
    """More of it, for a page of help."""


def bound(bindings: Iterable[BindingType], keymap: Mapping[str, str]) -> list[Bound]:
    """The bindings that have an id, with the keys that a map gives them."""
    named = [each for each in bindings if isinstance(each, Binding) and each.id]
    return [
        Bound(each.id or "", keymap.get(each.id or "", each.key), each.description, each.tooltip or "")
        for each in named
    ]


def shown(keys: str) -> str:
    """Keys as a reader knows them: ``?`` for ``question_mark``, ``esc`` for ``escape``."""
    return "  ".join(_shown(key.strip()) for key in keys.split(","))


def every() -> list[tuple[str, list[Bound]]]:
    """All bindings of the app, by the class that has them; imports every screen."""
    from benchtui.tui import app, screens  # they import this module

    names = sorted(each.name for each in pkgutil.iter_modules(screens.__path__))
    modules = [import_module(f"{screens.__name__}.{name}") for name in names]
    classes: list[type] = [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Screen) and each.__module__ == module.__name__
    ]
    known = [(each.__name__, bound(vars(each).get("BINDINGS", ()), {})) for each in (app.BenchtuiApp, *classes)]
    return [(name, bindings) for name, bindings in known if bindings]


def listing(wanted: Mapping[str, str]) -> list[str]:
    """Every key with its id and what it does, as a user has mapped them, by place."""
    kept = usable(wanted)[0]
    lines = []
    for name, bindings in every():
        rows = [(each.id, shown(kept.get(each.id, each.keys)), each.does) for each in bindings]
        lines += [name, *(f"  {key:22}  {keys:18}  {does}" for key, keys, does in rows), ""]
    return [*lines, f"leaves the app always: {', '.join(KEPT)}"]


def usable(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The entries of a map that take nobody's way out, and a line for each of the others."""
    kept: dict[str, str] = {}
    problems = []
    for name, keys in wanted.items():
        taken = [key for key in keys.split(",") if key.strip() in KEPT]
        if taken or not keys.strip():
            why = f"{taken[0].strip()} always leaves the app" if taken else "no key is given"
            problems.append(f"keys: {name} = {keys!r}: {why}")
        else:
            kept[name] = keys
    return kept, problems


def mistakes(wanted: Mapping[str, str]) -> list[str]:
    """A line for every id that doesn't exist, and for every key that would do two things in one place."""
    places = every()
    ids = {each.id for _, bindings in places for each in bindings}
    unknown = [f"keys: no action {name!r}; `benchtui keys` lists them" for name in wanted if name not in ids]
    kept, problems = usable(wanted)
    clashes = [line for _, bindings in places for line in _clashes(bindings, kept)]
    return [*problems, *unknown, *clashes]


def _clashes(bindings: Sequence[Bound], keymap: Mapping[str, str]) -> list[str]:
    taken: dict[str, str] = {}
    problems = []
    for each in bindings:
        for key in keymap.get(each.id, each.keys).split(","):
            name = _shown(key.strip())
            other = taken.setdefault(name, each.id)
            if other != each.id and not {other, each.id}.isdisjoint(keymap):
                problems.append(f"keys: {name} would do {other} and {each.id}; the mapped one wins")
    return problems


def _shown(key: str) -> str:
    character = key_to_character(key) if "+" not in key and len(key) > 1 else None
    return SHORT.get(key) or (character if character and character.isprintable() and character != " " else key)
