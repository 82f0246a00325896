"""Devices: how a step is timed, memory is read and errors are told apart on each kind."""

from benchtui.engine.devices.base import Device, Lap, StepTime
from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.devices.cuda import Cuda


def open_device(name: str) -> Device:
    """The device of a case, ``cpu`` or ``cuda:N``; raises BenchtuiError where this machine hasn't got it."""
    return Cpu() if name == "cpu" else Cuda(name)


__all__ = ["Device", "Lap", "StepTime", "open_device"]
