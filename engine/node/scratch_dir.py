"""Scratch directory: files of cases, mostly compiler caches, removed when the engine ends.

An engine holds a lock on its directory while it runs. A killed engine can't remove its directory; the next
engine of the same user finds it unlocked and removes it.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

PREFIX = "benchtui-cases-"


class Scratch:
    """New directory in the system's temporary directory, accessible to its owner only."""

    def __init__(self) -> None:
        """Remove directories left by killed engines, then create a new one."""
        parent = Path(tempfile.gettempdir())
        for abandoned in parent.glob(f"{PREFIX}*"):
            _remove(abandoned)
        self.path, self._fd = _create(parent)

    def remove(self) -> None:
        """Remove the directory and its contents, as far as possible."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._fd)


def _create(parent: Path) -> tuple[Path, int]:
    """Create a directory; return it with the descriptor that holds its lock. It is renamed once locked."""
    new = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=parent))
    fd = _open_dir(new)
    with suppress(OSError):  # on a file system without locks, no engine removes anything
        fcntl.flock(fd, fcntl.LOCK_SH)
    return new.rename(parent / new.name[1:]), fd


def _remove(abandoned: Path) -> None:
    """Remove a directory if it is this user's and not locked."""
    with suppress(OSError), ExitStack() as stack:  # a link, a file, locked, or already removed
        fd = _open_dir(abandoned)
        stack.callback(os.close, fd)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_uid == os.geteuid():
            shutil.rmtree(abandoned, ignore_errors=True)


def _open_dir(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
