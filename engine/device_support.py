"""Device support: what decides, without torch, which options are worth trying on this machine's devices."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from benchtui.engine.telemetry.kernel_files import kernel_lines
from benchtui.engine.telemetry.processors import processor_count, usable_processors
from benchtui.sessions.advice.find_sweep import DeviceSupport

COMPILERS = {"cpu": ("CXX", ("g++", "clang++")), "cuda": ("CC", ("gcc", "clang", "cc"))}
"""Variable that names the compiler which ``torch.compile`` needs, and the names to look for, by kind of device:
Inductor on a CPU, Triton's launcher on a GPU."""
CPUINFO = Path("/proc/cpuinfo")
_FLAGS = {
    "bf16": {"avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16"},
    "fp16": {"avx512_fp16", "amx_fp16", "avx_ne_convert", "fphp", "asimdhp"},
}
"""Flags of processors that compute in a precision, on x86 and ARM."""


def device_support(device: str, cpuinfo: Path = CPUINFO) -> DeviceSupport:
    """Return what this machine supports for a device."""
    kind = device.partition(":")[0]
    return DeviceSupport(
        device=device,
        bf16=kind != "cpu" or has_instructions("bf16", cpuinfo) is True,
        compiler=find_compiler(*COMPILERS.get(kind, COMPILERS["cuda"])) is not None,
        processors=processor_count(usable_processors()) or 1,
        flash=find_spec("flash_attn") is not None,
    )


def find_compiler(variable: str, names: tuple[str, ...]) -> str | None:
    """Return the path of the compiler that a variable names, or else of the first one found."""
    chosen = os.environ.get(variable)
    return next(filter(None, map(shutil.which, (chosen,) if chosen else names)), None)


def has_instructions(precision: str, cpuinfo: Path = CPUINFO) -> bool | None:
    """Return whether the processor has instructions for bf16 or fp16; None if it doesn't say."""
    lines = (line for line in kernel_lines(cpuinfo) if line.startswith(("flags", "Features")))
    line = next(lines, None)
    return None if line is None else bool(_FLAGS[precision] & set(line.split()))
