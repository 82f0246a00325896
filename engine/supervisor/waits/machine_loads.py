"""Machine loads: the newest readings of each machine, from the telemetry of its sampler."""

from collections import deque
from statistics import fmean

from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import GpuReadings

QUIET_S = 2.0
"""Seconds over which a machine has to be quiet. Neighbors often pause for less."""
_MOST_SAMPLES = 64

Reading = tuple[float, float]
"""Session time, and the value at that time."""


class MachineLoads:
    """Newest readings by machine. Filled by the samplers' threads and read by the engine's loop."""

    def __init__(self) -> None:
        self._others: dict[str | None, deque[Reading]] = {}
        self._gpus: dict[tuple[str | None, int, str], Reading] = {}

    def add(self, event: Telemetry) -> None:
        """Add the readings of an event."""
        others = self._others.setdefault(event.node, deque(maxlen=_MOST_SAMPLES))
        others.extend(_known(event.at_s, event.host.others_cpu_percent))
        for gpu in event.gpus:
            for name in ("utilization_percent", "temperature_c"):
                self._add_newest(event, gpu, name)

    def _add_newest(self, event: Telemetry, gpu: GpuReadings, name: str) -> None:
        if readings := _known(event.at_s, getattr(gpu, name)):
            self._gpus[event.node, gpu.index, name] = readings[-1]

    def others_percent(self, node: str | None, since_s: float) -> float | None:
        """Return the CPU use of others over the newest ``QUIET_S``; None until that has passed since a time."""
        readings = [reading for reading in list(self._others.get(node, ())) if reading[0] >= since_s]
        if not readings or readings[-1][0] - since_s < QUIET_S:
            return None
        return fmean(percent for at_s, percent in readings if at_s > readings[-1][0] - QUIET_S)

    def gpu_percent(self, node: str | None, index: int, since_s: float) -> float | None:
        """Return the newest utilization of a GPU; None if there is none later than ``QUIET_S`` after a time."""
        reading = self._gpus.get((node, index, "utilization_percent"))
        return reading[1] if reading and reading[0] >= since_s + QUIET_S else None

    def temperature_c(self, node: str | None, index: int) -> float | None:
        """Return the newest temperature of a GPU; None if it can't be read."""
        reading = self._gpus.get((node, index, "temperature_c"))
        return reading[1] if reading else None


def _known(at_s: list[float], column: list[float | None]) -> list[Reading]:
    return [(at, value) for at, value in zip(at_s, column, strict=False) if value is not None]
