"""A copy of a session file that has no name, from which the session is saved where others damage the file.

It lies in the same folder and goes with its process. What is saved from it is NAME.rescued.json, byte for byte
the session as it was written, so that a reader of the old file goes on there at the same place.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchtui.sessions.files.input_file import open_plain

_PIECE = 1 << 20
_MOST_NAMES = 100
_HEAD = 4096
_REPLACED = "another file took its place"


@dataclass(frozen=True, slots=True)
class Harm:
    """What others did to a session file, and where the session goes on."""

    what: str
    path: Path
    """The file that was harmed, which is left as it is."""
    saved: Path


class Spare:
    """The copy; without room for it there is none, which harms nobody."""

    def __init__(self, folder: Path) -> None:
        """Nothing is made before the first bytes come."""
        self._folder = folder
        self._file: IO[bytes] | None = None

    def begin(self, fd: int, size: int) -> None:
        """Make it, and take over what a file holds already, so many bytes."""
        with suppress(OSError):
            # unbuffered: what is added is what a reader of it finds
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  (lives as long as the journal)
        for piece in _pieces(fd, size):
            self.add(piece)

    def add(self, data: bytes) -> None:
        """Add what was written to the file."""
        view = memoryview(data)
        try:
            while self._file and view:
                view = view[self._file.write(view) or 0 :]
        except OSError:
            self.drop()

    def drop(self) -> bool:
        """Give its room back; gives whether there was any."""
        dropped, self._file = self._file, None
        if dropped:
            dropped.close()
        return dropped is not None

    def save(self, path: Path) -> tuple[Path, int]:
        """Write a file beside one that was harmed; gives its path and descriptor, at its end.

        Raises:
            OSError: where there is no copy, or no room for a file.
        """
        if self._file is None:
            raise OSError("no copy")
        saved, fd = _created_beside(path)
        try:
            for piece in _pieces(self._file.fileno(), os.fstat(self._file.fileno()).st_size):
                view = memoryview(piece)
                while view:
                    view = view[os.write(fd, view) :]
            os.fsync(fd)
        except OSError:
            os.close(fd)
            saved.unlink(missing_ok=True)
            raise
        return saved, fd


def harm(fd: int, path: Path | None, size: int) -> str | None:
    """What others have done to a file of which this process has written all of so many bytes.

    One that was moved is whole, and no harm was done. Without a path names aren't looked at.
    """
    now = os.fstat(fd)
    if not now.st_nlink:
        return _REPLACED if path and path.exists() else "the file was removed"
    if now.st_size != size:
        return "the file was truncated" if now.st_size < size else "something else wrote to the file"
    return _REPLACED if path and is_at(fd, path) is False else None


def is_at(fd: int, path: Path) -> bool | None:
    """Whether an open file is the one of that name; None where there is none of that name."""
    try:
        there = path.stat()
    except OSError:
        return None
    return os.path.samestat(there, os.fstat(fd))


def head(fd: int) -> bytes:
    """How a session file begins; in it is the session's id."""
    return os.pread(fd, _HEAD, 0).partition(b"\n]")[0]


def saved_beside(path: Path, begins: bytes) -> Path | None:
    """The newest file to which the session was saved that began so, where one was."""
    found = None
    for name in _names(path):
        try:
            with open_plain(name) as file:
                if begins and head(file.fileno()).startswith(begins[: _HEAD // 2]):
                    found = name
        except OSError:
            break
    return found


def place_of(path: Path, session_id: str) -> Path:
    """Where a session is that was written to a file: there, or in the newest file to which it was saved."""
    found = path
    for name in _names(path):
        try:
            with open_plain(name) as file:
                found = name if f'"id":"{session_id}"'.encode() in head(file.fileno()) else found
        except OSError:
            break
    return found


def _created_beside(path: Path) -> tuple[Path, int]:
    for name in _names(path):
        with suppress(FileExistsError):
            return name, os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    raise OSError("no name is left")


def _names(path: Path) -> Iterator[Path]:
    stem = path.stem.partition(".rescued")[0]
    yield path.with_name(f"{stem}.rescued.json")
    for number in range(2, _MOST_NAMES):
        yield path.with_name(f"{stem}.rescued-{number}.json")


def _pieces(fd: int, size: int) -> Iterator[bytes]:
    for offset in range(0, size, _PIECE):
        yield os.pread(fd, min(_PIECE, size - offset), offset)
