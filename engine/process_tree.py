"""Process tree: find and kill all descendants of a process, including detached ones."""

import ctypes
import os
from collections.abc import Collection, Iterable
from contextlib import suppress

import psutil

MAX_KILL_PASSES = 5
"""Maximum number of passes to find processes started while the others were being killed."""
_EXIT_WAIT_S = 0.2
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37  # prctl(2)


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant (Linux only: PR_SET_CHILD_SUBREAPER)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def adopts_orphans() -> bool:
    """Return whether this process adopts orphaned descendants."""
    adopts = ctypes.c_int(0)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(adopts))
    return bool(adopts.value)


def kill_descendants(pid: int) -> None:
    """Kill all descendants of a process.

    Orphans are found only if the process adopts them (see ``worker.isolation``).
    """
    for _ in range(MAX_KILL_PASSES):
        descendants = [process for process in _children(pid, recursive=True) if not _is_zombie(process)]
        if not descendants:
            return
        _kill_all(descendants)


def kill_orphans(adopters: Iterable[int], workers: Collection[int]) -> None:
    """Kill the orphans of dead workers, which are children of ``adopters``, with all descendants.

    ``workers`` are the pids of live workers. A live worker adopts its own orphans, so all others are from dead
    workers. Processes in this process's session are spared, because every worker leads a separate session.
    """
    here = os.getsid(0)
    for _ in range(MAX_KILL_PASSES):
        orphans = [
            child
            for adopter in adopters
            for child in _children(adopter)
            if child.pid not in workers and _is_of_another_session(child.pid, here)
            # a zombie only needs reaping by its parent; if that is this process, the wait below does it
            if adopter == os.getpid() or not _is_zombie(child)
        ]
        if not orphans:
            return
        for orphan in orphans:
            kill_descendants(orphan.pid)
        _kill_all(orphans)


def is_running(pid: int) -> bool:
    """Return whether a process exists and isn't a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    except OSError:  # out of file descriptors: assume it is running
        return True


def is_stopped(pid: int) -> bool:
    """Return whether a process was stopped by a signal or a debugger."""
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except (psutil.Error, OSError):
        return False


def _children(pid: int, recursive: bool = False) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive)
    except (psutil.Error, OSError):  # OSError: the engine is out of file descriptors
        return []


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True
    except OSError:
        return False


def _is_of_another_session(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) != session
    except OSError:
        return False


def _kill_all(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error, OSError):
            process.kill()
    with suppress(OSError):
        psutil.wait_procs(processes, timeout=_EXIT_WAIT_S)
