"""Energy: energy and mean power of a device while a case is measured, and idle power."""

from collections.abc import Iterable
from itertools import pairwise

from benchtui.engine.node.telemetry_window import Points, TelemetryWindow
from benchtui.sessions.payloads import Energy, EnergySource, Gpu

MIN_COUNTER_SPAN_S = 2.0
"""Shortest span for the GPU's energy counter: about 20 of its update periods."""
MIN_AVERAGED_SPAN_S = 5.0
"""Shortest span for power that the driver averages over a second: the average includes earlier values."""
MIN_RAPL_SPAN_S = 0.5
"""Shortest span for RAPL counters. They update every millisecond; the span allows for the timing of reads."""


def gpu_energy(readings: TelemetryWindow, index: int, begin_s: float, end_s: float) -> Energy:
    """Compute a GPU's energy and mean power over a span of session time.

    ``absent`` has the reason if they can't be computed.
    """
    counted_w = _rate(readings.gpu(index, "energy_j", begin_s, end_s), MIN_COUNTER_SPAN_S)
    powers, averaged = readings.gpu(index, "power_w", begin_s, end_s), readings.power_averaged(index)
    too_short = averaged and end_s - begin_s < MIN_AVERAGED_SPAN_S
    sampled_w = None if too_short or len(powers) < 2 else _mean(powers)
    power_w = sampled_w if counted_w is None else counted_w
    if power_w is None:
        return Energy(absent=_no_power(readings, index, powers))
    sampled: EnergySource = "averaged power" if averaged else "sampled power"
    return Energy(
        energy_j=power_w * (end_s - begin_s),
        mean_power_w=power_w if averaged or sampled_w is None else sampled_w,
        source=sampled if counted_w is None else "counter",
    )


def _no_power(readings: TelemetryWindow, index: int, powers: Points[float]) -> str:
    """Return why no energy can be computed from a GPU's readings."""
    if not powers and (reason := readings.gpu_absent(index, "power_w")):
        return reason
    if len(powers) > 1:
        return (
            f"this GPU reports averaged power only, which requires a measured span of {MIN_AVERAGED_SPAN_S:g} s"
        )
    return "measured span too short for two power readings"


def processor_energy(readings: TelemetryWindow, begin_s: float, end_s: float) -> Energy:
    """Compute energy and mean power of all processor packages, over all processes.

    ``absent`` has the reason if they can't be computed.
    """
    power_w = _rate(readings.host("package_energy_j", begin_s, end_s), MIN_RAPL_SPAN_S)
    if power_w is None:
        return Energy(absent="measured span too short for the processor's energy counter")
    dram_w = _rate(readings.host("dram_energy_j", begin_s, end_s), MIN_RAPL_SPAN_S)
    span_s = end_s - begin_s
    return Energy(
        energy_j=power_w * span_s,
        mean_power_w=power_w,
        source="counter",
        dram_j=None if dram_w is None else dram_w * span_s,
    )


def idle_power_w(
    readings: TelemetryWindow, gpus: Iterable[Gpu], begin_s: float, end_s: float
) -> dict[str, float]:
    """Mean power in watts by device over a span of session time. Devices without readings are left out."""
    power_w = {}
    for gpu in gpus:
        powers = [power for _, power in readings.gpu(gpu.index, "power_w", begin_s, end_s)]
        if powers:
            power_w[f"gpu {gpu.index}"] = round(sum(powers) / len(powers), 2)
    processor_w = _rate(readings.host("package_energy_j", begin_s, end_s), MIN_RAPL_SPAN_S)
    return power_w if processor_w is None else power_w | {"processor": round(processor_w, 2)}


def _mean(powers: Points[float]) -> float:
    """Time-weighted mean of two or more power readings."""
    integral_j = sum((b - a) * (before + after) / 2 for (a, before), (b, after) in pairwise(powers))
    return integral_j / (powers[-1][0] - powers[0][0])


def _rate(counts: Points[float], least_s: float) -> float | None:
    """Mean power between an energy counter's first and last reading. None if they are too close in time."""
    if len(counts) < 2 or counts[-1][0] - counts[0][0] < least_s:
        return None
    (begin_s, first_j), (end_s, last_j) = counts[0], counts[-1]
    return (last_j - first_j) / (end_s - begin_s)
