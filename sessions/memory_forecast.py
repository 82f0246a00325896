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

from benchtui.sessions.case_state import CaseState
from benchtui.sessions.facts import Memory
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
        self._seen: dict[Config, dict[int, tuple[float, Quantity]]] = {}
        """By family: work of a step, and the highest peak met with it."""
        for case in cases:
            self.learn(case.config, _memory(case))

    def learn(self, config: Config, memory: Memory | None) -> None:
        """Take in the peaks of a case that ended well; where they weren't read it says nothing."""
        if found := peak(config, memory):
            family = self._seen.setdefault(_family(config), {})
            family[_work(config)] = max(found, family.get(_work(config), found))

    def predict(self, config: Config) -> Prediction | None:
        """The peak of a case, or None with fewer than two sizes of its family known."""
        seen = self._seen.get(_family(config), {})
        if len(seen) < 2:
            return None
        fixed_mb, slope_mb = _line({work: peak_mb for work, (peak_mb, _) in seen.items()})
        _, quantity = next(iter(seen.values()))
        return Prediction(fixed_mb + slope_mb * _work(config), quantity)


def peak(config: Config, memory: Memory | None) -> tuple[float, Quantity] | None:
    """What a case's framework took at most, in MB, and by which of its figures; None where none was read."""
    if memory is None:
        return None
    figures: dict[Quantity, float | None] = {
        "allocated": memory.peak_allocated_mb,
        "reserved": memory.peak_reserved_mb,
    }
    if config.device == "cpu":
        figures = {"RSS": memory.peak_rss_mb}
    return next(((mb, quantity) for quantity, mb in figures.items() if mb is not None), None)


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


def _memory(case: CaseState) -> Memory | None:
    """The peaks of a case that ended well, or of its last round that did."""
    if case.finished is not None:
        return case.finished.memory if case.state == "ok" else None
    return case.rounds[-1].memory if case.rounds else None
