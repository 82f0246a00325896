"""Makes a session file that was closed or cut off one that another event can follow.

After each step, and after each part of one, it is a file that readers accept: an unfinished last line is cut
away whole, and the closing bracket gives its place to a comma, so that no byte of what was read before moves.
"""

import os

_PIECE = 1 << 16
_SPACE = b" \t\r\n"


def mend(fd: int) -> bytes:
    """Mend a file that holds at least one event; gives what has to be written before the next one."""
    size = os.fstat(fd).st_size
    lines = _find(fd, size, b"\n") + 1
    place, letter = _last(fd, size)
    closed = letter == b"]" and _last(fd, place)[0] < lines
    if place >= lines and not closed:
        os.ftruncate(fd, size := lines)
        place, letter = _last(fd, size)
    if letter == b"]":
        os.pwrite(fd, b",", place)
    end = b"" if os.pread(fd, 1, size - 1) == b"\n" else b"\n"
    return end + (b",\n" if letter == b"}" else b"")


def _last(fd: int, end: int) -> tuple[int, bytes]:
    """Place and value of the last byte before ``end`` that isn't white space; -1 and nothing without one."""
    while end > 0:
        begin = max(0, end - _PIECE)
        piece = os.pread(fd, end - begin, begin).rstrip(_SPACE)
        if piece:
            return begin + len(piece) - 1, piece[-1:]
        end = begin
    return -1, b""


def _find(fd: int, end: int, letter: bytes) -> int:
    """Place of the last such byte before ``end``; -1 without one."""
    while end > 0:
        begin = max(0, end - _PIECE)
        found = os.pread(fd, end - begin, begin).rfind(letter)
        if found >= 0:
            return begin + found
        end = begin
    return -1
