"""Processes of others: who used the processors or a GPU between two readings."""

import os
import pwd
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from benchtui.engine.telemetry.kernel_files import kernel_text
from benchtui.sessions.payloads import Neighbor

PROC = Path("/proc")
MOST_NAMED = 3
"""Number of processes that are named, the busiest first."""
LEAST_PERCENT = 1.0
"""CPU use, in percent of one processor, below which a process isn't named."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _FIRST_TIME, _LAST_TIME = 1, 11, 14
# fields of /proc/PID/stat after the name (proc_pid_stat(5)): ppid; utime, stime, cutime, cstime


class ProcessTime(msgspec.Struct, frozen=True):
    """A process, and the CPU time that it and its ended children have used, in seconds."""

    name: str
    parent: int
    used_s: float


def process_times(proc: Path = PROC) -> dict[int, ProcessTime]:
    """Return all visible processes by their ID; empty where the system has no /proc."""
    pids = (int(name) for name in _names(proc) if name.isdecimal())
    processes = {pid: _parsed(kernel_text(proc / str(pid) / "stat")) for pid in pids}
    return {pid: process for pid, process in processes.items() if process}


def used_s(pids: Iterable[int], proc: Path = PROC) -> float:
    """Return the CPU time of the processes that are running, with that of their ended children, in seconds."""
    processes = (_parsed(kernel_text(f"{proc}/{pid}/stat")) for pid in pids)
    return sum(process.used_s for process in processes if process)


def children_below(pids: Iterable[int]) -> dict[int, list[int]]:
    """Return the children of these processes and of all their descendants, by parent.

    None are found where the kernel doesn't list children (CONFIG_PROC_CHILDREN). Each thread has a list.
    """
    by_parent: dict[int, list[int]] = {}
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in by_parent:
            folder = f"{PROC}/{pid}/task"
            texts = (kernel_text(f"{folder}/{thread}/children") for thread in _names(folder))
            by_parent[pid] = [int(child) for text in texts for child in text.split()]
            waiting += by_parent[pid]
    return by_parent


def family(pid: int, children: Mapping[int, Iterable[int]]) -> set[int]:
    """Return a process and all of its descendants."""
    members, generation = {pid}, [pid]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, ())]
        members.update(generation)
    return members


def busiest(
    begin: Mapping[int, ProcessTime], end: Mapping[int, ProcessTime], span_s: float, own: int
) -> tuple[Neighbor, ...]:
    """Return the processes that used the processors most in a span, without ``own`` and its descendants."""
    spent_s = {pid: process.used_s for pid, process in end.items()}
    for pid, process in begin.items():
        if (holder := _holder(pid, begin, end)) is not None:
            spent_s[holder] -= process.used_s
    others = end.keys() - _family(end, own)
    busy = [pid for pid in others if span_s > 0 and 100 * spent_s[pid] / span_s >= LEAST_PERCENT]
    busy.sort(key=lambda pid: (-spent_s[pid], pid))
    return tuple(
        Neighbor(name=end[pid].name, user=user_of(pid), cpu_percent=round(100 * spent_s[pid] / span_s, 1))
        for pid in busy[:MOST_NAMED]
    )


def named(pids: Collection[int], proc: Path = PROC) -> tuple[Neighbor, ...]:
    """Return the processes with these IDs that are visible from here, such as those that a driver lists."""
    names = {pid: kernel_text(proc / str(pid) / "comm") for pid in sorted(pids)}
    visible = [Neighbor(name=name, user=user_of(pid, proc)) for pid, name in names.items() if name]
    return tuple(visible[:MOST_NAMED])


def user_of(pid: int, proc: Path = PROC) -> str | None:
    """Return the name of a process's user. None if the process has exited or the user has no name here."""
    try:
        return pwd.getpwuid((proc / str(pid)).stat().st_uid).pw_name
    except (OSError, KeyError):
        return None


def _holder(pid: int, begin: Mapping[int, ProcessTime], end: Mapping[int, ProcessTime]) -> int | None:
    """Return the process that has a process's earlier time at the end: itself, or its first ancestor left."""
    while pid not in end:
        if pid not in begin:
            return None
        pid = begin[pid].parent
    return pid


def _names(folder: Path | str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _parsed(stat: str) -> ProcessTime | None:
    """Parse a line of /proc/PID/stat; its name, in parentheses, may contain any character."""
    before, _, after = stat.rpartition(")")
    fields = after.split()
    if len(fields) <= _LAST_TIME:
        return None
    ticks = sum(int(field) for field in fields[_FIRST_TIME : _LAST_TIME + 1])
    return ProcessTime(before.partition("(")[2], int(fields[_PARENT]), ticks / _TICKS_PER_S)


def _family(processes: Mapping[int, ProcessTime], own: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    return family(own, children)
