"""The processes that another one has started, whatever they did to get away from it."""

import ctypes
import os
from collections.abc import Collection, Iterable
from contextlib import suppress

import psutil

MOST_LOOKS = 5
"""How often to look for those that were started while the others were killed."""
_LOOK_S = 0.2
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37  # prctl(2)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies (Linux alone: PR_SET_CHILD_SUBREAPER)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def adopts_orphans() -> bool:
    """Whether this process is the parent of its descendants' orphans."""
    adopts = ctypes.c_int(0)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(adopts))
    return bool(adopts.value)


def kill_descendants(pid: int) -> None:
    """Kill all processes below one; it should adopt orphans (see ``isolation``), or those aren't found."""
    for _ in range(MOST_LOOKS):
        below = [process for process in _children(pid, recursive=True) if not _is_zombie(process)]
        if not below:
            return
        _kill_all(below)


def kill_orphans(adopters: Iterable[int], workers: Collection[int]) -> None:
    """Kill what dead workers left to processes that adopt orphans, with all below.

    A living worker adopts its own, so that these are of dead ones alone. ``workers`` are those that live. What
    is in this process's own session was started by no worker, each of which leads another one.
    """
    here = os.getsid(0)
    for _ in range(MOST_LOOKS):
        orphans = [
            child
            for adopter in adopters
            for child in _children(adopter)
            if child.pid not in workers and _is_of_another_session(child.pid, here)
            # a zombie is gone but for its parent's look at it; where that is this process, waiting is the look
            if adopter == os.getpid() or not _is_zombie(child)
        ]
        if not orphans:
            return
        for orphan in orphans:
            kill_descendants(orphan.pid)
        _kill_all(orphans)


def is_running(pid: int) -> bool:
    """Whether a process is there and more than a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    except OSError:  # this process is short of files, and can't look
        return True


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal, or by a debugger."""
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except (psutil.Error, OSError):
        return False


def _children(pid: int, recursive: bool = False) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive)
    except (psutil.Error, OSError):  # the latter where the engine is short of files
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
        psutil.wait_procs(processes, timeout=_LOOK_S)
