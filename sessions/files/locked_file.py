"""Session files as their one writer opens them: kept from other writers for as long as it lives."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.input_file import require_plain


def created(path: Path) -> int:
    """Make a session file for its owner alone; raises BenchtuiError where it is there or can't be made."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise BenchtuiError(f"{path}: exists already, and a session is never overwritten") from error
    except OSError as error:
        raise BenchtuiError(f"{path}: the session can't be written there: {error.strerror}") from error
    with suppress(OSError):  # a file system without locks: nobody can resume a session there
        lock(fd)
    return fd


def opened(path: Path) -> int:
    """Open a file to resume its session; raises BenchtuiError if it can't be written, or an engine does."""
    try:
        require_plain(os.stat(path), path)  # to open a device may do something to it
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        raise BenchtuiError(f"{path}: the session can't be written: {error.strerror}") from error
    try:
        lock(fd)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            said = f"is being written by a running sweep; `benchtui attach {path}` shows it"
        else:
            said = f"can't be locked, and so not be resumed: {error.strerror}"
        raise BenchtuiError(f"{path}: {said}") from error
    return fd


def lock(fd: int) -> None:
    """Keep other writers from a file for as long as this process has it open; raises OSError where one has."""
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
