"""Which of the driver's GPUs the measured processes may use."""

import os
from collections.abc import Sequence

from benchtui.sessions.payloads import Gpu

VARIABLE = "CUDA_VISIBLE_DEVICES"


def setting_here() -> str | None:
    """What this process's environment says; None where it says nothing."""
    return os.environ.get(VARIABLE)


def visible_gpus(gpus: Sequence[Gpu], setting: str | None) -> int:
    """How many GPUs CUDA gives a process, by the value of ``CUDA_VISIBLE_DEVICES``; None where it isn't set.

    Its entries are numbers or beginnings of UUIDs, and count up to the first that names no GPU (CUDA C++
    Programming Guide, CUDA environment variables). A MIG device is taken to be there.
    """
    if setting is None:
        return len(gpus)
    entries = [entry.strip() for entry in setting.split(",")]
    known = [_names_one(entry, gpus) for entry in entries]
    return known.index(False) if False in known else len(known)


def _names_one(entry: str, gpus: Sequence[Gpu]) -> bool:
    if entry.isdecimal():
        return int(entry) < len(gpus)
    whole = [gpu.uuid for gpu in gpus if gpu.uuid and gpu.uuid.startswith(entry)]
    return entry.startswith("MIG-") or (entry.startswith("GPU-") and len(whole) == 1)
