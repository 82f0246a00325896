"""Processor counters through the kernel's perf_event_open(2)."""

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path
from typing import Self

import msgspec

from benchtui.engine.telemetry.kernel_files import kernel_text

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_SYSCALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
"""Number of the system call by machine (the kernel's syscall tables)."""
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
"""``perf_event_attr`` in its first version: type, size, config, sample period and type, read format, flags."""
_COUNT = struct.Struct("=QQQ")
"""Value, and the nanoseconds for which the counter was enabled and was running."""
_TIMES = 1 | 2
"""Read format: both of these times."""
_INHERIT, _USER_ONLY = 1 << 1, 1 << 5 | 1 << 6
"""Flags: count threads and processes started later; exclude kernel and hypervisor."""
_CLOSE_ON_EXEC = 8
_MISSING = (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP, errno.EINVAL)
_DENIED = (errno.EACCES, errno.EPERM)

HARDWARE, SOFTWARE = 0, 1
"""Types of events (``perf_type_id``)."""
CYCLES, INSTRUCTIONS = 0, 1
"""Hardware events (``perf_hw_id``)."""
TASK_CLOCK = 1
"""Software event: nanoseconds of CPU time."""


class CounterUnavailable(Exception):
    """Reason why a counter can't be opened."""


class Event(msgspec.Struct, frozen=True):
    """Countable event: its type and configuration."""

    kind: int
    config: int


class Counter:
    """An open counter."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def of_thread(cls, event: Event, thread: int) -> Self:
        """Count in a thread (0 for this one) and everything that it starts from now on, in user mode only."""
        return cls(_open(event, thread, -1, _INHERIT | _USER_ONLY, paranoid=2))

    @classmethod
    def of_processor(cls, event: Event, processor: int) -> Self:
        """Count on a processor, or in the unit that the kernel assigned to it."""
        return cls(_open(event, -1, processor, 0, paranoid=0))

    def value(self) -> float | None:
        """Return the count, extrapolated if the counter was multiplexed. None if unreadable or never run."""
        try:
            data = os.read(self._descriptor, _COUNT.size)
        except OSError:
            return None
        if len(data) < _COUNT.size:  # a pinned counter that the kernel has dropped
            return None
        value, wanted_ns, running_ns = _COUNT.unpack(data)
        if running_ns >= wanted_ns:
            return float(value)
        return value * wanted_ns / running_ns if running_ns else None

    def close(self) -> None:
        """Stop counting."""
        os.close(self._descriptor)


def _open(event: Event, thread: int, processor: int, flags: int, *, paranoid: int) -> int:
    """Return the file descriptor of a new counter.

    Raises:
        CounterUnavailable: With the reason. ``paranoid`` is the highest setting at which the kernel allows it.
    """
    number = _SYSCALLS.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        raise CounterUnavailable(f"not supported on {platform.system()} {platform.machine()}")
    attributes = _ATTRIBUTES.pack(event.kind, _ATTRIBUTES.size, event.config, 0, 0, _TIMES, flags, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attributes, thread, processor, -1, _CLOSE_ON_EXEC)
    if descriptor < 0:
        raise CounterUnavailable(_reason(ctypes.get_errno(), paranoid))
    return int(descriptor)


def _reason(code: int, paranoid: int) -> str:
    if code in _MISSING:
        return "no such counters on this processor or virtual machine"
    if code in _DENIED:
        current = kernel_text(PARANOID) or "unknown"
        return (
            f"permission denied (kernel.perf_event_paranoid is {current}); allow it with:"
            f" sudo sysctl kernel.perf_event_paranoid={paranoid}"
        )
    return f"refused by the kernel: {os.strerror(code)}"
