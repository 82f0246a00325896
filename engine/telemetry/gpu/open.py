"""The one place that names the vendors whose GPUs can be read."""

from benchtui.engine.telemetry.gpu.nvml import open_nvml
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpusUnavailable
from benchtui.engine.telemetry.gpu.torch_build import torch_build

READERS = (open_nvml,)
"""Functions that connect to a vendor's driver. The first one that finds a GPU is used."""
UNREAD_ROCM = "torch was built for ROCm; power, clocks and temperature are read from NVIDIA GPUs only"
"""Reason on a machine whose torch uses AMD GPUs: the absence of NVIDIA's driver is no reason to install it."""


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
