"""Control server: the engine's end of the control socket, with limits on clients and their requests.

Clients must not cause exceptions in the engine or cost it many files or much CPU time, because it is measuring.
"""

import errno
import os
import selectors
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

import msgspec

from benchtui.engine.control import MAX_COMMAND_BYTES, Answer, Command, socket_path
from benchtui.engine.event_loop import EventLoop
from benchtui.engine.supervisor.session_writer import RecordError
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import shortened, visible

MAX_CLIENTS = 16
"""Maximum number of clients. One more replaces the client that has been idle longest. If it were rejected,
sixteen silent clients could keep the user from stopping a sweep."""
CLIENT_TIMEOUT_S = 5.0
"""Seconds without sending or receiving anything after which a client is dropped."""
WINDOW_S = 0.1
"""Seconds in which at most ``MAX_CLIENTS`` are accepted; the others wait in the socket's queue."""
PAUSE_S = 1.0
"""Pause in seconds after a failed accept, because a system short of files would fail again at once."""
SOCKET_CHECK_INTERVAL_S = 2.0
"""Interval in seconds at which to check that the socket still exists."""
_CHUNK = 65536

Handle = Callable[[Command], Answer]

_decoder = msgspec.json.Decoder(Command)


class _Client(msgspec.Struct, eq=False):
    connection: socket.socket
    due_s: float
    """Monotonic time at which it is dropped unless it sends or receives something earlier."""
    line: bytearray = msgspec.field(default_factory=bytearray)
    unsent: memoryview = msgspec.field(default_factory=lambda: memoryview(b""))


