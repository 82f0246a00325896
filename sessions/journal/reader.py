"""The session file: a valid JSON array, one event a line, appended while the sweep runs.

Every line but the last ends in a comma, and the closing bracket comes with ``session_finished``. A file that
was cut off lacks that bracket and perhaps the end of its last line, and is read all the same.
"""

import os
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from benchtui.sessions.errors import BenchtuiError, reason
from benchtui.sessions.events import SCHEMA, AnyEvent, Steps
from benchtui.sessions.files.input_file import open_plain, read_at_most
from benchtui.sessions.files.output_file import BEGINNING
from benchtui.sessions.journal.backup import head, saved_beside
from benchtui.sessions.sanitize import shortened
from benchtui.sessions.sweep import MOST_CASES, Seconds

_decoder = msgspec.json.Decoder(AnyEvent)
_whole_decoder = msgspec.json.Decoder(list[AnyEvent])


SLICE_BYTES = 2**22
"""Bytes of a file that are read at once, where no others wait for their turn."""
LONG_LINE = 24_000
"""Bytes of a line of steps from which it is decoded into arrays, a third quicker; that needs numpy: 14 MB."""
LONGEST_LINE = 100_000_000
"""Bytes of a line beyond which it is no event."""
_LEAST_OF_A_CASE = 50
"""Bytes that a case adds to a file at the least."""
_TOO_MANY = re.compile(rb'"event":"case_added","t":[-+.\de]+,"case":[1-9]\d{5}')
"""A line that adds case 100,000 or a later one, as the engine writes it; in other layouts it is found later."""
_PLAN, _CASE = b'"plan":[', b'{"machine":"'
"""How the plan in the first event begins, and each case of it, as the engine writes them."""
_HEAD_BYTES = 64
STEPS = b'{"event":"steps"'
"""How a line of steps begins as the engine writes it; one that begins in another way is read all the same."""


class _Header(msgspec.Struct):
    """The part of a line that tells what it is, whatever version wrote it."""

    event: str
    t: Seconds = 0.0
    schema: int | None = None


_header_decoder = msgspec.json.Decoder(_Header)


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event that this version doesn't know, kept as it was read."""

    event: str
    t: float
    raw: bytes


Read = AnyEvent | Unknown


@dataclass(frozen=True, slots=True)
class Recording:
    """What a session file held."""

    events: list[Read]
    torn: bool
    """Whether an unfinished last line was dropped."""


@dataclass(frozen=True, slots=True)
class FilePosition:
    """Where a line of a session file begins."""

    offset: int = 0
    """In bytes."""
    line: int = 1
    """Its number, counted from 1."""


class Tail:
    """Reads a session file on, as far as it has been written; keeps its place between calls."""

    def __init__(self, path: Path, position: FilePosition | None = None) -> None:
        """Open the file, to be read from its beginning or from a spot; raises BenchtuiError where it can't."""
        self._path = path
        self._file = _open(path)
        self._begun: list[bytes] = []
        """What has been read of a line that isn't whole yet."""
        self._broken: BenchtuiError | None = None
        self._head = head(self._file.fileno())
        self._saved = saved_beside(path, self._head)
        """Where the session had been saved already."""
        self.go(position or FilePosition())

    @property
    def position(self) -> FilePosition:
        """Where the next call goes on: the first line that hasn't been given yet."""
        return self._position

    @property
    def size(self) -> int:
        """How many bytes the file has by now; none where it was taken away."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    @property
    def at_end(self) -> bool:
        """Whether all that has been written so far has been read; a file that was taken away has no more."""
        return self._file.tell() >= self.size

    def go(self, position: FilePosition) -> None:
        """Go on at another spot."""
        self._position, self._broken = position, None
        self._begun.clear()
        self._file.seek(position.offset)

    def read(self, most_bytes: int = -1) -> list[Read]:
        """The events whose lines have become whole since the last call, from at most this many bytes more.

        Raises:
            BenchtuiError: for a line that is no event, once the events before it have been given; from then on
                at every call.
        """
        if self._broken:
            raise self._broken
        begun = bool(self._begun)
        data = self._file.read(most_bytes)
        if not data and most_bytes and self.follow():
            data = self._file.read(most_bytes)
        lines = self._lines(data)
        events = self._good(lines)
        if self._broken and not events and begun:
            return self._read_anew()
        if (
            self._broken
        ):  # nobody may go on behind the line that is no event, nor be given those before it twice
            lines = _up_to(lines, len(events))
        size = sum(map(len, lines)) + len(lines)
        self._position = FilePosition(self._position.offset + size, self._position.line + len(lines))
        if self._broken and not events:
            raise self._broken
        return events

    def follow(self) -> bool:
        """Go on in the file to which the session was saved meanwhile, where others have damaged this one."""
        self._head = self._head or head(self._file.fileno())
        saved = saved_beside(self._path, self._head)
        if saved is None or saved in (self._saved, self._path):
            return False
        self._file.close()
        self._path, self._saved, self._file = saved, saved, _open(saved)
        self.go(self._position)
        return True

    def _read_anew(self) -> list[Read]:
        """Read a line from its beginning: who resumed the session may have put another one in its place."""
        place = self._file.tell()
        self.go(self._position)
        return self.read(place - self._position.offset)

    def _lines(self, data: bytes) -> list[bytes]:
        """The lines that have become whole with more data, without their ends."""
        if b"\n" not in data:
            self._begun.append(data)
            if sum(map(len, self._begun)) > LONGEST_LINE:
                where, most = f"{self._path}, line {self._position.line}", f"{LONGEST_LINE / 1e6:g} MB"
                self._broken = BenchtuiError(f"{where}: longer than {most}, which no event is")
            return []
        lines = data.split(b"\n")
        lines[0] = b"".join((*self._begun, lines[0]))
        self._begun = [lines.pop()]
        return lines

    def _good(self, lines: list[bytes]) -> list[Read]:
        """The events of lines, up to the first that is broken."""
        events: list[Read] = []
        try:
            for event in _events(lines, self._path, self._position.line):
                events.append(event)
        except BenchtuiError as error:
            self._broken = error
        return events

    @property
    def torn(self) -> bool:
        """Whether what is left over is an unfinished line."""
        said = [piece for piece in self._begun if piece.strip()]
        return len(said) > 1 or is_torn(b"".join(said))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def slices(path: Path, size: int = SLICE_BYTES) -> Generator[tuple[list[Read], bool], None, None]:
    """The events of a file as it is now, so many bytes at a time, and whether an unfinished line is left over.

    Raises:
        BenchtuiError: where it can't be read, or a line is no event.
    """
    tail = Tail(path)
    try:
        for _ in range(0, tail.size, size):
            yield tail.read(size), tail.torn
        yield tail.read(0), tail.torn  # where the last slice broke off, this says so
    finally:
        tail.close()


def read(path: Path) -> Recording:
    """Read a whole session file, finished or not.

    Raises:
        BenchtuiError: where it can't be read, isn't a session, or was written by a newer version.
    """
    with _open(path) as file:
        small = os.fstat(file.fileno()).st_size <= LONGEST_LINE
        data = read_at_most(file, LONGEST_LINE) if small else b""
    events: list[Read] = []
    torn = False
    if not small:
        for found, torn in slices(path):  # noqa: B007 - the last one counts
            events += found
    else:
        try:
            events += _whole_decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            events, torn = _read_lines(data, path)
    if not events or _tag(events[0]) != "session_started":
        raise BenchtuiError(f"{path}: not a session file; it should begin with a session_started event")
    return Recording(events, torn)


def _read_lines(data: bytes, path: Path) -> tuple[list[Read], bool]:
    *lines, rest = data.split(b"\n")
    return list(_events(lines, path, 1)), is_torn(rest)


def is_torn(rest: bytes) -> bool:
    """Whether what is left over at a file's end is an unfinished line."""
    return rest.strip() not in (b"", b"]")


