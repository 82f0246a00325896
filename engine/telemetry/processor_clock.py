"""Processor clock: frequency of the busy processors, thermal throttling, and types of cores.

For the files see the kernel's Documentation/admin-guide/pm/cpufreq.rst, Documentation/ABI/testing/
sysfs-devices-system-cpu, and arch/x86/kernel/cpu/mce/therm_throt.c.
"""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from benchtui.engine.telemetry.kernel_files import kernel_text
from benchtui.engine.telemetry.processors import BUSY, CPUS, STAT, ranges, ticks_in, usable_processors

DEVICES = Path("/sys/devices")
MAX_READ = 8
"""Maximum number of processors whose frequency is read at a time, the busiest first."""
_FREQUENCY = "cpufreq/scaling_cur_freq"
_INTEL_TYPES = {"P": "cpu_core", "E": "cpu_atom", "LP E": "cpu_lowpower"}
"""Event source of each type of core, whose file ``cpus`` lists its processors."""


class BusyClock:
    """Frequency of the busy processors among those that this process may use."""

    def __init__(self, processors: Collection[int] | None = None, cpus: Path = CPUS, stat: Path = STAT) -> None:
        """``processors`` defaults to those that this process may use."""
        usable = usable_processors() if processors is None else processors
        numbers = _numbers(cpus) if usable is None else usable
        self._files = {number: cpus / f"cpu{number}" / _FREQUENCY for number in numbers}
        self._readable = any(file.exists() for file in self._files.values())
        self._stat = stat
        self._last: dict[int, int] = {}

    def mhz(self) -> float | None:
        """Return the mean frequency since the last call, weighted by CPU time. None if unreadable or idle.

        Frequencies are momentary. An idle processor is ignored, because its frequency is unrelated to the work.
        """
        if not self._readable:
            return None
        ticks = _ticks(self._stat)
        last, self._last = self._last, ticks
        usable = self._files.keys() & ticks.keys() & last.keys()
        worked = {number: ticks[number] - last[number] for number in usable}
        busiest = sorted(worked, key=lambda number: worked[number], reverse=True)[:MAX_READ]
        readings = [(_count(self._files[number]), worked[number]) for number in busiest if worked[number] > 0]
        weighted = [(khz, weight) for khz, weight in readings if khz]
        weights = sum(weight for _, weight in weighted)
        return round(sum(khz * weight for khz, weight in weighted) / weights / 1000, 1) if weighted else None


class ThrottleCounts:
    """Kernel's counts of thermal throttling of cores and packages."""

    def __init__(self, processors: Collection[int] | None, cpus: Path = CPUS) -> None:
        """``processors`` selects processors, with their packages; None selects all."""
        self._files: dict[tuple[str, ...], list[Path]] = defaultdict(list)
        for number in _numbers(cpus) if processors is None else processors:
            folder = cpus / f"cpu{number}"
            package, core = (
                kernel_text(folder / "topology" / name) for name in ("physical_package_id", "core_id")
            )
            for key, kind in (((package,), "package"), ((package, core), "core")):
                file = folder / "thermal_throttle" / f"{kind}_throttle_count"
                if file.exists():
                    self._files[key].append(file)

    def total(self) -> int | None:
        """Return the sum over cores and packages since boot. None if the kernel doesn't count."""
        # each processor of a core or package has its own counter of the same events
        counts_by_core = ([_count(file) for file in files] for files in self._files.values())
        readable = ([count for count in counts if count is not None] for counts in counts_by_core)
        highest = [max(counts) for counts in readable if counts]
        return sum(highest) if highest else None


def clock_absences(cpus: Path = CPUS) -> dict[str, str]:
    """Return which readings of the processors' clock this machine lacks, with the reason."""
    missing = {
        "processor clock": (_FREQUENCY, "no frequencies on this kernel or virtual machine"),
        "processor throttling": ("thermal_throttle", "no throttle counts on this processor or virtual machine"),
    }
    return {
        name: f"{reason} ({cpus}/cpu*/{file} not found)"
        for name, (file, reason) in missing.items()
        if not any(cpus.glob(f"cpu[0-9]*/{file}"))
    }


def core_types(devices: Path = DEVICES) -> dict[str, str]:
    """Return the processors of each type of core: Intel's by name, others by capacity. Empty without types."""
    listed = {name: kernel_text(devices / source / "cpus") for name, source in _INTEL_TYPES.items()}
    if len(named := {name: processors for name, processors in listed.items() if processors}) > 1:
        return named
    cpus, by_capacity = devices / "system" / "cpu", defaultdict[int, list[int]](list)
    for number in _numbers(cpus):
        if capacity := _count(cpus / f"cpu{number}" / "cpu_capacity"):
            by_capacity[capacity].append(number)
    if len(by_capacity) < 2:
        return {}
    return {f"capacity {capacity}": ranges(by_capacity[capacity]) for capacity in sorted(by_capacity)[::-1]}


def _numbers(cpus: Path) -> list[int]:
    names = (folder.name.removeprefix("cpu") for folder in cpus.glob("cpu[0-9]*"))
    return sorted(int(name) for name in names if name.isdecimal())


def _ticks(stat: Path) -> dict[int, int]:
    try:
        return ticks_in(BUSY, stat)
    except OSError:
        return {}


def _count(file: Path) -> int | None:
    text = kernel_text(file)
    return int(text) if text.isdecimal() else None
