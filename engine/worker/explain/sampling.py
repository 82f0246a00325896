"""Sampling: the line of code that the main thread is at, and whether it runs or what it sleeps in."""

import bisect
import ctypes
import linecache
import os
import platform
import socket
import sys
import sysconfig
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple

from benchtui.engine.telemetry.processors import THREADS
from benchtui.sessions.profiles import END, Activity, Place

INTERVAL_S = 0.001
SWITCH_S = 0.0005
"""Time after which the main thread passes Python's lock on while a sample is wanted."""
MOST_PLACES = 12
MOST_CHARS = 100
_OWN = str(Path(__file__).parents[2])
_CALLERS = (str(Path(__file__).parent), str(Path(_OWN, "workloads", "own")))
"""Folders of the engine, and of the code that calls a step: any, or one of the user's."""
_INSTALLED = (sysconfig.get_path("stdlib"), "<")
_PACKAGES = ("/site-packages/", "/dist-packages/")
"""Folders of installed packages, also of those outside of this environment."""

_CALLS: dict[str, dict[Activity | Literal["descriptor"], tuple[int, ...]]] = {
    "x86_64": {
        "sleep": (35, 230),
        "lock": (202, 73),
        "process": (61, 247),
        "events": (7, 271, 23, 270, 232, 281),
        "descriptor": (0, 17, 19, 1, 18, 20, 74, 75, 45, 47, 44, 46, 42, 43, 288),
        "file": (2, 257, 437, 3, 76, 77, 82, 264, 316, 87, 263, 285, 4, 5, 6, 262, 332, 217, 26),
    },
    "aarch64": {
        "sleep": (101, 115),
        "lock": (98, 32),
        "process": (95, 260),
        "events": (72, 73, 22),
        "descriptor": (63, 67, 65, 64, 68, 66, 82, 83, 207, 212, 206, 211, 203, 202, 242),
        "file": (56, 437, 57, 45, 46, 38, 276, 35, 47, 79, 80, 291, 61, 227),
    },
}
"""Numbers of Linux's system calls that sleep, by processor: sleeps, locks, waits for children, for events,
those with a file descriptor, which tells files, pipes and sockets apart, and those that open, close, truncate,
rename, delete, allocate or look up files."""
_ACTIVITIES = {
    str(number): activity
    for activity, numbers in _CALLS.get(platform.machine(), {}).items()
    for number in numbers
}


_RUNTIME_AT = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
"""Address of the interpreter's state, which contains Python's lock."""
RUNTIME_BYTES = 2**20
"""Upper bound of that state's size."""


class _Sample(NamedTuple):
    file: str
    line: int
    within: str
    activity: Activity


class Sampler:
    """Thread that samples the thread which creates this."""

    def __init__(self) -> None:
        self._thread, self._number = threading.get_ident(), threading.get_native_id()
        self._seconds: defaultdict[_Sample, float] = defaultdict(float)
        self._moments_ns: defaultdict[_Sample, list[int]] = defaultdict(list)
        """Unix times of each sample, which are also those of torch's profiler."""
        self._ended = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sample for as long as this context lasts."""
        switch_s = sys.getswitchinterval()
        thread = threading.Thread(target=self._run, name="benchtui sampler", daemon=True)
        sys.setswitchinterval(SWITCH_S)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            sys.setswitchinterval(switch_s)

    def shares_within(self, spans_ns: Sequence[tuple[int, int]]) -> dict[_Sample, float]:
        """Return which share of each sample lies within these spans of time, given in order."""
        begins = [begin_ns for begin_ns, _ in spans_ns]

        def is_within(moment_ns: int) -> bool:
            place = bisect.bisect_right(begins, moment_ns) - 1
            return place >= 0 and moment_ns < spans_ns[place][1]

        moments = self._moments_ns.items()
        return {sample: sum(map(is_within, times_ns)) / len(times_ns) for sample, times_ns in moments}

    def places(self, in_operators: Mapping[_Sample, float] | None = None) -> tuple[Place, ...]:
        """Return where the thread spent its time, the longest first.

        ``in_operators`` gives which share of a sample operators have; those that it lacks have none.
        """
        split = defaultdict[_Sample, float](float)
        for sample, time_s in self._seconds.items():
            share = (in_operators or {}).get(sample, 0.0) if sample.activity != "python" else 0.0
            split[sample] += (1 - share) * time_s
            split[sample._replace(activity="operator")] += share * time_s
        whole_s = sum(split.values())
        longest = sorted(split.items(), key=lambda item: -item[1])[:MOST_PLACES]
        return tuple(_place(sample, time_s / whole_s) for sample, time_s in longest if time_s)

    def _run(self) -> None:
        reached_s, state = time.perf_counter(), _KernelFile(THREADS / str(self._number) / "syscall")
        own = _KernelFile(Path("/proc/thread-self/schedstat"))
        while not self._ended.is_set():
            waited_s, wanted_s = _waited_s(own.read()), time.perf_counter() + INTERVAL_S
            time.sleep(INTERVAL_S)
            late_s = time.perf_counter() - wanted_s
            call, now_ns = state.read(), time.time_ns()
            late_s -= _waited_s(own.read()) - waited_s
            frame = sys._current_frames().get(self._thread)
            now_s = time.perf_counter()
            if frame and not self._ended.is_set():  # else it waits for this thread
                sample = _sample(frame, _activity(call, late_s))
                self._seconds[sample] += now_s - reached_s
                self._moments_ns[sample].append(now_ns)
            reached_s = now_s
        state.close()
        own.close()


class _KernelFile:
    """State of a thread, read without giving Python's lock away, which another one may be waiting for."""

    def __init__(self, path: Path) -> None:
        try:
            self._file: int | None = os.open(path, os.O_RDONLY)
        except OSError:  # not Linux, or not allowed
            self._file = None
        self._text = ctypes.create_string_buffer(256)
        self._pread = ctypes.PyDLL(None).pread

    def read(self) -> list[str]:
        """Return the words, such as the number and the arguments of a system call; empty if unknown."""
        if self._file is None:
            return []
        size = self._pread(self._file, self._text, ctypes.c_size_t(255), ctypes.c_long(0))
        return self._text.raw[: max(size, 0)].decode().split()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)


