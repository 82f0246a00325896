"""Input files: regular files only, read up to a size limit that suits their purpose.

Reading a FIFO would block forever, and reading ``/dev/zero`` would fill the memory.
"""

import errno
import os
import stat
from functools import reduce
from operator import or_
from pathlib import Path
from typing import IO

SMALL_BYTES = 1_000_000
"""Maximum size of settings, themes, sweeps, notes and caches."""
EVENT_PREFIX, SESSION_PREFIX = b'{"event"', b'{"event":"session_started"'
"""Beginning of an event, and of a session file without the bracket of its array."""
_HEAD_BYTES = 64
_MORE_BYTES = 65_536
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def open_plain(path: Path, *, follow: bool = True) -> IO[bytes]:
    """Open a regular file for reading; ``follow`` allows symbolic links.

    Raises:
        OSError: If it can't be opened, or isn't a regular file.
        ValueError: If the path contains NUL.
    """
    require_plain(os.stat(path, follow_symlinks=follow), path)  # opening a device may have side effects
    flags = flags_of("O_NONBLOCK", "O_CLOEXEC", *(() if follow else ("O_NOFOLLOW",)))
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        require_plain(os.fstat(descriptor), path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def flags_of(*names: str) -> int:
    """Combine those flags of ``os.open`` that this system has; Windows lacks some."""
    return reduce(or_, (getattr(os, name, 0) for name in names), 0)


def require_plain(status: os.stat_result, path: Path) -> None:
    """Raise OSError, naming the kind of file, for anything but a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a link" if stat.S_ISLNK(status.st_mode) else "a device")
        raise OSError(errno.EINVAL, f"{kind}, not a file", str(path))


def read_plain(path: Path, most_bytes: int = SMALL_BYTES, *, follow: bool = True) -> bytes:
    """Read a regular file.

    Raises:
        OSError: If it can't be read, isn't a regular file, or is larger than ``most_bytes``.
        ValueError: If the path contains NUL.
    """
    with open_plain(path, follow=follow) as file:
        large = os.fstat(file.fileno()).st_size > most_bytes  # checked before reading half a gigabyte
        data = b"" if large else read_at_most(file, most_bytes + 1)
    if large or len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes / 1e6:g} MB", str(path))
    return data


def read_at_most(file: IO[bytes], most_bytes: int) -> bytes:
    """Read a file up to its end, or up to ``most_bytes`` bytes.

    ``file.read(most_bytes)`` would allocate all of them beforehand: hundreds of megabytes for a single line.
    """
    data = b""
    room = min(max(os.fstat(file.fileno()).st_size, 1), most_bytes)
    while room and (more := file.read(room)):
        data += more
        room = min(most_bytes - len(data), _MORE_BYTES)  # the file is growing, or in /proc, where sizes are 0
    return data


def read_text(path: Path, most_bytes: int = SMALL_BYTES) -> str:
    """Read a regular file as UTF-8 text, with line ends normalized to newlines.

    Raises:
        OSError: As ``read_plain`` does.
        ValueError: If the path contains NUL, or (as UnicodeDecodeError) if the text isn't UTF-8.
    """
    return read_plain(path, most_bytes).decode("utf-8-sig").replace("\r\n", "\n")


def begins_with(path: Path, prefix: bytes) -> bool:
    """Return whether there is a file of JSON that begins like this, apart from white space and a bracket."""
    try:
        with open_plain(path) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False
    return b"".join(head.split()).removeprefix(b"[").startswith(prefix)
