"""The files that commands write where the user says: reports, tables, figures, sweeps; never over a session."""

import errno
import os
from collections.abc import Collection
from pathlib import Path
from typing import IO

from benchtui.sessions.errors import BenchtuiError

_HEAD_BYTES = 64
_BEGINNING = b'{"event":"session_started"'
"""How a session file begins, without the bracket of its array and without white space."""


def check_output(path: Path, inputs: Collection[Path]) -> None:
    """Refuse a path whose file is a session: one of the ``inputs`` of the command, or any other.

    Raises:
        BenchtuiError: where the file is an input, through whatever links, or begins as a session does.
    """
    if any(_is_same(path, each) for each in inputs) or _begins_as_session(path):
        raise BenchtuiError(f"{path}: is a session, which is never overwritten")


def open_output(path: Path, inputs: Collection[Path], *, over: bool = True) -> IO[bytes]:
    """Open a file to write, empty; one that is there already only where it may be written ``over``.

    Raises:
        BenchtuiError: where it is a session, as ``check_output`` has it.
        OSError: where it can't be opened, or is there and must not be written over.
    """
    check_output(path, inputs)
    return open(path, "wb" if over else "xb", opener=_without_waiting)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


def _begins_as_session(path: Path) -> bool:
    try:
        head = _head(path) if path.is_file() else b""  # opening a device may do something to it
    except (OSError, ValueError):
        return False
    return b"".join(head.split()).removeprefix(b"[").startswith(_BEGINNING)


def _head(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(descriptor, _HEAD_BYTES)
    finally:
        os.close(descriptor)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file at once: a FIFO that nothing reads would keep the command waiting for ever."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "nothing reads from it", path) from error
        raise
    os.set_blocking(descriptor, True)
    return descriptor
