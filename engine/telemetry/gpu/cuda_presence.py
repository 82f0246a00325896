"""CUDA devices of this machine, found without importing torch."""

import msgspec

from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.engine.telemetry.gpu.torch_build import torch_build
from benchtui.engine.telemetry.gpu.visible_gpus import visible_devices_setting, visible_gpus
from benchtui.sessions.sweep import Config


class CudaPresence(msgspec.Struct, frozen=True):
    """Number of CUDA devices that cases can use here."""

    count: int | None = None
    """None if it can't be determined without torch."""
    reason: str = ""
    """Why there is none."""

    def missing_reason(self, config: Config) -> str:
        """Return why a case's device isn't on this machine; empty if it is, or if that is unknown."""
        index = config.device.partition("cuda:")[2]
        if self.count is None or not index.isdecimal() or int(index) < self.count:
            return ""
        if not self.count:
            return f"no CUDA here: {self.reason}"
        return f"no {config.device} here: {self.count} GPU{'s' * (self.count != 1)} visible"


def find_cuda() -> CudaPresence:
    """Count the CUDA devices, based on torch's build and the GPUs' driver. Takes a few milliseconds."""
    build = torch_build()
    if build is None or build.get("hip"):
        return CudaPresence()
    if not build.get("cuda"):
        return CudaPresence(0, "torch was built without CUDA")
    gpus = open_gpus()
    if isinstance(gpus, GpusUnavailable):
        return CudaPresence() if gpus.has_driver else CudaPresence(0, gpus.reason)
    try:
        count = visible_gpus(gpus.gpus(), visible_devices_setting())
    finally:
        gpus.close()
    return CudaPresence(count, "CUDA_VISIBLE_DEVICES hides all GPUs")
