"""Session file writer: appends events to a JSON array, each as one whole line."""

import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from benchtui.sessions.events import AnyEvent, CaseFinished, Resumed, SessionFinished
from benchtui.sessions.files.locked_file import create_locked, lock, open_locked
from benchtui.sessions.files.output_file import create_in_free_name
from benchtui.sessions.journal.backup import BackupCopy, FileDamage, find_damage, is_at

_CHUNK_BYTES = 1 << 16
_SPACE = b" \t\r\n"


def repair(fd: int) -> bytes:
    """Repair a file with at least one event; return what to write before the next event."""
    size = os.fstat(fd).st_size
    lines = _last_offset(fd, size, lambda piece: piece.rfind(b"\n")) + 1
    place, letter = _last_visible(fd, size)
    closed = letter == b"]" and _last_visible(fd, place)[0] < lines
    if place >= lines and not closed:
        os.ftruncate(fd, size := lines)
        place, letter = _last_visible(fd, size)
    if letter == b"]":
        os.pwrite(fd, b",", place)
    end = b"" if os.pread(fd, 1, size - 1) == b"\n" else b"\n"
    return end + (b",\n" if letter == b"}" else b"")


def _last_visible(fd: int, end: int) -> tuple[int, bytes]:
    """Return offset and value of the last byte before ``end`` that isn't white space; -1 and b"" if none."""
    place = _last_offset(fd, end, lambda piece: len(piece.rstrip(_SPACE)) - 1)
    return place, os.pread(fd, 1, place) if place >= 0 else b""


def _last_offset(fd: int, end: int, last: Callable[[bytes], int]) -> int:
    """Return the offset of the last byte before ``end`` that ``last`` finds in a part of the file, or -1."""
    while end > 0:
        begin = max(0, end - _CHUNK_BYTES)
        at = last(os.pread(fd, end - begin, begin))
        if at >= 0:
            return begin + at
        end = begin
    return -1


_encoder = msgspec.json.Encoder()


class Journal:
    """Sole writer of a session file; safe to call from several threads."""

    def __init__(
        self,
        path: Path,
        *,
        resumed: bool = False,
        backup: bool = False,
        numbered: bool = False,
        sync_cases: bool = True,
    ) -> None:
        """Create the file, readable by its owner only, or open an existing one to resume it.

        With ``numbered``, a new file gets the next free number if the name is taken. Without ``sync_cases``,
        the file is certain to be on disk only once it is complete, which is faster for thousands of cases.

        An existing file stays as it is until the first event is appended. With a backup copy, the session
        continues in another file if other processes damage this one. Raises BenchtuiError if a new file exists
        already or can't be created, or if an existing one can't be written or is being written by another
        engine.
        """
        self._lock = threading.Lock()
        self._created = not resumed
        self._synced = (CaseFinished, Resumed) if sync_cases else (Resumed,)
        if numbered:
            path, self._fd = create_in_free_name(path, create_locked)
        else:
            self._fd = open_locked(path) if resumed else create_locked(path)
        self._started = False
        """Whether this journal has written an event."""
        self.bytes_written = os.fstat(self._fd).st_size
        self.path = path.absolute()
        """Path of the session file, which changes if other processes damage the file."""
        self._path_reliable = is_at(self._fd, self.path) is not False
        """Whether the file system identifies files correctly."""
        self._backup = BackupCopy(self.path.parent) if backup else None

    def append(self, event: AnyEvent, on_damage: Callable[[FileDamage], AnyEvent] | None = None) -> None:
        """Append one event as a whole line. A finished case or a resume is on disk before this returns.

        If the session had to be restored to another file, ``on_damage`` creates an event about the damage. That
        event is appended first, because ``event`` may be the last one. Raises OSError if the disk is full or
        gone, or if other processes damaged the file and it can't be restored. No part of the line is left in
        the file.
        """
        last = isinstance(event, SessionFinished)
        with self._lock:
            lead = self._prefix()
            damage = self._check_damage() if self._started else None
            if damage and on_damage:
                self._write(_encoder.encode(on_damage(damage)) + b",\n")
            self._write(lead + _encoder.encode(event) + (b"\n]\n" if last else b",\n"))
            self._started = True
            if last or isinstance(event, self._synced):
                os.fsync(self._fd)

    def complete(self) -> None:
        """End the array after events that follow the end of the session; do nothing if there were none."""
        with self._lock:
            if self._started:
                os.pwrite(self._fd, b"\n]\n", self.bytes_written - len(b",\n"))
                os.fsync(self._fd)

    def close(self) -> None:
        """Close the file. The closing bracket was written with the last event, or is missing.

        A file that was created here and has no event is removed.
        """
        if self._created and not self.bytes_written and is_at(self._fd, self.path):
            self.path.unlink()
        os.close(self._fd)
        if self._backup:
            self._backup.drop()

    def _check_damage(self) -> FileDamage | None:
        """Continue in another file if other processes damaged this one, which is then left as it is."""
        what = find_damage(self._fd, self.path if self._path_reliable else None, self.bytes_written)
        if what is None:
            return None
        gone = errno.ENOENT if what == "the file was removed" else errno.EIO
        if self._backup is None:
            raise OSError(gone, what)
        try:
            saved, fd = self._backup.save(self.path)
        except OSError as error:
            raise OSError(gone, what) from error
        with suppress(OSError):  # file system without locks
            lock(fd)
        os.close(self._fd)
        damage = FileDamage(what, self.path, saved)
        self._fd, self.path = fd, saved
        return damage

    def _prefix(self) -> bytes:
        if self._started:
            return b""
        lead = repair(self._fd) if self.bytes_written else b"[\n"
        self.bytes_written = os.lseek(self._fd, 0, os.SEEK_END)
        if self._backup:
            self._backup.begin(self._fd, self.bytes_written)
        return lead

    def _write(self, line: bytes) -> None:
        try:
            self._write_whole(line)
        except OSError:
            if not (self._backup and self._backup.drop()):  # discarding the copy may free enough space
                raise
            self._write_whole(line)
        if self._backup:
            self._backup.add(line)
        self.bytes_written += len(line)

    def _write_whole(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            os.ftruncate(self._fd, self.bytes_written)  # a partial line would corrupt the next one too
            os.lseek(self._fd, 0, os.SEEK_END)
            raise
