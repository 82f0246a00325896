"""Crowds at an engine's control socket: clients that hold connections, and others that ask without end.

``python tests/bench/faults/storm.py SOCKET`` goes on until its input ends.
"""

import resource
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress

PATIENCE_S = 60.0
STATUS = b'{"command":"status"}\n'
IDLE, BUSY = 3_000, 200
FILES = 64
"""Files that an engine in want of them may have: it has fewer by itself."""


class Storm:
    """Clients that hold connections and say nothing, and others that ask without end."""

    def __init__(self, path: str) -> None:
        self.answered = 0
        self.idled = 0
        """Connections that said nothing, as far as they got into the socket's queue."""
        self._path = path
        self._ended = threading.Event()
        self._counting = threading.Lock()
        self._idle = [threading.Thread(target=self._hold)]
        self._busy = [threading.Thread(target=self._ask) for _ in range(BUSY)]

    def begin(self) -> None:
        """First the idle ones, as many as the socket's queue holds and more."""
        for thread in self._idle:
            thread.start()
        while self.idled < 2 * FILES + BUSY:
            time.sleep(0.01)
        for thread in self._busy:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in (*self._idle, *self._busy):
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    def _hold(self) -> None:
        with ExitStack() as stack:
            left = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(IDLE)]
            for one in left:
                one.setblocking(False)
            while left and not self._ended.wait(0.001):
                while left and left[-1].connect_ex(self._path) == 0:
                    left.pop()
                    self.idled += 1
            self._ended.wait()

    def _ask(self) -> None:
        while not self._ended.is_set():
            with suppress(OSError), socket.socket(socket.AF_UNIX) as one:
                one.connect(self._path)  # without a timeout it waits its turn
                one.settimeout(5)
                one.sendall(STATUS)
                answer = one.recv(4096)
                with self._counting:
                    self.answered += bool(answer)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = Storm(sys.argv[1])
    crowd.begin()
    sys.stdin.read()
    crowd.end()
