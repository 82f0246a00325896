"""Output files: reports, tables, plots, sweeps, notes, caches. Sessions are never overwritten.

Each is written completely or not at all: to a temporary file in the same folder, which is then renamed. If that
fails, such as on a full disk, the previous file is kept and no temporary file remains.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, TypeVar

from benchtui.sessions.errors import BenchtuiError, os_error_text, os_errors_as
from benchtui.sessions.files.input_file import SESSION_PREFIX, begins_with, flags_of, require_plain

_PARTIAL = ".benchtui-"
"""Name prefix of a file that isn't complete yet."""
_UNCHANGEABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of a folder in which no file can be created, although an existing file may be writable."""


def check_output(path: Path, inputs: Collection[Path]) -> None:
    """Refuse a path whose file is a session: one of the ``inputs`` of the command, or any other.

    Raises BenchtuiError if the file is an input, also through links, or begins like a session.
    """
    if any(_is_same(path, source) for source in inputs) or begins_with(path, SESSION_PREFIX):
        taken = FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        raise BenchtuiError(f"{path}: is a session; sessions are never overwritten") from taken


@contextmanager
def output_file(
    path: Path, inputs: Collection[Path] = (), *, over: bool = True, private: bool = False
) -> Iterator[IO[bytes]]:
    """Write a file; the previous one is replaced once the new one is complete, and only if ``over`` is True.

    A ``private`` file is readable by its owner only, and a link in its place is replaced instead of followed.
    Anything but a regular file, such as a pipe or a terminal, is written directly. Raises BenchtuiError if it
    is a session (see ``check_output``), exists and mustn't be overwritten, or can't be written.
    """
    check_output(path, inputs)
    try:
        with _open_output(path, over, private) as file:
            yield file
            file.flush()
            check_output(path, inputs)  # a session may have been started there in the meantime
    except FileExistsError as error:
        raise BenchtuiError(f"{path}: already exists and won't be overwritten") from error
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: can't be written: {os_error_text(error)}") from error


def write_text(path: Path, text: str, inputs: Collection[Path] = (), *, over: bool = True) -> None:
    """Write a text document; arguments and errors are those of ``output_file``."""
    with output_file(path, inputs, over=over) as file:
        file.write(text.encode())


def append_private(path: Path, data: bytes) -> None:
    """Append lines to a file in one write; create the file, and its folder, for its owner only.

    Raises BenchtuiError if it can't be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | flags_of("O_NOFOLLOW", "O_NONBLOCK")
    with os_errors_as(path, "can't be written"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
        try:
            require_plain(os.fstat(descriptor), path)
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def move_to_new(path: Path, target: Path) -> None:
    """Rename a file, and raise FileExistsError if the target exists, even if it was created a moment ago."""
    _rename_complete(path, target, over=False)
    with suppress(FileNotFoundError):  # without hard links, it is gone already
        path.unlink()


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


@contextmanager
def _open_output(path: Path, over: bool, private: bool) -> Iterator[IO[bytes]]:
    there = None
    with suppress(FileNotFoundError):
        there = os.stat(path, follow_symlinks=not private)
    if not over and (there or path.is_symlink()):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if there and not (stat.S_ISREG(there.st_mode) or stat.S_ISLNK(there.st_mode)):
        with open(path, "wb", opener=_open_nonblocking) as file:
            yield file
        return
    target = path if private else Path(os.path.realpath(path))
    partial = target.with_name(f"{_PARTIAL}{os.urandom(6).hex()}")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    except OSError as error:
        if there is None or error.errno not in _UNCHANGEABLE:
            raise
        with target.open("wb") as file:  # the folder isn't writable, but the user's file in it is
            yield file
        return
    try:
        with open(descriptor, "wb") as file:
            yield file
        if there and not private:
            partial.chmod(stat.S_IMODE(there.st_mode))
        _rename_complete(partial, target, over)
    finally:
        with suppress(OSError):
            partial.unlink()


def _rename_complete(partial: Path, target: Path, over: bool) -> None:
    """Rename a complete file to its target; without ``over``, raise FileExistsError if the target exists."""
    if over:
        partial.replace(target)
        return
    try:
        os.link(partial, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        with target.open("xb"):  # file system without hard links: reserve the name first
            partial.replace(target)


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without waiting: a FIFO without a reader would block forever."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "no process is reading from it", path) from error
        raise
    os.set_blocking(descriptor, True)
    return descriptor


T = TypeVar("T")


def create_in_free_name(path: Path, create: Callable[[Path], T]) -> tuple[Path, T]:
    """Create a file with this name, numbered if the name is taken; return its path and what ``create`` returns.

    ``create`` must create the file exclusively. Taken is a name for which it raises BenchtuiError because of
    FileExistsError.
    """
    for number in count(1):
        candidate = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            return candidate, create(candidate)
        except BenchtuiError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
    raise AssertionError("numbers never end")
