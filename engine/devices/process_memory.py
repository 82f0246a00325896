"""Peak resident memory of this process."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Reset the peak to current resident memory, if the kernel supports it (Linux: proc(5), clear_refs)."""
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return  # the peak then covers the whole life of the process: an upper bound


def peak_mb() -> float:
    """Peak resident memory in units of 10**6 bytes: on Linux since the last reset, elsewhere since start."""
    try:
        lines = _STATUS.read_text("ascii", "replace").splitlines()
        peak_kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes on macOS, KiB elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return peak_kib * 1024 / 1e6
