"""Session backup: an unnamed copy of a session file, in case other processes damage the file.

The copy is in the same folder and disappears with its process. It is restored to NAME.rescued.json, byte for
byte as the session was written, so a reader of the old file can continue there at the same offset.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from benchtui.sessions.files.input_file import open_plain

_CHUNK_BYTES = 1 << 20
_MOST_NAMES = 100
_HEAD = 4096
_REPLACED = "the file was replaced"


class FileDamage(msgspec.Struct, frozen=True):
    """Damage to a session file by other processes, and the file in which the session continues."""

    what: str
    path: Path
    """Damaged file, which is left as it is."""
    saved: Path


class BackupCopy:
    """Unnamed backup copy. If the disk has no space for it, the session is written without one."""

    def __init__(self, folder: Path) -> None:
        """Store the folder; ``begin`` creates the copy."""
        self._folder = folder
        self._file: IO[bytes] | None = None

    def begin(self, fd: int, size: int) -> None:
        """Create the copy and fill it with the first ``size`` bytes of a file."""
        with suppress(OSError):
            # unbuffered: a reader of the descriptor has to see every write
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  (open as long as the journal)
        for piece in _chunks(fd, size):
            self.add(piece)

    def add(self, data: bytes) -> None:
        """Append data that was written to the session file."""
        view = memoryview(data)
        try:
            while self._file and view:
                view = view[self._file.write(view) or 0 :]
        except OSError:
            self.drop()

    def drop(self) -> bool:
        """Discard the copy to free its disk space; return whether there was one."""
        dropped, self._file = self._file, None
        if dropped:
            dropped.close()
        return dropped is not None

    def save(self, path: Path) -> tuple[Path, int]:
        """Write the copy to a new file next to the damaged one; return its path and its descriptor, at the end.

        Raises OSError if there is no copy, or no disk space for the new file.
        """
        if self._file is None:
            raise OSError("no backup copy")
        saved, fd = _create_next_to(path)
        try:
            for piece in _chunks(self._file.fileno(), os.fstat(self._file.fileno()).st_size):
                view = memoryview(piece)
                while view:
                    view = view[os.write(fd, view) :]
            os.fsync(fd)
        except OSError:
            os.close(fd)
            saved.unlink(missing_ok=True)
            raise
        return saved, fd


def find_damage(fd: int, path: Path | None, size: int) -> str | None:
    """Describe how other processes changed a file of ``size`` bytes; None if it is intact.

    A moved file is intact. Without ``path``, names aren't checked.
    """
    now = os.fstat(fd)
    if not now.st_nlink:
        return _REPLACED if path and path.exists() else "the file was removed"
    if now.st_size != size:
        return "the file was truncated" if now.st_size < size else "another process wrote to the file"
    return _REPLACED if path and is_at(fd, path) is False else None


def is_at(fd: int, path: Path) -> bool | None:
    """Return whether an open file is the one at ``path``; None if there is no file at ``path``."""
    try:
        there = path.stat()
    except OSError:
        return None
    return os.path.samestat(there, os.fstat(fd))


def head(fd: int) -> bytes:
    """Read the beginning of a session file, which includes the session's id."""
    return os.pread(fd, _HEAD, 0).partition(b"\n]")[0]


def rescue_file_of(path: Path, begins: bytes) -> Path | None:
    """Return the newest rescue file of the session with this beginning, or None."""
    rescue = None
    for name in _rescue_paths(path):
        try:
            with open_plain(name) as file:
                if begins and head(file.fileno()).startswith(begins[: _HEAD // 2]):
                    rescue = name
        except OSError:
            break
    return rescue


def current_path(path: Path, session_id: str) -> Path:
    """Return the current file of a session: the original, or its newest rescue file."""
    current = path
    for name in _rescue_paths(path):
        try:
            with open_plain(name) as file:
                current = name if f'"id":"{session_id}"'.encode() in head(file.fileno()) else current
        except OSError:
            break
    return current


def _create_next_to(path: Path) -> tuple[Path, int]:
    for name in _rescue_paths(path):
        with suppress(FileExistsError):
            return name, os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    raise OSError("no unused name left for a rescue file")


def _rescue_paths(path: Path) -> Iterator[Path]:
    stem = path.stem.partition(".rescued")[0]
    yield path.with_name(f"{stem}.rescued.json")
    for number in range(2, _MOST_NAMES):
        yield path.with_name(f"{stem}.rescued-{number}.json")


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    for offset in range(0, size, _CHUNK_BYTES):
        yield os.pread(fd, min(_CHUNK_BYTES, size - offset), offset)
