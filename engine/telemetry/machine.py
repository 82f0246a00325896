"""Describes the machine and the software on it, without importing torch."""

import os
import platform
from importlib import metadata
from pathlib import Path

import psutil

from benchtui.engine.telemetry.nvml import Absent, Nvml
from benchtui.sessions.events import Host

PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "nvidia-ml-py")
"""Packages whose version bears on a measurement."""

CPUINFO = Path("/proc/cpuinfo")
POWERCAP = Path("/sys/class/powercap")


def describe_host(nvml: Nvml | Absent) -> Host:
    """The machine this process runs on, and what of it cannot be read."""
    gpu = {"gpu": nvml.reason} if isinstance(nvml, Absent) else nvml.absent
    rapl = rapl_absence(POWERCAP)
    return Host(
        hostname=platform.node() or None,
        platform=platform.platform(),
        python=platform.python_version(),
        processor=processor_name(CPUINFO),
        cpu_count=_usable_processors(),
        memory_mb=round(psutil.virtual_memory().total / 1e6, 1),
        gpus=() if isinstance(nvml, Absent) else nvml.gpus(),
        driver=None if isinstance(nvml, Absent) else nvml.driver,
        packages=package_versions(PACKAGES),
        absent=gpu | ({} if rapl is None else {"rapl": rapl}),
    )


def processor_name(cpuinfo: Path) -> str | None:
    """The processor's model as the kernel names it, else what the platform calls it, else None."""
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or None


def _usable_processors() -> int | None:
    """Logical processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Installed version of each package; one that is not installed is left out."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def rapl_absence(powercap: Path) -> str | None:
    """Why the processor's energy counters (RAPL) below the kernel's powercap folder cannot be read, or None."""
    counters = sorted(powercap.glob("intel-rapl*/energy_uj"))
    if not counters:
        return f"no energy counters on this kernel or virtual machine ({powercap}/intel-rapl* not found)"
    try:
        counters[0].read_text()
    except PermissionError:
        return f"permission denied; allow it with: sudo chmod a+r {powercap}/intel-rapl*/energy_uj"
    except OSError as error:
        return f"{counters[0]} cannot be read: {error.strerror}"
    return None
