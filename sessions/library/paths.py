"""Where sessions live, and what there is."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
import platformdirs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.files.input_file import open_plain

LATEST = "latest"
"""Stands for the newest session of the library wherever a session is asked for."""

DEMO = "demo"
"""Stands for the session that comes with benchtui."""

_HEAD_BYTES = 64 * 1024 * 1024
_TAIL_BYTES = 4096
_NAME_BYTES = 160
"""Most that a sweep's name takes of a file's, which may have 255."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session of the library, by the first line of its file and its end."""

    path: Path
    started: SessionStarted
    finished: bool
    """Whether the record was closed; of a running engine's it isn't yet."""


def folder() -> Path:
    """The folder of sessions, made when it isn't there; raises BenchtuiError where it can't be made."""
    path = Path(platformdirs.user_data_dir("benchtui")) / "sessions"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BenchtuiError(f"{path}: the folder of sessions can't be made: {error.strerror}") from error
    return path


def demo_path() -> Path:
    """The recorded session that comes with benchtui."""
    return Path(__file__).parent / "demo" / "demo.json"


def new_path(name: str, now: datetime) -> Path:
    """A path in the library that isn't taken, named after the sweep and the moment."""
    return free_path(f"{safe_name(name) or 'sweep'}-{now:%Y%m%d-%H%M%S}")


def safe_name(text: str) -> str:
    """The text as a file's name without its ending, of letters, digits and ``-_.`` alone; it may be empty."""
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in text)
    return safe.encode()[:_NAME_BYTES].decode(errors="ignore").strip(".")


def free_path(stem: str) -> Path:
    """A path in the library of this name, counted on where it is taken."""
    candidates = (folder() / f"{stem}{suffix}.json" for suffix in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(path for path in candidates if not path.exists())


def entries() -> list[SessionFile]:
    """The sessions of the library, the newest first; a file that isn't one is passed over."""
    found = (entry_of(path) for path in folder().glob("*.json"))
    known = [entry for entry in found if entry]
    return sorted(known, key=lambda entry: (entry.started.created, entry.path.stem), reverse=True)


def resolve(source: str) -> Path:
    """The session file that is meant by a path, an id, a file's name in the library, ``latest`` or ``demo``.

    Raises:
        BenchtuiError: where there is none, or more than one.
    """
    if os.path.exists(source) or os.sep in source:
        return Path(source)
    if source == DEMO:
        return demo_path()
    known = entries()
    if source == LATEST:
        if not known:
            raise BenchtuiError(f"no session yet in {folder()}; `benchtui run quick` makes one")
        return known[0].path
    matching = [entry.path for entry in known if source in (entry.path.stem, entry.path.name, entry.started.id)]
    if len(matching) > 1:
        names = ", ".join(path.name for path in matching)
        raise BenchtuiError(f"{source}: {len(matching)} sessions are meant: {names}; give one of these names")
    if not matching:
        raise BenchtuiError(
            f"{source}: no such session; `benchtui sessions` lists them, and a path will do too"
        )
    return matching[0]


def entry_of(path: Path) -> SessionFile | None:
    """What the first line and the end of a file say, or None where it is no session."""
    try:
        with open_plain(path) as file:
            head = file.readline(16) + file.readline(_HEAD_BYTES)
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            tail = file.read()
        line = head.removeprefix(b"[").strip().removesuffix(b",")
        started = msgspec.json.decode(line, type=SessionStarted)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return SessionFile(path, started, tail.endswith(b"]\n"))
