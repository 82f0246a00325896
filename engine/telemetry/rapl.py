"""RAPL: energy of processor packages and DRAM, from the kernel's powercap files.

For counters and files, see the kernel's Documentation/power/powercap/powercap.rst.
"""

from pathlib import Path

import msgspec

POWERCAP = Path("/sys/class/powercap")


class RaplSample(msgspec.Struct, frozen=True):
    """Energy in joules since the counters were opened. None if it can't be read."""

    package_j: float | None
    dram_j: float | None


class Rapl:
    """Counters in a powercap folder. Unreadable counters are omitted."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        # other kinds of folders, such as intel-rapl-mmio:0, count the same packages again
        folders = sorted(powercap.glob("intel-rapl:*"))
        self._packages = _counters(folders, "package")
        self._dram = _counters(folders, "dram")

    def sample(self) -> RaplSample:
        """Return the sums over all packages and over all DRAM."""
        return RaplSample(package_j=_sum_j(self._packages), dram_j=_sum_j(self._dram))


class _Counter:
    """Energy counter in microjoules that wraps around at its range."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "energy_uj"
        self._range_uj = int((folder / "max_energy_range_uj").read_text("ascii"))
        self._last_uj = int(self._path.read_text("ascii"))
        self._total_uj = 0

    def total_j(self) -> float | None:
        """Return the energy in joules since the counter was opened. None if it can no longer be read.

        Correct if read at least once per wrap-around, which takes some minutes on the largest processors.
        """
        try:
            now_uj = int(self._path.read_text("ascii"))
        except (OSError, ValueError):
            return None
        passed_uj = now_uj - self._last_uj
        self._total_uj += passed_uj if passed_uj >= 0 else passed_uj + self._range_uj
        self._last_uj = now_uj
        return self._total_uj / 1e6


def _counters(folders: list[Path], kind: str) -> list[_Counter]:
    found = []
    for folder in folders:
        try:
            if (folder / "name").read_text("ascii").strip().startswith(kind):
                found.append(_Counter(folder))
        except (OSError, ValueError):
            continue
    return found


def _sum_j(counters: list[_Counter]) -> float | None:
    totals = [counter.total_j() for counter in counters]
    known = [total for total in totals if total is not None]
    return round(sum(known), 6) if known and len(known) == len(totals) else None
