"""A folder for what cases leave behind, compilers' caches above all: gone with its engine, however that ends.

An engine holds a lock on its folder for as long as it lives. One that is killed can't remove it; the next
engine that the same user starts finds it without a holder, and does.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

PREFIX = "benchtui-cases-"


class Scratch:
    """A new folder in the system's folder for such, its owner's alone."""

    def __init__(self) -> None:
        """Remove what engines that were killed have left, and make the folder."""
        parent = Path(tempfile.gettempdir())
        for left in parent.glob(f"{PREFIX}*"):
            _remove(left)
        self.path, self._fd = _made(parent)

    def remove(self) -> None:
        """Remove it with all that is in it; what can't be removed stays."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._fd)


def _made(parent: Path) -> tuple[Path, int]:
    """A new folder, and the descriptor that holds the lock on it; it has its name once it is locked."""
    new = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=parent))
    fd = _opened(new)
    with suppress(OSError):  # a file system without locks: nobody removes anything there
        fcntl.flock(fd, fcntl.LOCK_SH)
    return new.rename(parent / new.name[1:]), fd


def _remove(left: Path) -> None:
    """Remove a folder of this user's that nobody holds."""
    with suppress(OSError), ExitStack() as stack:  # a link, a file, held, or gone by now
        fd = _opened(left)
        stack.callback(os.close, fd)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