def _events(lines: list[bytes], path: Path, first: int) -> Iterator[Read]:
    for number, line in enumerate(lines, first):
        if body := _body(line):
            yield _steps(body) or _event(body, f"{path}, line {number}")


def _body(line: bytes) -> bytes:
    """The event in a line; nothing where there is none."""
    body = line.strip().removesuffix(b",")
    return b"" if body in (b"[", b"]") else body


def _up_to(lines: list[bytes], events: int) -> list[bytes]:
    """The lines before that of the event with this number, counted from 0."""
    places = [at for at, line in enumerate(lines) if _body(line)]
    return lines[: places[events]] if events < len(places) else lines


def _steps(body: bytes) -> Steps | None:
    """The event of a long line of steps."""
    if len(body) < LONG_LINE or not body.startswith(STEPS):
        return None
    from benchtui.sessions.journal.step_arrays import decoded  # numpy, which a short session can do without

    return decoded(body)


def _event(body: bytes, where: str) -> Read:
    try:
        event: AnyEvent = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _foreign(body, where, error)
    return event


def _foreign(body: bytes, where: str, error: Exception) -> Read:
    """Tell an event of another version from a broken line."""
    try:
        header = _header_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BenchtuiError(f"{where}: not an event of a session: {shortened(str(error))}") from error
    if header.schema is not None and header.schema > SCHEMA:
        raise BenchtuiError(
            f"{where}: written with schema {header.schema}; this version reads up to {SCHEMA}: update benchtui"
        )
    if header.event in KNOWN_EVENTS:
        raise BenchtuiError(f"{where}: a broken {header.event} event: {shortened(str(error))}")
    return Unknown(header.event, header.t, body)


def _tag(event: Read) -> str:
    if isinstance(event, Unknown):
        return event.event
    return str(event.__struct_config__.tag)


def _open(path: Path) -> IO[bytes]:
    try:
        file = open_plain(path)
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: can't be read: {reason(error)}") from error
    try:
        _refuse_more_cases(file, path)
    except BaseException:
        file.close()
        raise
    return file


def _refuse_more_cases(file: IO[bytes], path: Path) -> None:
    """Refuse a session of more cases than are allowed by a look at its lines, before any of them is read."""
    if os.fstat(file.fileno()).st_size < MOST_CASES * _LEAST_OF_A_CASE:
        return
    found = _planned(file) > MOST_CASES
    file.seek(0)
    before, line_bytes = b"", 0
    while not found and line_bytes <= LONGEST_LINE and (piece := file.read(SLICE_BYTES)):
        found = bool(_TOO_MANY.search(before + piece))
        line_bytes = len(piece) - 1 - end if (end := piece.rfind(b"\n")) >= 0 else line_bytes + len(piece)
        before = piece[-_LEAST_OF_A_CASE * 2 :]
    if found:
        raise BenchtuiError(f"{path}: more than {MOST_CASES:,} cases")
    file.seek(0)


def _planned(file: IO[bytes]) -> int:
    """How many cases the first event plans, as the engine writes it."""
    head = file.readline(16) + file.read(_HEAD_BYTES)
    if BEGINNING not in head:
        return 0
    line = head + file.readline(LONGEST_LINE)
    return line.count(_CASE, line.find(_PLAN))


def _known_events() -> frozenset[str]:
    types: tuple[Any, ...] = AnyEvent.__args__
    return frozenset(str(kind.__struct_config__.tag) for kind in types)


KNOWN_EVENTS = _known_events()
"""The tags of all events of this version."""
