"""Counter tracks: readings of a machine and its GPUs."""

from collections.abc import Sequence

from benchtui.sessions.events import Telemetry
from benchtui.sessions.export.trace.writer import TraceWriter, microseconds
from benchtui.sessions.payloads import GPU_ACTIVITY, HOST_ACTIVITY, GpuReadings, HostReadings

GPU_COUNTERS = (
    ("power_w", "power (W)"),
    ("graphics_clock_mhz", "SM clock (MHz)"),
    ("memory_clock_mhz", "memory clock (MHz)"),
    ("utilization_percent", "utilization (%)"),
    ("memory_used_mb", "memory used (MB)"),
    ("temperature_c", "temperature (°C)"),
    *((field, f"{label} ({unit})") for field, (label, unit) in GPU_ACTIVITY.items()),
)
HOST_COUNTERS = (
    ("cpu_percent", "CPU, all processes (%)"),
    ("worker_cpu_percent", "CPU, workers (%)"),
    ("engine_cpu_percent", "CPU, benchtui (%)"),
    ("memory_used_mb", "memory used (MB)"),
    ("worker_rss_mb", "memory, workers (MB)"),
    ("processor_mhz", "CPU clock (MHz)"),
    *((field, f"{label} ({unit})" if unit else label) for field, (label, unit) in HOST_ACTIVITY.items()),
)
ENERGIES = (("package_energy_j", "CPU power (W)"), ("dram_energy_j", "DRAM power (W)"))
"""Cumulative energies, shown as the mean power since the previous sample."""


class HostCounters:
    """Counters of one machine."""

    def __init__(self, writer: TraceWriter, process: int) -> None:
        self._writer = writer
        self._process = process
        self._before: dict[str, tuple[float, float]] = {}
        """Time and value of the newest sample of each cumulative energy."""

    def write(self, event: Telemetry) -> None:
        """Write the samples of an event."""
        write_counters(self._writer, self._process, event.at_s, event.host, HOST_COUNTERS)
        for field, name in ENERGIES:
            for at_s, energy_j in zip(event.at_s, getattr(event.host, field), strict=False):
                if energy_j is not None:
                    self._power(field, name, at_s, energy_j)

    def _power(self, field: str, name: str, at_s: float, energy_j: float) -> None:
        before_s, before_j = self._before.get(field, (at_s, energy_j))
        self._before[field] = at_s, energy_j
        if at_s > before_s and energy_j >= before_j:  # the counter restarts when a session is resumed
            power_w = round((energy_j - before_j) / (at_s - before_s), 2)
            self._writer.counter(self._process, microseconds(at_s), name, power_w)


def write_counters(
    writer: TraceWriter,
    process: int,
    at_s: Sequence[float],
    readings: GpuReadings | HostReadings,
    counters: Sequence[tuple[str, str]],
) -> None:
    """Write the columns of an event as counters of a process. A failed reading is left out."""
    for field, name in counters:
        for at, value in zip(at_s, getattr(readings, field), strict=False):
            if value is not None:
                writer.counter(process, microseconds(at), name, value)
