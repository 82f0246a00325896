"""Appends events to a session file, which stays a valid JSON array between them."""

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path

import msgspec

from benchtui.sessions.events import AnyEvent, CaseFinished, Resumed, SessionFinished
from benchtui.sessions.files.locked_file import created, lock, opened
from benchtui.sessions.journal.backup import Harm, Spare, harm, is_at

_PIECE = 1 << 16
_SPACE = b" \t\r\n"


def mend(fd: int) -> bytes:
    """Mend a file that holds at least one event; gives what has to be written before the next one."""
    size = os.fstat(fd).st_size
    lines = _find(fd, size, b"\n") + 1
    place, letter = _last(fd, size)
    closed = letter == b"]" and _last(fd, place)[0] < lines
    if place >= lines and not closed:
        os.ftruncate(fd, size := lines)
        place, letter = _last(fd, size)
    if letter == b"]":
        os.pwrite(fd, b",", place)
    end = b"" if os.pread(fd, 1, size - 1) == b"\n" else b"\n"
    return end + (b",\n" if letter == b"}" else b"")


def _last(fd: int, end: int) -> tuple[int, bytes]:
    """Place and value of the last byte before ``end`` that isn't white space; -1 and nothing without one."""
    while end > 0:
        begin = max(0, end - _PIECE)
        piece = os.pread(fd, end - begin, begin).rstrip(_SPACE)
        if piece:
            return begin + len(piece) - 1, piece[-1:]
        end = begin
    return -1, b""


def _find(fd: int, end: int, letter: bytes) -> int:
    """Place of the last such byte before ``end``; -1 without one."""
    while end > 0:
        begin = max(0, end - _PIECE)
        found = os.pread(fd, end - begin, begin).rfind(letter)
        if found >= 0:
            return begin + found
        end = begin
    return -1


_encoder = msgspec.json.Encoder()


class Journal:
    """Writes a session file, as the only one that does; safe to call from several threads."""

    def __init__(self, path: Path, *, resumed: bool = False, spare: bool = False) -> None:
        """Create the file for its owner alone, or open an existing one to resume it.

        An existing file stays as it is until the first event is appended. With a spare copy the session
        goes on beside a file that others have damaged.

        Raises:
            BenchtuiError: where it exists, or can't be made; where it can't be written, or another engine
                writes it.
        """
        self._lock = threading.Lock()
        self._created = not resumed
        self._fd = opened(path) if resumed else created(path)
        self._begun = False
        """Whether this journal has written an event."""
        self.bytes_written = os.fstat(self._fd).st_size
        self.path = path.absolute()
        """Where the session is written, which others may make another file."""
        self._named = is_at(self._fd, self.path) is not False
        """Whether the file system tells files apart as it should."""
        self._spare = Spare(self.path.parent) if spare else None

    def append(self, event: AnyEvent) -> Harm | None:
        """Write one event as one whole line; a finished case, or a resume, is on disk before this returns.

        Gives what others did to the file, where the session had to be saved beside it.

        Raises:
            OSError: where the disk is full or gone, or others have damaged the file and it can't be saved;
                nothing of the line is left in the file then.
        """
        last = isinstance(event, SessionFinished)
        with self._lock:
            lead = self._lead()
            found = self._save_from_harm() if self._begun else None
            self._write(lead + _encoder.encode(event) + (b"\n]\n" if last else b",\n"))
            self._begun = True
            if last or isinstance(event, CaseFinished | Resumed):
                os.fsync(self._fd)
            return found

    def close(self) -> None:
        """Close the file; the closing bracket has come with the last event, or is missing.

        A file that was created here, and in which nothing was recorded, is removed.
        """
        if self._created and not self.bytes_written and is_at(self._fd, self.path):
            self.path.unlink()
        os.close(self._fd)
        if self._spare:
            self._spare.drop()

    def save_from_harm(self) -> Harm | None:
        """Look whether others have damaged the file, before the next event; as ``append`` does."""
        with self._lock:
            return self._save_from_harm() if self._begun else None

    def _save_from_harm(self) -> Harm | None:
        """Go on in another file where others have damaged this one, which isn't touched any more."""
        what = harm(self._fd, self.path if self._named else None, self.bytes_written)
        if what is None:
            return None
        gone = errno.ENOENT if what == "the file was removed" else errno.EIO
        if self._spare is None:
            raise OSError(gone, what)
        try:
            saved, fd = self._spare.save(self.path)
        except OSError as error:
            raise OSError(gone, what) from error
        with suppress(OSError):  # a file system without locks
            lock(fd)
        os.close(self._fd)
        found = Harm(what, self.path, saved)
        self._fd, self.path = fd, saved
        return found

    def _lead(self) -> bytes:
        """What has to stand before the next line."""
        if self._begun:
            return b""
        lead = mend(self._fd) if self.bytes_written else b"[\n"
        self.bytes_written = os.lseek(self._fd, 0, os.SEEK_END)
        if self._spare:
            self._spare.begin(self._fd, self.bytes_written)
        return lead

    def _write(self, line: bytes) -> None:
        try:
            self._write_whole(line)
        except OSError:
            if not (self._spare and self._spare.drop()):  # its room may be what is missing
                raise
            self._write_whole(line)
        if self._spare:
            self._spare.add(line)
        self.bytes_written += len(line)

    def _write_whole(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            os.ftruncate(self._fd, self.bytes_written)  # half a line would break the next one too
            os.lseek(self._fd, 0, os.SEEK_END)
            raise
