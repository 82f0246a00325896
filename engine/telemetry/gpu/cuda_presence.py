"""CUDA devices of this machine, found without importing torch, and which of them measured processes may use."""

import os
from collections.abc import Sequence

import msgspec

from benchtui.engine.telemetry.gpu.open import open_gpus, torch_build
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.sessions.payloads import Gpu
from benchtui.sessions.sweep import Config

VARIABLE = "CUDA_VISIBLE_DEVICES"


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
