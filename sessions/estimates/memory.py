"""Memory forecast: the peak memory of a case, from the finished cases of its family.

The model is ``peak = fixed + slope * batch size * sequence length``, fitted by least squares to the cases that
differ only in these two options. ``fixed`` covers weights and libraries, the rest is activations. Attention
that keeps whole score matrices (``eager``) grows with the square of the sequence length, so the model is too
low when going from shorter cases to longer ones.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from benchtui.sessions.payloads import Memory
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config

Quantity = Literal["allocated", "reserved", "RSS"]
"""Memory that the peak refers to. On a GPU, memory in the framework's allocator: allocated by tensors, or
reserved if CUDA graphs are used. On a CPU, the worker's resident memory."""


class Prediction(msgspec.Struct, frozen=True):
    """Expected peak memory of a case."""

    peak_mb: float
    """In units of 10**6 bytes."""
    quantity: Quantity


class MemoryForecast:
    """Peak memory model learned from the finished cases."""

    def __init__(self, cases: Iterable[CaseState] = ()) -> None:
        self._seen: dict[Config, dict[int, float]] = {}
        """By family: the highest peak in MB for each work per step."""
        for case in cases:
            self.learn(case.config, _memory(case))

    def learn(self, config: Config, memory: Memory | None) -> None:
        """Add the peaks of a successful case. Ignored if they weren't read."""
        peak = peak_mb(config, memory)
        if peak is not None:
            family = self._seen.setdefault(config.without_sizes, {})
            family[config.size] = max(peak, family.get(config.size, 0.0))

    def predict(self, config: Config) -> Prediction | None:
        """Return the expected peak of a case; None if fewer than two sizes of its family are known."""
        seen = self._seen.get(config.without_sizes, {})
        if len(seen) < 2:
            return None
        fixed_mb, slope_mb = _line(seen)
        return Prediction(fixed_mb + slope_mb * config.size, _quantity(config))


def _line(points: dict[int, float]) -> tuple[float, float]:
    """Fit intercept and slope by least squares. The slope is never negative: a negative one is noise."""
    work, peak_mb = sum(points) / len(points), sum(points.values()) / len(points)
    spread = sum((size - work) ** 2 for size in points)
    slope = sum((size - work) * (mb - peak_mb) for size, mb in points.items()) / spread
    return peak_mb - max(slope, 0.0) * work, max(slope, 0.0)


def _quantity(config: Config) -> Quantity:
    if config.device == "cpu":
        return "RSS"
    return "reserved" if config.uses_cuda_graphs else "allocated"


def peak_mb(config: Config, memory: Memory | None) -> float | None:
    """Return the peak of a case in MB, of the quantity that is predicted; None if it wasn't read."""
    if memory is None:
        return None
    peaks_mb = {
        "allocated": memory.peak_allocated_mb,
        "reserved": memory.peak_reserved_mb,
        "RSS": memory.peak_rss_mb,
    }
    return peaks_mb[_quantity(config)]


def _memory(case: CaseState) -> Memory | None:
    if case.finished is not None:
        return case.finished.memory if case.state == "ok" else None
    return case.rounds[-1].memory if case.rounds else None
