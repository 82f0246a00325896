"""The telemetry of a case, kept while it runs, to be looked up over its measured span."""

from collections.abc import Sequence
from typing import TypeVar

from benchtui.sessions.events import GpuReadings, Telemetry

T = TypeVar("T")
Points = list[tuple[float, T]]
"""Session time of each reading, with the reading."""


class Readings:
    """Keeps the samples since the case began."""

    def __init__(self) -> None:
        self._events: list[Telemetry] = []

    def clear(self) -> None:
        """Forget everything; a new case begins."""
        self._events = []

    def add(self, event: Telemetry) -> None:
        """Take in an event; called from the sampler's thread."""
        self._events.append(event)

    def host(self, name: str, begin_s: float, end_s: float) -> Points[float]:
        """A column of the machine's readings between two moments of session time."""
        found: Points[float] = []
        for event in self._events:
            found += _within(event.at_s, getattr(event.host, name), begin_s, end_s)
        return found

    def gpu(self, index: int, name: str, begin_s: float, end_s: float) -> Points[float]:
        """A column of numbers of a GPU between two moments of session time."""
        found: Points[float] = []
        for event, gpu in self._of(index):
            found += _within(event.at_s, getattr(gpu, name), begin_s, end_s)
        return found

    def throttle(self, index: int, begin_s: float, end_s: float) -> tuple[str, ...]:
        """Every reason that held a GPU's clock down between two moments of session time."""
        points: Points[str] = []
        for event, gpu in self._of(index):
            points += _within(event.at_s, gpu.throttle, begin_s, end_s)
        return tuple(dict.fromkeys(name for _, reasons in points for name in reasons.split("+") if name))

    def power_limit_w(self, index: int) -> float | None:
        """The newest limit of a GPU's power."""
        return next((gpu.power_limit_w for _, gpu in reversed(self._of(index))), None)

    def _of(self, index: int) -> list[tuple[Telemetry, GpuReadings]]:
        return [(event, gpu) for event in list(self._events) for gpu in event.gpus if gpu.index == index]


def _within(at_s: Sequence[float], column: Sequence[T | None], begin_s: float, end_s: float) -> Points[T]:
    pairs = zip(at_s, column, strict=False)
    return [(at, value) for at, value in pairs if value is not None and begin_s <= at <= end_s]
