"""RAPL: energy of processor packages and DRAM, from the kernel's powercap files.

For counters and files, see the kernel's Documentation/power/powercap/powercap.rst.
"""

from pathlib import Path

import msgspec

from benchtui.engine.telemetry.kernel_files import kernel_text

POWERCAP = Path("/sys/class/powercap")


class RaplSample(msgspec.Struct, frozen=True):
    """Energy in joules since the counters were opened. None if it can't be read."""

    package_j: float | None
    dram_j: float | None


class Rapl:
    """Counters in a powercap folder. A sum is None if one of its counters can't be read."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._packages = _open_all(powercap, "package")
        self._dram = _open_all(powercap, "dram")

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


def rapl_absence(powercap: Path = POWERCAP) -> str | None:
    """Return why the energy of the processor packages can't be read, or None if it can."""
    packages = _folders(powercap, "package")
    if not packages:
        return f"no energy counters on this kernel or virtual machine ({powercap}/intel-rapl:* not found)"
    for folder in packages:
        try:
            _Counter(folder)
        except PermissionError:
            return f"permission denied; allow it with: sudo chmod a+r {powercap}/intel-rapl:*/energy_uj"
        except (OSError, ValueError) as error:
            return f"{folder}/energy_uj cannot be read: {getattr(error, 'strerror', None) or error}"
    return None


def _open_all(powercap: Path, kind: str) -> list[_Counter]:
    """Open all counters of a kind; none if one can't be read, because the sum would lack its energy."""
    try:
        return [_Counter(folder) for folder in _folders(powercap, kind)]
    except (OSError, ValueError):
        return []


def _folders(powercap: Path, kind: str) -> list[Path]:
    # other kinds of folders, such as intel-rapl-mmio:0, count the same packages again
    folders = sorted(powercap.glob("intel-rapl:*"))
    return [folder for folder in folders if kernel_text(folder / "name").startswith(kind)]


def _sum_j(counters: list[_Counter]) -> float | None:
    totals = [counter.total_j() for counter in counters]
    readable = [total for total in totals if total is not None]
    return round(sum(readable), 6) if readable and len(readable) == len(totals) else None
