"""Processors: which ones this process may use, their NUMA nodes, and the CPU time spent on them or stolen."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from benchtui.engine.telemetry.kernel_files import kernel_text

BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
"""States of a processor that count as busy. Guest time is part of user time; systems may lack some states."""
_COLUMNS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # proc_stat(5)

STAT = Path("/proc/stat")
THREADS = Path("/proc/self/task")
NUMA_NODES = Path("/sys/devices/system/node")
CPUS = Path("/sys/devices/system/cpu")


def usable_processors() -> frozenset[int] | None:
    """Numbers of the logical processors that a thread of this process may use. None if unknown.

    OpenMP may bind the main thread to one of them (OMP_PROC_BIND), so all threads count.
    """
    if not hasattr(os, "sched_getaffinity"):  # not Linux
        return None
    usable = set(os.sched_getaffinity(0))
    with suppress(OSError):
        for thread in os.listdir(THREADS):
            with suppress(OSError):  # the thread has ended
                usable |= os.sched_getaffinity(int(thread))
    return frozenset(usable)


def processor_count(processors: Collection[int] | None) -> int | None:
    """Return the number of these processors; of the machine's for None."""
    return psutil.cpu_count() if processors is None else len(processors)


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as in the kernel's lists: ``0-3,8``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def numa_nodes(nodes: Path = NUMA_NODES) -> dict[str, str]:
    """Return the processors of each NUMA node by its number. Empty if there is only one.

    See the kernel's Documentation/ABI/stable/sysfs-devices-node. A node may have memory alone.
    """
    folders = [folder for folder in nodes.glob("node[0-9]*") if folder.name.removeprefix("node").isdecimal()]
    numbers = sorted(int(folder.name.removeprefix("node")) for folder in folders)
    processors_of = {str(number): kernel_text(nodes / f"node{number}" / "cpulist") for number in numbers}
    with_processors = {number: processors for number, processors in processors_of.items() if processors}
    return with_processors if len(with_processors) > 1 else {}


def numa_nodes_of(processors: Iterable[int], folders: Path = CPUS) -> str | None:
    """Return the NUMA nodes of processors, such as ``0-1``. None if the kernel names none.

    A processor's folder has a link to its node (Documentation/ABI/stable/sysfs-devices-system-cpu).
    """
    links = (link.name for number in processors for link in (folders / f"cpu{number}").glob("node[0-9]*"))
    return ranges({int(name.removeprefix("node")) for name in links}) or None


def busy_s(processors: Collection[int] | None, stat: Path = STAT) -> float:
    """CPU time on these processors since boot, in seconds; of the whole machine for None.

    Raises OSError if the system doesn't list one of them.
    """
    return _time_s(BUSY, processors, stat)


def stolen_s(processors: Collection[int] | None, stat: Path = STAT) -> float:
    """Time since boot for which the hypervisor ran something else on these processors; see ``busy_s``."""
    return _time_s(("steal",), processors, stat)


def _time_s(states: Collection[str], processors: Collection[int] | None, stat: Path) -> float:
    if processors is None:
        times = psutil.cpu_times()
        return sum(getattr(times, field, 0.0) for field in states)
    ticks = ticks_in(states, stat)
    # lxcfs lists only a container's processors, numbered from 0
    own = ticks if len(ticks) <= len(processors) else {number: ticks.get(number) for number in processors}
    counts = [count for count in own.values() if count is not None]
    if not counts or len(counts) < len(own):
        raise OSError(f"{stat} doesn't list every processor that this process may use")
    return sum(counts) / os.sysconf("SC_CLK_TCK")


def ticks_in(states: Collection[str], stat: Path) -> dict[int, int]:
    """Time in these states in clock ticks by processor.

    Psutil omits the numbers of the processors, so that offline processors would shift the others.
    """
    by_processor = {}
    for line in stat.read_text("ascii", "replace").splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name[3:].isdecimal():
            columns = dict(zip(_COLUMNS, map(int, ticks), strict=False))
            by_processor[int(name[3:])] = sum(columns.get(state, 0) for state in states)
    return by_processor
