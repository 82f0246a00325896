"""Process isolation: a measuring process dies first when memory runs out, and ends with its case and engine."""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver, process
from pathlib import Path
from time import sleep
from types import ModuleType
from typing import Any

from benchtui.engine.job import THREADS_S, LeftThreads
from benchtui.engine.process_tree import adopt_orphans

_PR_SET_PDEATHSIG = 1  # prctl(2)


def isolate() -> None:
    """Lead a process group, die with the fork server, and be the OOM killer's first choice.

    Orphaned descendants become children, so that all are found when the process is killed.
    """
    gc.enable()  # the fork server runs without garbage collection
    os.setsid()
    leave_fork_server()
    become_main_process()
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


def become_main_process() -> None:
    """Give user code the multiprocessing state of a program that was started from a shell.

    A process of the fork server would start its children from a fork server as well, which can't pickle what a
    forked process inherits. Spawned children run the module ``__main__`` again, so it is an empty one here.
    """
    multiprocessing.set_start_method(None, force=True)  # the platform's default
    (main,) = (
        subclass for subclass in process.BaseProcess.__subclasses__() if subclass.__name__ == "_MainProcess"
    )
    state: Any = process  # there is no public API
    state._current_process, state._parent_process = main(), None
    sys.modules["__main__"] = ModuleType("__main__")
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the engine ignores it


def end_children_quietly() -> None:
    """Let no handler of a library, such as that of torch's loader, report the children that are killed next."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def end_without_threads(report: Callable[[LeftThreads], None]) -> None:
    """End this process soon even if threads of the step keep running; report their number first.

    Without such threads it exits as usual, with the teardown of libraries and devices. Idle threads of a pool
    end by themselves at that point, so only those that still run after a moment count.
    """
    threading.Thread(target=_end_if_threads_run, args=(report,), daemon=True).start()


def _end_if_threads_run(report: Callable[[LeftThreads], None]) -> None:
    sleep(THREADS_S)
    others = [thread for thread in threading.enumerate() if not thread.daemon]
    if count := len(others) - 1:  # the main thread is waiting for them
        report(LeftThreads(count=count))
        os._exit(0)
