"""Messages over a pipe, one a line: read as far as they have come, so that half of one keeps nobody waiting."""

import os
from io import FileIO
from multiprocessing.connection import Connection

from benchtui.sessions.errors import BenchtuiError

LONGEST = 64_000_000
"""Bytes a message may have; more without an end of line is no message."""
CHUNK = 65536
"""Bytes a pipe of Linux holds (pipe(7))."""


def send(pipe: Connection | FileIO, message: bytes) -> None:
    """Write a message, which holds no line feed; waits while the pipe is full."""
    line = memoryview(message + b"\n")
    while line:
        line = line[os.write(pipe.fileno(), line) :]


class Lines:
    """The reading end of a pipe."""

    def __init__(self, pipe: Connection | FileIO) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._rest = bytearray()

    @property
    def closed(self) -> bool:
        """Whether the other end has been closed, or this one."""
        return self._pipe.closed

    def read(self, most_chunks: int) -> list[bytes]:
        """The messages that have become whole; at the pipe's end it is closed, and half a message is dropped.

        Raises:
            BenchtuiError: for a message that is too long to be one.
        """
        for _ in range(most_chunks):
            if not self._read_chunk():
                break
        end = self._rest.rfind(b"\n") + 1
        whole = bytes(self._rest[:end])
        del self._rest[:end]
        if len(self._rest) > LONGEST:
            self._pipe.close()
            raise BenchtuiError(f"more than {LONGEST / 1e6:,.0f} MB without an end of line")
        return whole.split(b"\n")[:-1]

    def _read_chunk(self) -> bool:
        if self._pipe.closed:
            return False
        try:
            chunk = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self._pipe.close()
        self._rest += chunk
        return bool(chunk)
