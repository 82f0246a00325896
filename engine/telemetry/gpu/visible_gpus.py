"""Visible GPUs: which of the driver's GPUs measured processes may use."""

import os
from collections.abc import Sequence

from benchtui.sessions.payloads import Gpu

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible_devices_setting() -> str | None:
    """Value of ``CUDA_VISIBLE_DEVICES`` in this process. None if unset."""
    return os.environ.get(VARIABLE)


def visible_gpus(gpus: Sequence[Gpu], setting: str | None) -> int:
    """Count the GPUs that a value of ``CUDA_VISIBLE_DEVICES`` makes visible; None means unset.

    Entries are indices or UUID prefixes. The first entry that matches no GPU and all later ones are ignored
    (CUDA C++ Programming Guide, CUDA environment variables). A MIG device is assumed to exist.
    """
    if setting is None:
        return len(gpus)
    entries = [entry.strip() for entry in setting.split(",")]
    matches = [_names_one(entry, gpus) for entry in entries]
    return matches.index(False) if False in matches else len(matches)


def _names_one(entry: str, gpus: Sequence[Gpu]) -> bool:
    if entry.isdecimal():
        return int(entry) < len(gpus)
    whole = [gpu.uuid for gpu in gpus if gpu.uuid and gpu.uuid.startswith(entry)]
    return entry.startswith("MIG-") or (entry.startswith("GPU-") and len(whole) == 1)
