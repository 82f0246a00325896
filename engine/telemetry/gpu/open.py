"""The one place that names the vendors whose GPUs can be read."""

from benchtui.engine.telemetry.gpu.nvml import open_nvml
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpusUnavailable


def open_gpus() -> GpuReader | GpusUnavailable:
    """Connect to the driver of this machine's GPUs, or return the reason why none can be read."""
    return open_nvml()
