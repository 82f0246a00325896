"""Device registry: opens a device by its name."""

from benchtui.engine.devices.base import Device
from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.devices.cuda import Cuda


def open_device(name: str) -> Device:
    """Open ``cpu`` or ``cuda:N``. Raises BenchtuiError if this machine doesn't have it."""
    return Cpu() if name == "cpu" else Cuda(name)
