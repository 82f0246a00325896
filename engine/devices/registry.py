"""The device of a case, by its name."""

from benchtui.engine.devices.base import Device
from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.devices.cuda import Cuda


def open_device(name: str) -> Device:
    """The device of a case, ``cpu`` or ``cuda:N``; raises BenchtuiError where this machine hasn't got it."""
    return Cpu() if name == "cpu" else Cuda(name)
