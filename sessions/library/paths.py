"""Session paths: the library folder, its session files, and names that refer to them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
import platformdirs

from benchtui.sessions.errors import BenchtuiError, os_errors_as
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.files.input_file import open_plain, read_plain
from benchtui.sessions.files.output_file import append_private
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.sweep.ranges import nearest

LATEST = "latest"
"""Name that refers to the newest session of the library, wherever a session can be named."""

DEMO = "demo"
CPU_DEMO = "demo-cpu"
GPU_DEMO = "demo-gpu"
DEMOS = (DEMO, GPU_DEMO, CPU_DEMO, "demo-runtimes")
"""Names of the sessions bundled with benchtui: a simulated server, and sweeps of an H100 and of CPUs."""

MOST_REMEMBERED_BYTES = 1_000_000
"""Maximum size of the file that lists sessions outside the library."""
_HEAD_BYTES = 64 * 1024 * 1024
_TAIL_BYTES = 4096
_NAME_BYTES = 160
"""Maximum bytes of a sweep's name in a file name, which may have 255."""


def folder() -> Path:
    """Return the folder of sessions, creating it if needed; raises BenchtuiError if that fails."""
    path = Path(platformdirs.user_data_dir("benchtui")) / "sessions"
    with os_errors_as(path, "can't create the session folder"):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def demo_path(name: str = DEMO) -> Path:
    """Return the path of a session bundled with benchtui, one of ``DEMOS``."""
    return Path(__file__).parent / "demo" / f"{name}.json"


def demo_paths() -> tuple[Path, ...]:
    """Return the paths of all sessions bundled with benchtui."""
    return tuple(map(demo_path, DEMOS))


def require_changeable(path: Path, purpose: str) -> None:
    """Raise BenchtuiError that names the purpose if a session is bundled with benchtui."""
    if path.resolve() in [bundled.resolve() for bundled in demo_paths()]:
        raise BenchtuiError(f"{path.stem}: can't {purpose} a session that comes with benchtui")


def new_path(name: str, now: datetime) -> Path:
    """Return a path in the library, named after the sweep and the time. It may be taken (``free_names``)."""
    return path_of(f"{safe_name(name) or 'sweep'}-{now:%Y%m%d-%H%M%S}")


def safe_name(text: str) -> str:
    """Return a file name without extension that has only letters, digits and ``-_.``; it may be empty.

    It doesn't begin with ``-``, which would make it an option of commands.
    """
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in text)
    return safe.encode()[:_NAME_BYTES].decode(errors="ignore").lstrip("-.").rstrip(".")


def path_of(stem: str) -> Path:
    """Return the path of a session in the library by its name."""
    return folder() / f"{stem}.json"


def library_name(path: Path) -> str:
    """Return a session's name in the library, or its path if it is elsewhere."""
    if path in demo_paths():
        return path.stem
    return path.stem if path.parent == folder() else str(path)


def entries() -> list[SessionFile]:
    """List the sessions of the library, newest first; files that aren't sessions are skipped."""
    candidates = (entry_of(path) for path in folder().glob("*.json"))
    session_files = list(filter(None, candidates))
    return sorted(session_files, key=lambda entry: (entry.started.created, entry.path.stem), reverse=True)


def remember(path: Path) -> None:
    """Remember a session outside the library, so that estimates know it. A failure only loses that.

    So does a name that isn't UTF-8, which JSON can't hold.
    """
    with suppress(BenchtuiError, UnicodeEncodeError):
        if path.parent != folder() and path.absolute() not in _remembered():
            append_private(_elsewhere(), msgspec.json.encode(os.fsdecode(path.absolute())) + b"\n")


def known() -> list[SessionFile]:
    """List the sessions of the library and those that ``run -o`` wrote elsewhere, newest first.

    Sessions that were moved or deleted, and those that the library has as well, are left out.
    """
    stored = entries()
    ids = {entry.started.id for entry in stored}
    outside = (entry_of(path) for path in _remembered())
    session_files = [*stored, *(entry for entry in outside if entry and entry.started.id not in ids)]
    return sorted(session_files, key=lambda entry: (entry.started.created, entry.path.stem), reverse=True)


def _remembered() -> Iterator[Path]:
    try:
        lines = read_plain(_elsewhere(), MOST_REMEMBERED_BYTES).splitlines()
    except (OSError, ValueError):
        return
    for line in dict.fromkeys(reversed(lines)):
        with suppress(msgspec.DecodeError, ValueError):
            yield Path(msgspec.json.decode(line, type=str))


def _elsewhere() -> Path:
    return folder().with_name("sessions-elsewhere.jsonl")


def resolve(source: str, *, whole: bool = False) -> Path:
    """Resolve a path, id, name in the library or its beginning, ``latest``, or a demo's name to a session file.

    With ``whole``, the beginning of a name isn't enough. Raises BenchtuiError if there is no such session, or
    more than one.
    """
    if os.path.exists(source) or os.sep in source:
        return Path(source)
    if source in DEMOS:
        return demo_path(source)
    stored = entries()
    if source == LATEST:
        if not stored:
            raise BenchtuiError(f"no session in {folder()} yet; create one with `benchtui run quick`")
        return stored[0].path
    matching = [
        entry.path for entry in stored if source in (entry.path.stem, entry.path.name, entry.started.id)
    ]
    if source and not matching and not whole:
        matching = [entry.path for entry in stored if entry.path.stem.startswith(source)]
    if len(matching) > 1:
        names = ", ".join(path.name for path in matching)
        raise BenchtuiError(f"{source}: {len(matching)} sessions match: {names}; use one of these names")
    if not matching:
        hint = nearest(source, [LATEST, DEMO, *(entry.path.stem for entry in stored)])
        raise BenchtuiError(
            f"{source}: no such session{hint}; list the names with `benchtui sessions`, or give a path"
        )
    return matching[0]


def entry_of(path: Path) -> SessionFile | None:
    """Read the first line and the end of a file; None if it isn't a session."""
    try:
        with open_plain(path) as file:
            head = file.readline(16) + file.readline(_HEAD_BYTES)
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            tail = file.read()
        line = head.removeprefix(b"[").strip().removesuffix(b",")
        started = msgspec.json.decode(line, type=SessionStarted)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return SessionFile(path, started, tail.endswith(b"]\n"))
