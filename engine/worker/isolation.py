"""Process isolation: a measuring process dies first when memory runs out, and never outlives the engine."""

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
    """Lead a process group, die with the fork server, and be the OOM killer's first choice.

    Orphaned descendants become children, so that all are found when the process is killed.
    """
    gc.enable()  # the fork server runs without garbage collection
    os.setsid()
    leave_fork_server()
    with suppress(OSError, AttributeError):  # Linux only; elsewhere a closed pipe ends it a step later
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    adopt_orphans()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def leave_fork_server() -> None:
    """Close this process's copy of the pipe that keeps the fork server alive.

    Otherwise a hung process and the server would keep each other alive after the engine's death.
    """
    server: Any = forkserver._forkserver  # there is no public API
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
