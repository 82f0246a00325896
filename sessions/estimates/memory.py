"""How much memory a case will need at its peak, by the finished cases of its family.

The model: ``peak = fixed + slope * batch size * sequence length``, fitted by least squares to the cases that
differ in these two options alone. ``fixed`` is what weights and libraries hold, the rest are activations.
Attention that keeps whole score matrices (``eager``) grows with the square of the sequence length: from shorter
cases to longer ones the model is then too low.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from benchtui.sessions.payloads import Memory
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config

Quantity = Literal["allocated", "reserved", "RSS"]
"""Peak of the framework's allocator on a GPU, by tensors or, with CUDA graphs, held by it; or of the worker's
resident memory on a processor."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Peak memory that a case is expected to need."""

    peak_mb: float
    """In units of 10**6 bytes."""
    quantity: Quantity


class MemoryForecast:
    """What finished cases say about the memory of others."""

    def __init__(self, cases: Iterable[CaseState] = ()) -> None:
        self._seen: dict[Config, dict[int, float]] = {}
        """By family: work of a step, and the highest peak in MB met with it."""
        for case in cases:
            self.learn(case.config, _memory(case))

    def learn(self, config: Config, memory: Memory | None) -> None:
        """Take in the peaks of a case that ended well; where they weren't read it says nothing."""
        peak_mb = _peak_mb(config, memory)
        if peak_mb is not None:
            family = self._seen.setdefault(_family(config), {})
            family[_work(config)] = max(peak_mb, family.get(_work(config), 0.0))

    def predict(self, config: Config) -> Prediction | None:
        """The peak of a case, or None with fewer than two sizes of its family known."""
        seen = self._seen.get(_family(config), {})
        if len(seen) < 2:
            return None
        fixed_mb, slope_mb = _line(seen)
        return Prediction(fixed_mb + slope_mb * _work(config), _quantity(config))


def _line(points: dict[int, float]) -> tuple[float, float]:
    """Intercept and slope by least squares; more work never takes less memory, whatever the noise says."""
    work, peak_mb = sum(points) / len(points), sum(points.values()) / len(points)
    spread = sum((each - work) ** 2 for each in points)
    slope = sum((each - work) * (mb - peak_mb) for each, mb in points.items()) / spread
    return peak_mb - max(slope, 0.0) * work, max(slope, 0.0)


def _family(config: Config) -> Config:
    return replace(config, batch_size=1, sequence_length=1, repeat=0)


def _work(config: Config) -> int:
    return config.batch_size * config.sequence_length


def _quantity(config: Config) -> Quantity:
    if config.device == "cpu":
        return "RSS"
    return "reserved" if config.uses_cuda_graphs else "allocated"


def _peak_mb(config: Config, memory: Memory | None) -> float | None:
    if memory is None:
        return None
    peaks_mb = {
        "allocated": memory.peak_allocated_mb,
        "reserved": memory.peak_reserved_mb,
        "RSS": memory.peak_rss_mb,
    }
    return peaks_mb[_quantity(config)]


def _memory(case: CaseState) -> Memory | None:
    """The peaks of a case that ended well, or of its last round that did."""
    if case.finished is not None:
        return case.finished.memory if case.state == "ok" else None
    return case.rounds[-1].memory if case.rounds else None