class ControlServer:
    """Serves clients from the engine's event loop."""

    def __init__(self, session_id: str, loop: EventLoop, handle: Handle) -> None:
        """Listen on the control socket; raise BenchtuiError if it can't be created."""
        self._session_id = session_id
        self._loop = loop
        self._handle = handle
        self._path = socket_path(session_id)
        self._clients: list[_Client] = []
        self._accepted = 0
        """Clients accepted in the current window."""
        self._window_end_s = 0.0
        self._resume_s = 0.0
        """Monotonic time from which clients are accepted."""
        self._next_check_s = monotonic() + SOCKET_CHECK_INTERVAL_S
        self._listen(_open_socket(self._path))
        loop.timers.append(self._on_timer)

    def close(self) -> None:
        """Drop all clients, stop listening and remove the socket."""
        self._loop.timers.remove(self._on_timer)
        for client in tuple(self._clients):
            self._drop(client)
        self._pause_accepting(0.0)
        # unlink before closing: a socket that refuses counts as a dead engine's and is removed with its log
        if _identity(self._path) == self._socket_id:
            with suppress(OSError):
                self._path.unlink()
        self._socket.close()

    def _listen(self, listening: socket.socket) -> None:
        self._socket, self._socket_id = listening, _identity(self._path)
        self._start_accepting()

    def _start_accepting(self) -> None:
        self._loop.selector.register(self._socket, selectors.EVENT_READ, self._accept)
        self._accepting = True

    def _pause_accepting(self, until_s: float) -> None:
        """Stop accepting clients until the given time; they wait in the socket's queue."""
        self._resume_s = until_s
        if self._accepting:
            self._loop.selector.unregister(self._socket)
        self._accepting = False

    def _on_timer(self) -> float:
        """Do any due work; return the seconds until the next call."""
        now_s = monotonic()
        for client in tuple(self._clients):
            if client.due_s <= now_s:
                self._drop(client)
        if not self._accepting and self._resume_s <= now_s:
            self._start_accepting()
        if self._next_check_s <= now_s:
            self._next_check_s = now_s + SOCKET_CHECK_INTERVAL_S
            self._check_socket()
        due_s = [self._next_check_s, *(client.due_s for client in self._clients)]
        return min(due_s if self._accepting else (*due_s, self._resume_s)) - now_s

    def _check_socket(self) -> None:
        """Recreate the socket and its folder if they were removed, so that clients can find the sweep."""
        if _identity(self._path) == self._socket_id:
            return
        with suppress(BenchtuiError):  # it can't be created now; the next check retries
            listening = _open_socket(socket_path(self._session_id))
            self._pause_accepting(0.0)
            self._socket.close()
            self._listen(listening)

    def _accept(self) -> None:
        now_s = monotonic()
        if now_s >= self._window_end_s:
            self._window_end_s, self._accepted = now_s + WINDOW_S, 0
        while self._accepted < MAX_CLIENTS:
            try:
                client = self._next_client()
            except BlockingIOError:
                return
            except OSError:
                self._pause_accepting(now_s + PAUSE_S)
                return
            self._accepted += 1
            self._clients.append(client)
            self._read(client)  # most have sent everything by now
            if len(self._clients) > MAX_CLIENTS:
                self._drop(min(self._clients, key=lambda other: (bool(other.line), other.due_s)))
        self._pause_accepting(self._window_end_s)

    def _next_client(self) -> _Client:
        """Accept the next client; raise OSError if there is none or it can't be accepted."""
        connection, _ = self._socket.accept()
        client = _Client(connection, monotonic() + CLIENT_TIMEOUT_S)
        try:
            connection.setblocking(False)
            self._loop.selector.register(connection, selectors.EVENT_READ, lambda: self._read(client))
        except OSError:
            connection.close()
            raise
        return client

    def _read(self, client: _Client) -> None:
        try:
            chunk = client.connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk and not client.line:
            self._drop(client)
            return
        client.line += chunk
        client.due_s = monotonic() + CLIENT_TIMEOUT_S
        if not chunk or b"\n" in chunk or len(client.line) >= MAX_COMMAND_BYTES:
            client.unsent = memoryview(self._answer_safely(bytes(client.line)))
            self._loop.selector.modify(client.connection, selectors.EVENT_WRITE, lambda: self._send(client))
            self._send(client)

    def _send(self, client: _Client) -> None:
        try:
            sent = client.connection.send(client.unsent)
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)
            return
        client.unsent = client.unsent[sent:]
        client.due_s = monotonic() + CLIENT_TIMEOUT_S
        if not client.unsent:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        self._clients.remove(client)
        self._loop.selector.unregister(client.connection)
        client.connection.close()

    def _answer_safely(self, line: bytes) -> bytes:
        """Return the answer to a line.

        Raises RecordError if the session file can't be written. No other exception is raised.
        """
        try:
            return _line(self._answer(line))
        except RecordError:
            raise
        except Exception as error:  # noqa: BLE001 no client may end a sweep, not even through a bug of ours
            traceback.print_exc()
            return _line(Answer(ok=False, error=f"the command failed: {type(error).__name__}"))

    def _answer(self, line: bytes) -> Answer:
        try:
            if not line.endswith(b"\n"):
                raise BenchtuiError(f"{len(line):,} bytes without a newline")
            command = _decoder.decode(str(line, "utf-8"))  # decoding bytes wouldn't validate skipped fields
        except Exception as error:  # noqa: BLE001 whatever the decoder raises, the client caused it
            return Answer(ok=False, error=f"invalid command: {visible(shortened(str(error)))}")
        return self._handle(command)


def _line(answer: Answer) -> bytes:
    return msgspec.json.encode(answer) + b"\n"


def _open_socket(path: Path) -> socket.socket:
    """Return a socket that listens at a path.

    The socket gets its final name only once it listens. Before that it refuses connections, so another engine
    would remove it as stale.
    """
    listening: socket.socket | None = None
    temporary = path.with_suffix(".new")
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(temporary))
        temporary.chmod(0o600)
        listening.listen()
        listening.setblocking(False)
        if os.path.lexists(path):
            raise FileExistsError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        temporary.rename(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        if listening:
            listening.close()
        reason = error.strerror or error
        raise BenchtuiError(f"{path}: can't create the control socket: {reason}") from error
    return listening


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file at a path; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
