"""Locked session files: no other process can write them while the writer is alive."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError, os_error_text, os_errors_as
from benchtui.sessions.files.input_file import require_plain
from benchtui.sessions.sanitize import shell_word


def create_locked(path: Path) -> int:
    """Create a session file for its owner only; raises BenchtuiError if it exists or can't be created."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise BenchtuiError(f"{path}: already exists; sessions are never overwritten") from error
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        raise BenchtuiError(f"{path}: can't create the session file: {os_error_text(error)}") from error
    with suppress(OSError):  # file system without locks: nobody can resume a session there
        lock(fd)
    return fd


def open_locked(path: Path) -> int:
    """Open a session file to resume it; raises BenchtuiError if it isn't writable or an engine writes it."""
    with os_errors_as(path, "can't open the session file for writing"):
        require_plain(os.stat(path), path)  # opening a device may have side effects
        fd = os.open(path, os.O_RDWR)
    try:
        lock(fd)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            reason = f"in use by a running sweep; watch it with `benchtui attach {shell_word(str(path))}`"
        else:
            reason = f"can't lock the session file to resume it: {error.strerror}"
        raise BenchtuiError(f"{path}: {reason}") from error
    return fd


def lock(fd: int, *, wait: bool = False) -> None:
    """Lock a file against other writers while this process has it open.

    Raises OSError if another process has it locked, unless ``wait``; or if there are no locks on this system.
    """
    try:
        import fcntl  # missing on Windows, where sessions can only be read
    except ModuleNotFoundError as error:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP)) from error
    fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
