"""Completion of typed paths and names by tab, as in a shell. Independent of Textual."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from benchtui.sessions.stored_models.hub_cache import cached_models
from benchtui.sessions.stored_models.stored_model import holds_model


class Completion(msgspec.Struct, frozen=True):
    """Text after completion, and what it may continue to."""

    text: str
    options: tuple[str, ...] = ()
    """Possible continuations if there are several; empty if there is one or none."""


Completer = Callable[[str], Completion]


def completed(text: str, names: Iterable[str]) -> Completion:
    """Extend a text as far as all names that begin with it agree."""
    matching = sorted({name for name in names if name.startswith(text)})
    if not matching:
        return Completion(text)
    common = os.path.commonprefix(matching)  # noqa: RUF071  (letters are completed, not parts of a path)
    return Completion(common, tuple(matching) if len(matching) > 1 else ())


def path_completer(folder: Path) -> Completer:
    """Return a completer of paths, relative to a folder."""
    return lambda text: completed(text, _paths(text, folder, lambda path: True))


def model_completer(folder: Path, names: Callable[[], Iterable[str]] = tuple) -> Completer:
    """Return a completer of folders, of models in the hub's cache, and of further names."""

    def complete(text: str) -> Completion:
        return completed(text, [*names(), *cached_models(), *_paths(text, folder, Path.is_dir)])

    return complete


def _paths(text: str, folder: Path, wanted: Callable[[Path], bool]) -> list[str]:
    """Return the paths that begin with a text. A folder that isn't a model ends in a slash."""
    head, slash, tail = text.rpartition(os.sep)
    try:
        place = folder / Path(f"{head}{slash}").expanduser()
        names = [name for name in os.listdir(place) if name.startswith(tail) and _shown(name, tail)]
        paths = [(name, place / name) for name in names if wanted(place / name)]
        folders = {name for name, path in paths if path.is_dir() and not holds_model(path)}
        return [f"{head}{slash}{name}{os.sep if name in folders else ''}" for name, _ in paths]
    except (OSError, RuntimeError, ValueError):  # such as an unknown user
        return []


def _shown(name: str, tail: str) -> bool:
    return name.isprintable() and (tail.startswith(".") or not name.startswith("."))
