"""Library operations: rename, annotate, delete and import sessions.

A note is a text file next to the session, with the same name (``NAME.note``), because only the engine writes
session files, and an index can be lost.
"""

import shutil
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError, os_errors_as
from benchtui.sessions.files.input_file import open_plain, read_plain
from benchtui.sessions.files.output_file import create_in_free_name, move_to_new, output_file
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.importers.imported import Imported
from benchtui.sessions.library import paths
from benchtui.sessions.state.session import Session

MOST_NOTE = 2_000
"""Maximum characters of a note."""


def note_of(session: Path) -> str:
    """Return the note of a session in one line; empty if it has none."""
    try:
        text = read_plain(_note_path(session), follow=False).decode(errors="replace")
    except OSError:
        return ""
    return " ".join(text[:MOST_NOTE].split())


def write_note(session: Path, text: str) -> None:
    """Write the note of a session in the library; empty text removes it.

    Raises BenchtuiError if the session is elsewhere, or the note can't be written.
    """
    path, line = _note_path(_require_in_library(session)), " ".join(text.split())[:MOST_NOTE]
    if line:
        with output_file(path, private=True) as file:
            file.write(f"{line}\n".encode())
        return
    with os_errors_as(path, "the note can't be removed"):
        path.unlink(missing_ok=True)


def rename(session: Path, name: str, running_paths: Collection[Path]) -> Path:
    """Rename a session of the library and its note; return the new path.

    Raises BenchtuiError if the name is taken or invalid, or the session is elsewhere or in ``running_paths``.
    """
    _require_not_running(_require_in_library(session), running_paths, "renamed")
    stem = name.strip().removesuffix(".json")
    if not stem or stem == paths.LATEST or stem[0] == "-" or stem != paths.safe_name(stem):
        raise BenchtuiError(
            f"{name!r} is not a valid session name: use letters, digits, -, _ and ., don't begin with"
            f" - or ., and don't use {paths.LATEST!r}"
        )
    wanted = paths.path_of(stem)
    if wanted == session:
        return session
    with os_errors_as(session, "can't be renamed"):
        try:
            move_to_new(session, wanted)
        except FileExistsError as error:
            taken = f"{wanted.stem}: a session with this name already exists; choose another name"
            raise BenchtuiError(taken) from error
        with suppress(FileNotFoundError):
            _note_path(session).rename(_note_path(wanted))
    return wanted


def require_deletable(session: Path, running_paths: Collection[Path]) -> None:
    """Raise BenchtuiError for a session that is elsewhere, or running (in ``running_paths``)."""
    _require_not_running(_require_in_library(session), running_paths, "deleted")


def delete(session: Path, running_paths: Collection[Path]) -> None:
    """Delete a session of the library and its note.

    Raises BenchtuiError if it isn't deletable, or the file can't be removed.
    """
    require_deletable(session, running_paths)
    with os_errors_as(session, "can't be deleted"):
        session.unlink()
        _note_path(session).unlink(missing_ok=True)


def import_session(source: Path) -> Path:
    """Copy a session file into the library under a free name, after validating it.

    Raises BenchtuiError if it isn't a session, or is in the library already.
    """
    started = Session.load(source).start
    stored = next((entry for entry in paths.entries() if entry.started.id == started.id), None)
    if stored is not None:
        raise BenchtuiError(f"{source}: already in the library as {stored.path.stem}")
    path = paths.path_of(paths.safe_name(source.stem) or "session")
    return create_in_free_name(path, partial(_copy, source))[0]


def _copy(source: Path, path: Path) -> None:
    with (
        os_errors_as(source, "can't be copied into the library"),
        open_plain(source) as file,
        output_file(path, over=False, private=True) as copy,
    ):
        shutil.copyfileobj(file, copy)


def import_results(source: Path, kind: str | None = None, map_text: str | None = None) -> tuple[Path, Imported]:
    """Convert the results of another tool to a session in the library, under a free name.

    Raises BenchtuiError if it can't be read, or isn't the output of a supported tool.
    """
    imported = registry.read(source, kind, map_text)
    path = paths.path_of(paths.safe_name(source.stem) or "results")
    return create_in_free_name(path, partial(session_writer.write, imported))[0], imported


def _note_path(session: Path) -> Path:
    return session.with_suffix(".note")


def _require_in_library(session: Path) -> Path:
    if session.absolute().parent != paths.folder().absolute():
        raise BenchtuiError(
            f"{session}: not in the library ({paths.folder()}); only its sessions can be changed"
        )
    if not session.is_file():
        raise BenchtuiError(f"{session}: no such session; list them with `benchtui sessions`")
    return session


def _require_not_running(session: Path, running_paths: Collection[Path], done: str) -> None:
    if session.absolute() in running_paths:
        raise BenchtuiError(f"{session.stem}: a running sweep can't be {done}; stop it with `benchtui stop`")
