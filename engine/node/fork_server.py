"""Fork server of this process: starts processes, and is replaced when it is stopped or hangs."""

import os
import signal
import threading
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import Any

from benchtui.engine.process_tree import is_stopped

STOPPED_S = 3.0
"""Seconds before a stopped server is replaced. One stopped together with the engine is continued sooner."""
START_S = 300.0
"""Seconds a new server may take to import torch and start the first process."""
CUDA_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
"""Variable that lets ``torch.cuda.is_available`` ask the driver's management library. Libraries that call it on
import would otherwise initialize CUDA in the server, and no process forked from it could use a GPU."""
_CHECK_S = 0.5
_END_S = 1.0

_server: Any = forkserver._forkserver  # there is no public API


def server_pid() -> int | None:
    """Process id of the server; None before the first start."""
    pid: int | None = _server._forkserver_pid
    return pid


def begin() -> None:
    """Start the server if it isn't running, without waiting for its imports. Raises OSError if that fails."""
    os.environ.setdefault(CUDA_CHECK, "1")
    _server.ensure_running()


def start(process: BaseProcess) -> None:
    """Start a process from the fork server. A stopped or hung server is replaced.

    Raises:
        OSError, EOFError: if the server has exited.
    """
    os.environ.setdefault(CUDA_CHECK, "1")  # it may start the server
    watch = _Watch()
    try:
        process.start()
    except (OSError, EOFError):
        if watch.killed is None:
            raise
        kill_server(watch.killed)
        process.start()
    finally:
        watch.end()


def kill_server(pid: int) -> None:
    """Kill the server if it is still the current one. The next process starts a new server."""
    if server_pid() != pid:
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if not _exited(pid):
        _abandon()


class _Watch:
    """Watchdog: kills the server if it is stopped or hangs during a start."""

    def __init__(self) -> None:
        self.killed: int | None = None
        """Process id of the server that was killed, if any."""
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        """Stop watching."""
        self._done.set()

    def _run(self) -> None:
        due_s, stopped_s = monotonic() + START_S, 0.0
        while not self._done.wait(_CHECK_S):
            pid = server_pid()
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


def _abandon() -> None:
    """Abandon a server that can't be killed."""
    if _server._forkserver_alive_fd is not None:
        os.close(_server._forkserver_alive_fd)
    _server._forkserver_address = _server._forkserver_alive_fd = _server._forkserver_pid = None
