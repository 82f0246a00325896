"""Power and energy of a GPU over the measured span of a case."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from benchtui.sessions.events import Energy, Telemetry

LEAST_COUNTER_S = 2.0
"""The driver's energy counter is trusted over at least this long: about 20 of its update periods."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at_s: float
    power_w: float | None
    energy_j: float | None


class PowerLog:
    """Keeps the readings of power since the case began."""

    def __init__(self) -> None:
        self._samples: dict[int, list[_Sample]] = defaultdict(list)

    def clear(self) -> None:
        """Forget everything; a new case begins."""
        self._samples = defaultdict(list)

    def add(self, event: Telemetry) -> None:
        """Take in an event; called from the sampler's thread."""
        for gpu in event.gpus:
            rows = zip(event.at_s, gpu.power_w, gpu.energy_j, strict=False)
            self._samples[gpu.index].extend(_Sample(*row) for row in rows)

    def over(self, index: int, begin_s: float, end_s: float) -> Energy:
        """Energy and mean power of a GPU between two moments of session time, or why there are none."""
        samples = [sample for sample in self._samples[index] if begin_s <= sample.at_s <= end_s]
        powers = [(sample.at_s, sample.power_w) for sample in samples if sample.power_w is not None]
        if len(powers) < 2:
            return Energy(absent=f"measured for {end_s - begin_s:.2f} s, too short for two readings of power")
        integral_j = sum((b - a) * (before + after) / 2 for (a, before), (b, after) in pairwise(powers))
        mean_power_w = integral_j / (powers[-1][0] - powers[0][0])
        return _counted(samples, end_s - begin_s, mean_power_w) or Energy(
            energy_j=mean_power_w * (end_s - begin_s), mean_power_w=mean_power_w, source="sampled power"
        )


def _counted(samples: list[_Sample], window_s: float, mean_power_w: float) -> Energy | None:
    """By the counter, stretched from its first and last reading within the span to the whole span."""
    counts = [(sample.at_s, sample.energy_j) for sample in samples if sample.energy_j is not None]
    if len(counts) < 2:
        return None
    (begin_s, first_j), (end_s, last_j) = counts[0], counts[-1]
    if end_s - begin_s < LEAST_COUNTER_S:
        return None
    energy_j = (last_j - first_j) * window_s / (end_s - begin_s)
    return Energy(energy_j=energy_j, mean_power_w=mean_power_w, source="counter")
