"""Files that are read: plain ones alone, and no more of them than what they are for can need.

A FIFO would keep a command waiting for ever, and ``/dev/zero`` would fill its memory.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO

SMALL_BYTES = 1_000_000
"""What settings, themes, sweeps, notes and caches have at the most."""
_MORE_BYTES = 65_536
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def open_plain(path: Path, *, follow: bool = True) -> IO[bytes]:
    """Open a plain file for reading; ``follow`` says whether a link may lead to it.

    Raises:
        OSError: where it can't be opened, or is something else.
        ValueError: for a path with a NUL.
    """
    require_plain(os.stat(path, follow_symlinks=follow), path)  # to open a device may do something to it
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        require_plain(os.fstat(descriptor), path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def require_plain(looks: os.stat_result, path: Path) -> None:
    """Raises OSError, with the kind of what is there, for anything but a plain file."""
    if stat.S_ISDIR(looks.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(looks.st_mode):
        kind = _KINDS.get(stat.S_IFMT(looks.st_mode), "a link" if stat.S_ISLNK(looks.st_mode) else "a device")
        raise OSError(errno.EINVAL, f"{kind}, not a file", str(path))


def read_plain(path: Path, most_bytes: int = SMALL_BYTES, *, follow: bool = True) -> bytes:
    """The content of a plain file.

    Raises:
        OSError: where it can't be read, is something else, or has more than ``most_bytes``.
        ValueError: for a path with a NUL.
    """
    with open_plain(path, follow=follow) as file:
        large = os.fstat(file.fileno()).st_size > most_bytes  # known without reading half a gigabyte
        data = b"" if large else read_at_most(file, most_bytes + 1)
    if large or len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes / 1e6:g} MB", str(path))
    return data


def read_at_most(file: IO[bytes], most_bytes: int) -> bytes:
    """The beginning of a file: all that is there, or this many bytes.

    ``file.read(most_bytes)`` would make room for all of them beforehand, hundreds of megabytes for a line.
    """
    data = b""
    room = min(max(os.fstat(file.fileno()).st_size, 1), most_bytes)
    while room and (more := file.read(room)):
        data += more
        room = min(most_bytes - len(data), _MORE_BYTES)  # it grows, or is one of /proc, which have no size
    return data


def read_text(path: Path, most_bytes: int = SMALL_BYTES) -> str:
    """The text of a plain file in UTF-8, its lines ended by a newline alone.

    Raises:
        OSError: as ``read_plain`` does.
        ValueError: for a path with a NUL; for what isn't UTF-8 it is a UnicodeDecodeError.
    """
    return read_plain(path, most_bytes).decode("utf-8-sig").replace("\r\n", "\n")
