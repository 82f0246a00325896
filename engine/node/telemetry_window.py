"""The telemetry of a case, kept while it runs, to be looked up over its measured span."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from benchtui.engine.telemetry.stopped_workers import Stops
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import GpuReadings

STOOD_STILL_S = 1.0
"""Shorter than this a worker isn't said to have stood still."""

T = TypeVar("T")
Points = list[tuple[float, T]]
"""Session time of each reading, with the reading."""


class Readings:
    """Keeps the samples since the oldest of the running cases began."""

    def __init__(self, hand_on: Callable[[], object] = lambda: None) -> None:
        """``hand_on`` has whoever samples hand on at once what there is."""
        self.catch_up = hand_on
        """Have what was sampled up to now taken in."""
        self._events: list[Telemetry] = []
        self._workers: list[tuple[float, int]] = [(0.0, 0)]
        """From when on so many workers have been at work."""
        self.lost: dict[int, str] = {}
        """By index, each GPU that the driver lost, and what it said."""
        self.stops = Stops(STOOD_STILL_S)

    def forget(self, before_s: float) -> None:
        """Drop what was read before this moment of session time."""
        old = sum(event.t < before_s for event in self._events)
        del self._events[:old]  # in place: the sampler's thread may be adding
        begun = [at_s for at_s, _ in self._workers if at_s <= before_s]
        self._workers = self._workers[max(len(begun) - 1, 0) :]

    def at_work(self, amount: int, now_s: float) -> None:
        """So many workers are at work from now on."""
        if amount != self._workers[-1][1]:
            self._workers.append((now_s, amount))

    def most_workers(self, begin_s: float, end_s: float) -> int:
        """Most workers at work together at some moment of a span of session time."""
        ends = [at_s for at_s, _ in self._workers[1:]] + [end_s]
        spans = zip(self._workers, ends, strict=True)
        return max(
            (amount for (at_s, amount), until_s in spans if at_s <= end_s and until_s >= begin_s), default=0
        )

    def add(self, event: Telemetry) -> None:
        """Take in an event; called from the sampler's thread."""
        self._events.append(event)
        self.lost |= {gpu.index: gpu.absent["gpu"] for gpu in event.gpus if "gpu" in gpu.absent}

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

    def stood_still_s(self, begin_s: float, end_s: float) -> float | None:
        """How long the engine was kept from running within a span of session time; None for not at all."""
        known = [(event.t, event.stood_still_s) for event in self._events if event.stood_still_s]
        return sum(for_s for until_s, for_s in known if until_s - for_s <= end_s and until_s >= begin_s) or None

    def worker_stopped_s(self, pid: int, begin_s: float, end_s: float) -> float | None:
        """How long a worker alone was stopped within a span of session time; None for less than a second."""
        stopped_s = self.stops.stopped_s(pid, begin_s, end_s)
        return round(stopped_s, 4) if stopped_s >= STOOD_STILL_S else None

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
