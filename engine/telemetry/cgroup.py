"""Control groups of this process: their limits on CPU time and memory, and how often the CPU quota was used up.

Versions 1 and 2, including nested groups (cgroups(7); Linux's documentation of CFS bandwidth control).
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from benchtui.engine.telemetry.kernel_files import kernel_lines, kernel_text

SELF = Path("/proc/self")

_NO_LIMIT = 2**60
# cgroups v1 reports "no limit" as the largest number of pages, in bytes


class QuotaUse(msgspec.Struct, frozen=True):
    """Running totals of the CPU quota of a control group."""

    periods: int
    """Periods of the quota, usually of 100 ms, in which the group ran."""
    stopped_periods: int
    """Periods in which the group used up its quota and was stopped until the next one."""
    stopped_s: float
    """Time that it was stopped, summed over the processors that it ran on."""

    def since(self, begin: "QuotaUse") -> "QuotaUse":
        """Return the use since an earlier reading."""
        return QuotaUse(
            self.periods - begin.periods,
            self.stopped_periods - begin.stopped_periods,
            self.stopped_s - begin.stopped_s,
        )


def group_folders(controller: str, process: Path = SELF) -> tuple[Path, ...]:
    """Return the folders of this process's control group and of its visible ancestors, innermost first.

    Empty without control groups. ``controller`` is ``cpu`` or ``memory``.
    """
    groups = [
        line.split(":", 2)
        for line in kernel_lines(process / "cgroup", "surrogateescape")
        if line.count(":") >= 2
    ]
    mounts = [_Mount.parse(line) for line in kernel_lines(process / "mountinfo", "surrogateescape")]
    for kind in (controller, ""):  # a controller of version 1 is not one of version 2
        path = next((path for _, names, path in groups if kind in names.split(",")), None)
        mount = next((mount for mount in mounts if mount and mount.has(kind)), None)
        if path is not None and mount is not None:
            return mount.folders(path)
    return ()


def cpu_limit(folders: Iterable[Path]) -> float | None:
    """Return the lowest CPU limit of these control groups, in processors. None if unlimited."""
    return min((limit for folder in folders if (limit := _quota(folder)) is not None), default=None)


def memory_limit_mb(folders: Iterable[Path]) -> float | None:
    """Return the lowest memory limit of these control groups, in units of 10**6 bytes. None if unlimited."""
    limits = [
        kernel_text(folder / "memory.max") or kernel_text(folder / "memory.limit_in_bytes")
        for folder in folders
    ]
    sizes = [int(limit) for limit in limits if limit.isdecimal() and int(limit) < _NO_LIMIT]
    return round(min(sizes) / 1e6, 1) if sizes else None


def quota_uses(folders: Iterable[Path]) -> dict[Path, QuotaUse]:
    """Return the use of each CPU quota of these control groups, the lowest quota first.

    A group that the quota of its parent stops isn't counted as stopped itself.
    """
    limited = sorted((limit, folder) for folder in folders if (limit := _quota(folder)) is not None)
    return {folder: use for _, folder in limited if (use := _quota_use(folder)) is not None}


def most_stopping(begin: Mapping[Path, QuotaUse], end: Mapping[Path, QuotaUse]) -> QuotaUse | None:
    """Return the use between two readings of the quota that stopped its group most often. None without a quota.

    The stopped time can't be compared, because it is larger for a group that runs on more processors.
    """
    uses = [use.since(begin[folder]) for folder, use in end.items() if folder in begin]
    return max(uses, key=lambda use: use.stopped_periods / max(use.periods, 1), default=None)


def _quota_use(folder: Path) -> QuotaUse | None:
    """Return the totals of a group's CPU quota. None if they can't be read."""
    lines = (line.split() for line in kernel_lines(folder / "cpu.stat"))
    totals = {pair[0]: int(pair[1]) for pair in lines if len(pair) == 2 and pair[1].isdecimal()}
    if "nr_periods" not in totals or "nr_throttled" not in totals:
        return None
    # version 2 counts microseconds, version 1 nanoseconds
    stopped_s = totals.get("throttled_usec", 0) / 1e6 + totals.get("throttled_time", 0) / 1e9
    return QuotaUse(totals["nr_periods"], totals["nr_throttled"], stopped_s)


class _Mount(msgspec.Struct, frozen=True):
    root: str
    """Control group that is mounted."""
    at: Path
    controllers: tuple[str, ...]
    """Controllers of version 1; one empty name for version 2, as in /proc/self/cgroup."""

    @classmethod
    def parse(cls, line: str) -> "_Mount | None":
        """Parse a line of mountinfo (proc_pid_mountinfo(5)). None for other file systems."""
        before, _, after = line.partition(" - ")
        fields, (kind, *rest) = before.split(), after.split() or [""]
        if len(fields) < 5 or kind not in ("cgroup", "cgroup2"):
            return None
        controllers = ("",) if kind == "cgroup2" else tuple(",".join(rest[-1:]).split(","))
        return cls(fields[3], Path(fields[4]), controllers)

    def has(self, controller: str) -> bool:
        return controller in self.controllers

    def folders(self, path: str) -> tuple[Path, ...]:
        inside = Path(path)
        visible = ".." not in inside.parts and inside.is_relative_to(self.root)
        nested = self.at / inside.relative_to(self.root) if visible else self.at
        return (nested, *(parent for parent in nested.parents if parent.is_relative_to(self.at)))


def _quota(folder: Path) -> float | None:
    """Return the CPU limit of one control group, in processors. None if unlimited."""
    quota, _, period = kernel_text(folder / "cpu.max").partition(" ")
    if not period:
        quota, period = (kernel_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None
