"""The fork server of this process: asked to start processes, and replaced where it doesn't run any more."""

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
"""A server that is stopped for so long isn't going to be continued with everything else."""
START_S = 300.0
"""How long a new server may take to import torch and start the first process."""
_LOOK_S = 0.5
_END_S = 1.0

_server: Any = forkserver._forkserver  # there is no public way


def server_pid() -> int | None:
    """The server's process; None before the first one is started."""
    pid: int | None = _server._forkserver_pid
    return pid


def start(process: BaseProcess) -> None:
    """Have the server start a process; one that is stopped is replaced.

    Raises:
        OSError, EOFError: where the server is gone.
    """
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
    """Kill the server, unless another one has taken its place; the next process is started by a new one."""
    if server_pid() != pid:
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if not _ended(pid):
        _forget()


class _Watch:
    """Looks at the server while it is asked to start a process, and kills it where it doesn't run."""

    def __init__(self) -> None:
        self.killed: int | None = None
        """The server that was killed."""
        self._done = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def end(self) -> None:
        """Look no longer."""
        self._done.set()

    def _look(self) -> None:
        due_s, stopped_s = monotonic() + START_S, 0.0
        while not self._done.wait(_LOOK_S):
            pid = server_pid()
            stopped_s = stopped_s + _LOOK_S if pid and is_stopped(pid) else 0.0
            if pid and (stopped_s >= STOPPED_S or monotonic() > due_s):
                self.killed = pid
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return


def _ended(pid: int) -> bool:
    """Whether a killed child ends in time; starting the next server collects its status."""
    due_s = monotonic() + _END_S
    while monotonic() < due_s:
        try:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return True
        except ChildProcessError:
            return False
        sleep(0.01)
    return False


def _forget() -> None:
    """Abandon a server that can't be killed."""
    if _server._forkserver_alive_fd is not None:
        os.close(_server._forkserver_alive_fd)
    _server._forkserver_address = _server._forkserver_alive_fd = _server._forkserver_pid = None
