"""What every process that measures does first: it is to go before others, and never to stay behind."""

import ctypes
import gc
import os
import signal
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from benchtui.engine.process_tree import adopt_orphans

_PR_SET_PDEATHSIG = 1  # prctl(2)


def isolate() -> None:
    """Lead a process group, end with the fork server, and be the first to go when memory runs out.

    Orphans among the descendants become children, so that all are found when the process is to end.
    """
    gc.enable()  # the fork server has done without
    os.setsid()
    _leave_the_fork_server_to_the_engine()
    with suppress(
        OSError, AttributeError
    ):  # Linux alone; without it the closed pipe ends the worker a step later
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    adopt_orphans()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _leave_the_fork_server_to_the_engine() -> None:
    """Close our copy of the pipe whose end tells the fork server that nobody needs it any more.

    With it a process that hangs would keep the server, and the server that process, after the engine has died.
    """
    server: Any = forkserver._forkserver  # there is no public way
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
