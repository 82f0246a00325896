"""Host description: hardware and software of the machine, read without importing torch."""

import os
import platform
from importlib import metadata
from pathlib import Path

import psutil

from benchtui.engine.telemetry.cgroup import cpu_limit, group_folders, memory_limit_mb
from benchtui.engine.telemetry.environment_variables import recorded_variables
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpusUnavailable
from benchtui.engine.telemetry.kernel_files import kernel_lines, kernel_text
from benchtui.engine.telemetry.neighbors.run_delay import run_delay_absence
from benchtui.engine.telemetry.processor_clock import clock_absences, core_types
from benchtui.engine.telemetry.processors import CPUS, numa_nodes, processor_count, usable_processors
from benchtui.engine.telemetry.rapl import rapl_absence
from benchtui.sessions.payloads import Host

PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "nvidia-ml-py")
"""Packages whose version affects a measurement."""

CPUINFO = Path("/proc/cpuinfo")


def describe_host(gpus: GpuReader | GpusUnavailable) -> Host:
    """Describe this machine, including what can't be read and why."""
    gpu = {"gpu": gpus.reason} if isinstance(gpus, GpusUnavailable) else gpus.absent
    rapl = rapl_absence()
    return Host(
        hostname=platform.node() or None,
        platform=platform.platform(),
        python=platform.python_version(),
        processor=processor_name(CPUINFO),
        cpu_count=processor_count(usable_processors()),
        virtual=is_virtual(CPUINFO),
        memory_mb=round(psutil.virtual_memory().total / 1e6, 1),
        governor=governor(CPUS),
        core_types=core_types(),
        numa_nodes=numa_nodes(),
        container_cpus=cpu_limit(group_folders("cpu")),
        container_memory_mb=memory_limit_mb(group_folders("memory")),
        gpus=() if isinstance(gpus, GpusUnavailable) else gpus.gpus(),
        driver=None if isinstance(gpus, GpusUnavailable) else gpus.driver,
        packages=package_versions(PACKAGES),
        environment=recorded_variables(os.environ),
        absent=gpu | ({} if rapl is None else {"rapl": rapl}) | clock_absences() | run_delay_absence(),
    )


def is_virtual(cpuinfo: Path) -> bool | None:
    """Whether this is a virtual machine. None if the processor has no flags."""
    flags = next((line.split() for line in kernel_lines(cpuinfo) if line.startswith("flags")), None)
    return None if flags is None else "hypervisor" in flags


def processor_name(cpuinfo: Path) -> str | None:
    """Processor model from the kernel, else from ``platform``, else None."""
    lines = kernel_lines(cpuinfo)
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or None


def governor(cpus: Path) -> str | None:
    """Distinct CPU frequency governors, joined by ``+``. None if unknown."""
    files = sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    return "+".join(dict.fromkeys(filter(None, map(kernel_text, files)))) or None


def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Return the version of each installed package. Missing packages are omitted."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
