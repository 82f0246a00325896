"""Session file reader: a JSON array with one event per line, appended while the sweep runs.

Every line but the last ends in a comma; the closing bracket comes with ``session_finished``. A truncated file
lacks that bracket and possibly the end of its last line, but can still be read.
"""

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, get_args

import msgspec

from benchtui.sessions.errors import BenchtuiError, os_errors_as
from benchtui.sessions.events import SCHEMA, AnyEvent
from benchtui.sessions.files.input_file import EVENT_PREFIX, SESSION_PREFIX, open_plain, read_at_most
from benchtui.sessions.journal.backup import head, rescue_file_of
from benchtui.sessions.sanitize import shell_word, shortened
from benchtui.sessions.sweep import MOST_CASES, Seconds

_decoder = msgspec.json.Decoder(AnyEvent)
_whole_decoder = msgspec.json.Decoder(list[AnyEvent])


SLICE_BYTES = 2**18
"""Bytes read at once. Other threads can run between two slices."""
SCAN_BYTES = 2**18
"""Bytes searched at once when a large file is opened; they fit in a processor's cache."""
LONGEST_LINE = 100_000_000
"""Maximum bytes of a line; anything longer is not an event."""
_LEAST_OF_A_PLANNED_CASE = 16
_PLAN, _CASE = re.compile(rb'"plan"\s*:'), re.compile(rb'"device"\s*:')
"""Beginning of the plan in the first event, and the one key that each case in it has, in any layout."""
_KEY_BYTES = 32
"""Maximum bytes of such a key with the white space around it."""
_HEAD_BYTES = 64


class _Header(msgspec.Struct):
    """Part of a line that identifies the event, whichever version wrote it."""

    event: str
    t: Seconds = 0.0
    schema: int | None = None


_header_decoder = msgspec.json.Decoder(_Header)


class Unknown(msgspec.Struct, frozen=True):
    """Event that this version doesn't know, kept as raw bytes."""

    event: str
    t: float
    raw: bytes


AnyRecord = AnyEvent | Unknown


class Recording(msgspec.Struct, frozen=True):
    """Contents of a session file."""

    events: list[AnyRecord]
    torn: bool
    """Whether an incomplete last line was dropped."""


class FilePosition(msgspec.Struct, frozen=True):
    """Start of a line in a session file."""

    offset: int = 0
    """Byte offset, from 0."""
    line: int = 1
    """Line number, from 1."""


class Tail:
    """Incremental reader of a growing session file; it keeps its position between calls."""

    def __init__(self, path: Path, position: FilePosition | None = None) -> None:
        """Open the file at its beginning or at a position; raises BenchtuiError if it can't be read."""
        self.path = path
        """File that is being read: the given one, or a rescue file of the session."""
        self._file = _open(path)
        self._partial_line: list[bytes] = []
        """Pieces of a line that isn't complete yet."""
        self._broken: BenchtuiError | None = None
        self._head = head(self._file.fileno())
        self._rescue_file = rescue_file_of(path, self._head)
        """Rescue file of the session that already existed when this reader was opened."""
        self.seek(position or FilePosition())

    @property
    def position(self) -> FilePosition:
        """Start of the first line that hasn't been returned yet, where the next call continues."""
        return self._position

    @property
    def size(self) -> int:
        """Current size of the file in bytes; 0 if it was removed."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def at_end(self) -> bool:
        """Whether everything written so far has been read; True if the file was removed."""
        return self._file.tell() >= self.size

    def seek(self, position: FilePosition) -> None:
        """Continue at another position."""
        self._position, self._broken = position, None
        self._partial_line.clear()
        self._file.seek(position.offset)

    def read(self, most_bytes: int = -1) -> list[AnyRecord]:
        """Return the events completed since the last call, reading at most ``most_bytes`` more bytes.

        Raises BenchtuiError for a line that isn't an event, once the events before it have been returned; from
        then on, at every call.
        """
        if self._broken:
            raise self._broken
        begun = bool(self._partial_line)
        data = self._file.read(most_bytes)
        if not data and most_bytes and self.follow():
            data = self._file.read(most_bytes)
        lines = self._lines(data)
        events: list[AnyRecord] = []
        try:
            for event in _events(lines, self.path, self._position.line):
                events.append(event)
        except BenchtuiError as error:
            self._broken = error
        if self._broken and not events and begun:
            place = self._file.tell()
            self.seek(self._position)
            return self.read(place - self._position.offset)
        if self._broken:  # stop before the broken line, and don't return the events before it twice
            lines = _up_to(lines, len(events))
        size = sum(map(len, lines)) + len(lines)
        self._position = FilePosition(self._position.offset + size, self._position.line + len(lines))
        if self._broken and not events:
            raise self._broken
        return events

    def follow(self) -> bool:
        """Continue in the rescue file, if the session was restored to one after damage by another process."""
        self._head = self._head or head(self._file.fileno())
        saved = rescue_file_of(self.path, self._head)
        if saved is None or saved in (self._rescue_file, self.path):
            return False
        self._file.close()
        self.path, self._rescue_file, self._file = saved, saved, _open(saved)
        self.seek(self._position)
        return True

    def _lines(self, data: bytes) -> list[bytes]:
        """Return the lines completed by more data, without their ends."""
        if b"\n" not in data:
            self._partial_line.append(data)
            if sum(map(len, self._partial_line)) > LONGEST_LINE:
                where, most_mb = f"{self.path}, line {self._position.line}", LONGEST_LINE / 1e6
                self._broken = BenchtuiError(f"{where}: longer than {most_mb:g} MB, the maximum for an event")
            return []
        lines = data.split(b"\n")
        lines[0] = b"".join((*self._partial_line, lines[0]))
        self._partial_line = [lines.pop()]
        return lines

    @property
    def torn(self) -> bool:
        """Whether the rest of the data is an incomplete line."""
        rest = [piece for piece in self._partial_line if piece.strip()]
        return len(rest) > 1 or is_torn(b"".join(rest))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def slices(path: Path, size: int = SLICE_BYTES) -> Generator[tuple[list[AnyRecord], bool], None, None]:
    """Iterate over the events of a file as it is now, ``size`` bytes at a time.

    Each slice comes with a flag: whether an incomplete line is left over. Raises BenchtuiError if the file
    can't be read, or a line isn't an event.
    """
    tail = Tail(path)
    try:
        for _ in range(0, tail.size, size):
            yield tail.read(size), tail.torn
        yield tail.read(0), tail.torn  # raises if the last slice stopped at a broken line
    finally:
        tail.close()


def read(path: Path) -> Recording:
    """Read a whole session file, finished or not.

    Raises BenchtuiError if it can't be read, isn't a session, or was written by a newer version.
    """
    with _open(path) as file:
        small = os.fstat(file.fileno()).st_size <= LONGEST_LINE
        data = read_at_most(file, LONGEST_LINE) if small else b""
    events: list[AnyRecord] = []
    torn = False
    if not small:
        for decoded, torn in slices(path):  # noqa: B007 - the last value is used
            events += decoded
    else:
        try:
            events += _whole_decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            *lines, rest = data.split(b"\n")
            events, torn = list(_events(lines, path, 1)), is_torn(rest)
    if not events or _tag(events[0]) != "session_started":
        raise not_a_session(path)
    return Recording(events, torn)


def not_a_session(path: Path) -> BenchtuiError:
    """Return the error for a file that doesn't begin with a session_started event."""
    text = "not a session file; it should begin with a session_started event"
    return BenchtuiError(f"{path}: {text}; {_import_hint(path)}")