def _waited_s(words: list[str]) -> float:
    """Return how long a thread has waited for a processor, from its ``schedstat``."""
    return int(words[1]) / 1e9 if len(words) == 3 else 0.0


def _activity(call: list[str], late_s: float) -> Activity:
    """Return what the thread does, by its system call or else by how late Python's lock came.

    A thread that runs Python code gives the lock away only after ``SWITCH_S``. While the sampler has it, such
    a thread is running at first and then waits for the lock; one that runs anything else doesn't wait for it.
    """
    late = late_s > SWITCH_S / 2
    if not call:
        return "python" if late else "wait"
    if call[0] == "running":
        return "python" if late else "native"
    activity = _ACTIVITIES.get(call[0], "wait")
    if activity == "lock" and int(call[1], 16) - _RUNTIME_AT in range(RUNTIME_BYTES):
        return "python"
    return _of_descriptor(call) if activity == "descriptor" else activity


def _of_descriptor(call: list[str]) -> Activity:
    """Return what a file descriptor, the call's first argument, is of."""
    try:
        number = int(call[1], 16)
        target = str(Path(f"/proc/self/fd/{number}").readlink())
        if target.startswith("socket:") and _is_local(number):
            return "pipe"
    except (OSError, ValueError, IndexError):
        return "wait"
    kinds: dict[str, Activity] = {"pipe:": "pipe", "socket:": "network", "anon_inode:": "events"}
    return next((kind for prefix, kind in kinds.items() if target.startswith(prefix)), "file")


def _is_local(number: int) -> bool:
    """Return whether a socket connects processes of this machine, such as a DataLoader and its workers."""
    with socket.socket(fileno=os.dup(number)) as duplicate:
        return duplicate.family == socket.AF_UNIX


def _sample(frame: FrameType, activity: Activity) -> _Sample:
    inside = list(takewhile(lambda one: not one.f_code.co_filename.startswith(_CALLERS), _outward(frame)))
    if not inside:
        return _Sample(END, 0, "", activity)
    frames = [one for one in inside if not one.f_code.co_filename.startswith(_OWN)] or inside
    shown = next((one for one in frames if not _is_installed(one.f_code.co_filename)), frames[0])
    inner = frames[0]
    within = "" if inner is shown else f"{Path(inner.f_code.co_filename).name} {inner.f_code.co_name}"
    return _Sample(shown.f_code.co_filename, shown.f_lineno, within, activity)


def _is_installed(file: str) -> bool:
    return file.startswith(_INSTALLED) or any(folder in file for folder in _PACKAGES)


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _place(sample: _Sample, share: float) -> Place:
    code = linecache.getline(sample.file, sample.line).strip()
    return Place(
        where=f"{Path(sample.file).name}:{sample.line}" if sample.line else sample.file,
        code=code[:MOST_CHARS],
        within=sample.within,
        activity=sample.activity,
        share=round(share, 4),
    )
