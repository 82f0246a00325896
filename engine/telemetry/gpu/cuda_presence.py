"""CUDA devices of this machine, found without importing torch."""

import importlib.util
import re
from pathlib import Path

import msgspec

from benchtui.engine.telemetry.gpu.nvml import has_cuda_driver
from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.engine.telemetry.gpu.visible_gpus import visible_devices_setting, visible_gpus
from benchtui.sessions.sweep import Config

_BUILD = re.compile(r"^(cuda|hip)\b[^=]*= *(None|'[^']*'|\"[^\"]*\")", re.MULTILINE)


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
    """Count the CUDA devices, based on torch's build and the NVIDIA driver. Takes a few milliseconds."""
    build = torch_build()
    if build is None or build.get("hip"):
        return CudaPresence()
    if not build.get("cuda"):
        return CudaPresence(0, "torch was built without CUDA")
    gpus = open_gpus()
    if isinstance(gpus, GpusUnavailable):
        return CudaPresence() if has_cuda_driver() else CudaPresence(0, gpus.reason)
    try:
        count = visible_gpus(gpus.gpus(), visible_devices_setting())
    finally:
        gpus.close()
    return CudaPresence(count, "CUDA_VISIBLE_DEVICES hides all GPUs")


def torch_build() -> dict[str, bool] | None:
    """Return whether torch was built for CUDA and for ROCm, according to its files; None if unknown."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text("utf-8")
    except (OSError, ValueError):
        return None
    found = {name: value != "None" for name, value in _BUILD.findall(text)}
    return found if "cuda" in found else None