def require_known_schema(schema: int, where: str = "") -> None:
    """Raise BenchtuiError for events of a newer version; ``where`` precedes the message."""
    if schema > SCHEMA:
        text = f"written with schema {schema}, but this version reads up to schema {SCHEMA}; update benchtui"
        raise BenchtuiError(f"{where}: {text}" if where else text)


def is_torn(rest: bytes) -> bool:
    """Return whether the rest of a file is an incomplete line."""
    return rest.strip() not in (b"", b"]")


def _events(lines: list[bytes], path: Path, first: int) -> Iterator[AnyRecord]:
    seen = first > 1
    for number, line in enumerate(lines, first):
        if body := _body(line):
            try:
                event = _event(body, f"{path}, line {number}")
            except BenchtuiError as error:
                if seen or body.startswith(EVENT_PREFIX):
                    raise
                raise BenchtuiError(f"{error}; {_import_hint(path)}") from error
            seen = True
            yield event


def _import_hint(path: Path) -> str:
    return f"if another tool wrote it, import it first: benchtui import {shell_word(str(path))}"


def _body(line: bytes) -> bytes:
    """Return the event in a line, or empty bytes if it has none."""
    body = line.strip().removesuffix(b",")
    return b"" if body in (b"[", b"]") else body


def _up_to(lines: list[bytes], events: int) -> list[bytes]:
    """Return the lines before the event with this index, from 0."""
    places = [at for at, line in enumerate(lines) if _body(line)]
    return lines[: places[events]] if events < len(places) else lines


def _event(body: bytes, where: str) -> AnyRecord:
    """Return an event; one of another version as ``Unknown``. Raises BenchtuiError for a broken line."""
    try:
        event: AnyEvent = _decoder.decode(body)
        return event
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = shortened(str(error))
    try:
        header = _header_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BenchtuiError(f"{where}: not a session event: {why}") from error
    if header.schema is not None:
        require_known_schema(header.schema, where)
    if header.event in KNOWN_EVENTS:
        raise BenchtuiError(f"{where}: invalid {header.event} event: {why}")
    return Unknown(header.event, header.t, body)


def _tag(event: AnyRecord) -> str:
    if isinstance(event, Unknown):
        return event.event
    return str(event.__struct_config__.tag)


def _open(path: Path) -> IO[bytes]:
    with os_errors_as(path, "can't be read"):
        file = open_plain(path)
    large = os.fstat(file.fileno()).st_size > MOST_CASES * _LEAST_OF_A_PLANNED_CASE
    if large and _plans_too_many(file):
        file.close()
        raise BenchtuiError(f"{path}: more than {MOST_CASES:,} cases")
    file.seek(0)
    return file


def _plans_too_many(file: IO[bytes]) -> bool:
    """Count the cases planned in the first event, a piece of its line at a time, before it is decoded."""
    text = file.readline(16) + file.read(_HEAD_BYTES)
    if SESSION_PREFIX not in b"".join(text.split()):
        return False
    planned, plan_begun = 0, False
    while planned <= MOST_CASES:
        counted = 0
        if not plan_begun and (begin := _PLAN.search(text)):
            plan_begun, counted = True, begin.end()
        if plan_begun:
            ends = [match.end() for match in _CASE.finditer(text, counted)]
            planned, counted = planned + len(ends), ends[-1] if ends else counted
        more = b"" if text.endswith(b"\n") else file.readline(SCAN_BYTES)
        if not more:
            break
        text = text[max(counted, len(text) - _KEY_BYTES) :] + more
    return planned > MOST_CASES


KNOWN_EVENTS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))
"""Tags of all events of this version."""
