"""The one place that names the vendors whose GPUs can be read, and torch's build for one of them."""

import importlib.util
import re
from pathlib import Path

from benchtui.engine.telemetry.gpu.nvml import open_nvml
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpusUnavailable

READERS = (open_nvml,)
"""Functions that connect to a vendor's driver. The first one that finds a GPU is used."""
UNREAD_ROCM = "torch was built for ROCm; power, clocks and temperature are read from NVIDIA GPUs only"
"""Reason on a machine whose torch uses AMD GPUs: the absence of NVIDIA's driver is no reason to install it."""
_BUILD = re.compile(r"^(cuda|hip)\b[^=]*= *(None|'[^']*'|\"[^\"]*\")", re.MULTILINE)


def open_gpus() -> GpuReader | GpusUnavailable:
    """Connect to the driver of this machine's GPUs, or return the reason why none can be read."""
    unavailable = []
    for open_reader in READERS:
        gpus = open_reader()
        if not isinstance(gpus, GpusUnavailable):
            return gpus
        unavailable.append(gpus)
    on_rocm = (torch_build() or {}).get("hip")
    reason = UNREAD_ROCM if on_rocm else "; ".join(dict.fromkeys(missing.reason for missing in unavailable))
    return GpusUnavailable(reason, has_driver=any(missing.has_driver for missing in unavailable))


def torch_build() -> dict[str, bool] | None:
    """Return whether torch was built for CUDA and for ROCm, according to its files; None if unknown."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text("utf-8")
    except (OSError, ValueError):
        return None
    versions = {name: value != "None" for name, value in _BUILD.findall(text)}
    return versions if "cuda" in versions else None
