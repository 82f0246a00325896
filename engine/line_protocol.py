"""Line protocol: one message per line over a pipe. Reading never blocks on an incomplete message."""

import os
from io import FileIO
from multiprocessing.connection import Connection

from benchtui.sessions.errors import BenchtuiError

MAX_MESSAGE_BYTES = 64_000_000
"""Maximum size of a message in bytes. Longer input without a newline is invalid."""
CHUNK = 65536
"""Capacity of a Linux pipe in bytes (pipe(7))."""


def send(pipe: Connection | FileIO, message: bytes) -> None:
    """Write a message, which must not contain a newline. Blocks while the pipe is full."""
    line = memoryview(message + b"\n")
    while line:
        line = line[os.write(pipe.fileno(), line) :]


class Lines:
    """Read end of a pipe, split into messages."""

    def __init__(self, pipe: Connection | FileIO) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._rest = bytearray()

    @property
    def closed(self) -> bool:
        """Whether either end has been closed."""
        return self._pipe.closed

    def read(self, max_chunks: int) -> list[bytes]:
        """Return the complete messages. At end of file, close the pipe and drop an incomplete message.

        Raises BenchtuiError if a message is too long.
        """
        for _ in range(max_chunks):
            if not self._read_chunk():
                break
        end = self._rest.rfind(b"\n") + 1
        complete = bytes(self._rest[:end])
        del self._rest[:end]
        if len(self._rest) > MAX_MESSAGE_BYTES:
            self._pipe.close()
            raise BenchtuiError(f"more than {MAX_MESSAGE_BYTES / 1e6:,.0f} MB without a newline")
        return complete.split(b"\n")[:-1]

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
