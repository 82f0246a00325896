"""A large session file decoded by several processes at once: ``python -m benchtui.sessions.side_by_side``.

Decoding is most of what reading a large file takes, and Python does it on one processor. So each of a few
processes decodes every so many'th slice of the file and hands its events on, the steps as arrays; who asked for
them takes the slices in their order. A slice has the lines that begin in it.
"""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

import os
import pickle
import subprocess
import sys
from array import array
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec

from benchtui.sessions import journal
from benchtui.sessions.columns import narrowest
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Phase, Steps
from benchtui.sessions.facts import Count, Milliseconds
from benchtui.sessions.sweep import Seconds

LEAST_BYTES = 2**26
"""Size of a file below which starting processes takes longer than they save."""
MOST_PROCESSES = 4
"""More wait for who takes their events in."""
STEPS = b'{"event":"steps"'
"""How a line of steps begins as the engine writes it; any other is read as it stands."""


def slices(
    path: Path, slice_bytes: int = journal.SLICE_BYTES
) -> Generator[tuple[list[journal.Read], bool], None, None]:
    """The events of a file as it is now, slice by slice, and whether an unfinished line is left over.

    Raises:
        BenchtuiError: where it can't be read, or a line is no event; it doesn't say which.
    """
    size = path.stat().st_size
    amount = min(MOST_PROCESSES, os.cpu_count() or 1)
    with ExitStack() as stack:
        sources = [_Source(path, size, slice_bytes, first, amount) for first in range(amount)]
        for source in sources:
            stack.callback(source.end)
        for number in range(-(-size // slice_bytes)):
            yield sources[number % amount].next()


class _Source:
    """A process that decodes some of the slices."""

    def __init__(self, path: Path, *numbers: int) -> None:
        command = [sys.executable, "-P", "-m", "benchtui.sessions.side_by_side", str(path)]
        self._path = path
        self._process = subprocess.Popen(
            [*command, *map(str, numbers)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def end(self) -> None:
        """End the process, whether it has come to its own end or not."""
        self._process.kill()
        self._process.communicate()

    def next(self) -> tuple[list[journal.Read], bool]:
        """The next of its slices; raises BenchtuiError where it has given up."""
        try:
            found: tuple[list[journal.Read], bool] = pickle.load(self._output)
        except (EOFError, pickle.UnpicklingError) as error:
            raise BenchtuiError(f"{self._path}: not lines of events throughout") from error
        return found

    @property
    def _output(self) -> IO[bytes]:
        if self._process.stdout is None:
            raise AssertionError("the process is started with a pipe")
        return self._process.stdout


class _Told(msgspec.Struct):
    """An event of steps with the counts as they are written: most often the same again and again."""

    t: Seconds
    case: Count
    phase: Phase
    wall_ms: list[Milliseconds]
    round: Count = 0
    device_ms: list[Milliseconds] | None = None
    parts_ms: dict[str, list[Milliseconds]] = {}
    tokens: msgspec.Raw = msgspec.Raw(b"null")
    padded_tokens: msgspec.Raw = msgspec.Raw(b"null")
    loss: list[float | None] | None = None


_told = msgspec.json.Decoder(_Told)
_counts = msgspec.json.Decoder(list[Count] | None)


def main(path: str, *numbers: str) -> None:
    """Write slices number ``first``, ``first + every`` and so on of the first ``size`` bytes, pickled."""
    size, slice_bytes, first, every = map(int, numbers)
    with open(path, "rb") as file:
        for begin in range(first * slice_bytes, size, every * slice_bytes):
            *lines, rest = _lines(file, begin, min(begin + slice_bytes, size)).split(b"\n")
            events = [event for line in lines for event in _events(line, Path(path))]
            pickle.dump((events, journal.is_torn(rest)), sys.stdout.buffer, 5)


def _lines(file: IO[bytes], begin: int, end: int) -> bytes:
    """The lines of a file that begin between two places."""
    if begin:
        file.seek(begin - 1)
        file.readline()  # the rest of a line that began before
    held = file.read(max(0, end - file.tell()))
    return held if not held or held.endswith(b"\n") else held + file.readline()


def _events(line: bytes, path: Path) -> list[journal.Read]:
    """The event of a line, if it has one; the steps as arrays, which are handed on as they lie in memory."""
    if not line.startswith(STEPS):
        return journal.decoded(line, path)
    told = _told.decode(line.removesuffix(b","))
    columns: dict[str, Any] = {
        "wall_ms": array("d", told.wall_ms),
        "device_ms": None if told.device_ms is None else array("d", told.device_ms),
        "parts_ms": {part: array("d", times) for part, times in told.parts_ms.items()},
        "tokens": _compact(bytes(told.tokens), len(told.wall_ms)),
        "padded_tokens": _compact(bytes(told.padded_tokens), len(told.wall_ms)),
    }
    return [Steps(t=told.t, case=told.case, phase=told.phase, round=told.round, loss=told.loss, **columns)]


def _compact(counts: bytes, amount: int) -> array[int] | None:
    """A column of counts as it is written; the same count all along is read once."""
    first = counts[1:].partition(b",")[0]
    if amount > 1 and counts == b"[" + (first + b",") * (amount - 1) + first + b"]":
        return narrowest(_counts.decode(b"[" + first + b"]") or []) * amount
    found = _counts.decode(counts)
    return None if found is None else narrowest(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
