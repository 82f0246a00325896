"""Fork servers of this process: start processes, and are replaced when they are stopped or hang.

Cases with environment variables have a server for each set of them, started on first use.
"""

import os
import signal
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any

from benchtui.engine.process_tree import is_stopped

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
STOPPED_S = 3.0
"""Seconds before a stopped server is replaced. One stopped together with the engine is continued sooner."""
START_S = 300.0
"""Seconds a new server may take to import torch and start the first process."""
CUDA_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
"""Variable that lets ``torch.cuda.is_available`` ask the driver's management library. Libraries that call it on
import would otherwise initialize CUDA in the server, and no process forked from it could use a GPU."""
_CHECK_S = 0.5
_END_S = 1.0

MOST_SERVERS = 4
"""Maximum number of servers with variables of their own. Each has imported torch, about 300 MB."""


class _ServerWithVariables(forkserver.ForkServer):
    """Server that is started with environment variables, so that the libraries it imports see them."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__()
        self._variables = variables
        self._preload_modules = _plain._preload_modules

    def ensure_running(self) -> None:
        with _environment(self._variables):
            super().ensure_running()


_plain: Any = forkserver._forkserver  # there is no public API
_servers: dict[frozenset[tuple[str, str]], Any] = {}
"""Servers with variables, by these, the most recently used one last."""
_current: ContextVar[Any] = ContextVar("_current", default=_plain)
"""Server that this thread starts a process from."""


def _connect(fds: Sequence[int]) -> tuple[int, int]:
    connected: tuple[int, int] = _current.get().connect_to_new_process(fds)
    return connected


forkserver.connect_to_new_process = _connect  # multiprocessing knows a single server


def server_pid(variables: Mapping[str, str] = NO_VARIABLES) -> int | None:
    """Process id of the server with these variables; None before its first start."""
    server = _servers.get(frozenset(variables.items())) if variables else _plain
    pid: int | None = server and server._forkserver_pid
    return pid


def server_pids() -> list[int]:
    """Process ids of all servers."""
    return [server._forkserver_pid for server in (_plain, *_servers.values()) if server._forkserver_pid]


def begin() -> None:
    """Start the server if it isn't running, without waiting for its imports. Raises OSError if that fails."""
    os.environ.setdefault(CUDA_CHECK, "1")
    _plain.ensure_running()


def start(process: BaseProcess, variables: Mapping[str, str] = NO_VARIABLES) -> None:
    """Start a process from the server with these variables. A stopped or hung server is replaced.

    Raises OSError or EOFError if the server has exited.
    """
    os.environ.setdefault(CUDA_CHECK, "1")  # it may start the server
    server = _server_with(variables) if variables else _plain
    watch, before = _Watch(server), _current.set(server)
    try:
        process.start()
    except (OSError, EOFError):
        if watch.killed is None:
            raise
        kill_server(watch.killed)
        process.start()
    finally:
        _current.reset(before)
        watch.end()


def kill_server(pid: int) -> None:
    """Kill the server if it is still the current one. The next process starts a new server."""
    server = next(
        (candidate for candidate in (_plain, *_servers.values()) if candidate._forkserver_pid == pid), None
    )
    if server is None:
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if not _exited(pid):
        if server._forkserver_alive_fd is not None:
            os.close(server._forkserver_alive_fd)
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None


def kill_least_used(busy: Collection[int | None]) -> None:
    """Kill servers beyond the maximum, the ones unused for longest, but none of these that run a process."""
    idle = [key for key, server in _servers.items() if server._forkserver_pid not in busy]
    for key in idle[: max(0, len(_servers) - MOST_SERVERS)]:
        if pid := _servers[key]._forkserver_pid:
            kill_server(pid)
        del _servers[key]


def _server_with(variables: Mapping[str, str]) -> Any:  # noqa: ANN401  (a ForkServer, which has no public API)
    key = frozenset(variables.items())
    server = _servers.pop(key, None) or _ServerWithVariables(variables)
    _servers[key] = server
    return server


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables of this process for a moment."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


class _Watch:
    """Watchdog: kills the server if it is stopped or hangs during a start."""

    def __init__(self, server: Any) -> None:  # noqa: ANN401  (a ForkServer, which has no public API)
        self._server = server
        self.killed: int | None = None
        """Process id of the server that was killed, if any."""
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        self._done.set()

    def _run(self) -> None:
        due_s, stopped_s = monotonic() + START_S, 0.0
        while not self._done.wait(_CHECK_S):
            pid = self._server._forkserver_pid
            stopped_s = stopped_s + _CHECK_S if pid and is_stopped(pid) else 0.0
            if pid and (stopped_s >= STOPPED_S or monotonic() > due_s):
                self.killed = pid
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return


def _exited(pid: int) -> bool:
    """Whether a killed child exits in time. Its status is left for the next server start to collect."""
    due_s = monotonic() + _END_S
    while monotonic() < due_s:
        try:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return True
        except ChildProcessError:
            return False
        sleep(0.01)
    return False
