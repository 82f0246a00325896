"""Device support: what decides, without torch, which options are worth trying on this machine's devices."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import psutil

from benchtui.engine.telemetry.kernel_files import kernel_lines
from benchtui.engine.telemetry.processors import usable_processors
from benchtui.sessions.advice.find_sweep import DeviceSupport

COMPILERS = {"cpu": ("CXX", ("g++", "clang++")), "cuda": ("CC", ("gcc", "clang", "cc"))}
"""Variable that names the compiler which ``torch.compile`` needs, and the names to look for, by kind of device:
Inductor on a CPU, Triton's launcher on a GPU."""
_BF16_FLAGS = {"avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16"}
"""Flags of processors that compute in bf16, on x86 and ARM."""


def device_support(device: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> DeviceSupport:
    """Return what this machine supports for a device."""
    processors = usable_processors()
    kind = device.partition(":")[0]
    return DeviceSupport(
        device=device,
        bf16=kind != "cpu" or computes_bf16(cpuinfo),
        compiler=find_compiler(*COMPILERS.get(kind, COMPILERS["cuda"])) is not None,
        processors=len(processors) if processors is not None else psutil.cpu_count() or 1,
        flash=find_spec("flash_attn") is not None,
    )


def find_compiler(variable: str, names: tuple[str, ...]) -> str | None:
    """Return the path of the compiler that a variable names, or else of the first one found."""
    chosen = os.environ.get(variable)
    return next(filter(None, map(shutil.which, (chosen,) if chosen else names)), None)


def computes_bf16(cpuinfo: Path) -> bool:
    """Return whether the processor has instructions for bf16."""
    lines = (line for line in kernel_lines(cpuinfo) if line.startswith(("flags", "Features")))
    return bool(_BF16_FLAGS & set(next(lines, "").split()))
