"""Run delay: how long the threads of this process were ready to run but waited for a processor.

A thread that sleeps, or waits for a lock or a disk, isn't ready. Counts of context switches don't tell the two
apart.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from benchtui.engine.telemetry.kernel_files import kernel_text
from benchtui.engine.telemetry.processors import THREADS

RUN_DELAY_KEY = "run delay"
"""Key of the reason why it can't be read, in ``Host.absent``."""


class ThreadTime(msgspec.Struct, frozen=True):
    """Totals of a thread since its start, in seconds."""

    ran_s: float = 0.0
    waited_s: float = 0.0


ThreadTimes = Mapping[str, ThreadTime]
"""Totals of the threads by their ID."""


def thread_times(threads: Path = THREADS) -> ThreadTimes:
    """Return the totals of this process's threads; empty if the kernel doesn't count them.

    See the kernel's Documentation/scheduler/sched-stats.rst: time on a processor and time in the queue, in
    nanoseconds.
    """
    try:
        read = {thread.name: thread_time(kernel_text(thread / "schedstat")) for thread in threads.iterdir()}
    except OSError:
        return {}
    return {name: totals for name, totals in read.items() if totals}


def thread_time(schedstat: str) -> ThreadTime | None:
    """Return the totals of a thread from its ``schedstat``; None if the kernel doesn't count them."""
    words = schedstat.split()
    return ThreadTime(int(words[0]) / 1e9, int(words[1]) / 1e9) if len(words) == 3 else None


def since(begin: ThreadTimes, end: ThreadTimes) -> ThreadTime | None:
    """Return the sums over the threads at the end since an earlier reading. None without readings.

    What threads did that have ended is missing.
    """
    if not begin or not end:
        return None
    changes = [(begin.get(name, ThreadTime()), now) for name, now in end.items()]
    return ThreadTime(
        sum(max(0.0, now.ran_s - before.ran_s) for before, now in changes),
        sum(max(0.0, now.waited_s - before.waited_s) for before, now in changes),
    )


def run_delay_absence(threads: Path = THREADS) -> dict[str, str]:
    """Return the reason why the kernel doesn't count the run delay; empty if it does."""
    if thread_times(threads):
        return {}
    return {RUN_DELAY_KEY: f"the kernel doesn't count it ({threads}/*/schedstat not found or empty)"}
