"""Has the peaks measured that a session's cases are held against, each once, before the first that needs it."""

from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import ForkServerContext
from time import monotonic

from msgspec.structs import replace

from benchtui.engine.executors.local import LocalPeaks
from benchtui.sessions.events import Message, Peaks
from benchtui.sessions.limits import PeakKey, peak_key
from benchtui.sessions.sweep import Config

LONGEST_S = 60.0
"""Much more than measuring takes; a driver that is asked for the first time may take its time."""

Wait = Callable[[Iterable[int], float], None]
"""Blocks until a file descriptor is readable or so many seconds are over."""


class PeakMeasuring:
    """Knows which peaks a session has."""

    def __init__(self, context: ForkServerContext, wanted: bool) -> None:
        self._context = context
        self._wanted = wanted
        self._known: set[PeakKey] = set()

    def before(
        self, config: Config, wait: Wait, stopping: Callable[[], bool], now_s: Callable[[], float]
    ) -> Iterator[Peaks | Message]:
        """What to record before a case with these options: its peaks, where no case before had the same."""
        key = peak_key(config)
        if not self._wanted or key is None or key in self._known or stopping():
            return
        self._known.add(key)
        asked = LocalPeaks(self._context, key)
        until_s = monotonic() + LONGEST_S
        while not asked.ended and not stopping() and (left_s := until_s - monotonic()) > 0:
            wait([asked.source], left_s)
        answer = asked.result()
        if not stopping():
            yield from _told(answer, key, now_s())


def _told(answer: Peaks | str, key: PeakKey, now_s: float) -> Iterator[Peaks | Message]:
    """The event, and a message for each peak that it lacks."""
    if isinstance(answer, str):
        answer = Peaks(t=now_s, **key._asdict(), absent=dict.fromkeys(("flops", "bytes"), answer))
    yield replace(answer, t=now_s)
    for reason in dict.fromkeys(answer.absent.values()):
        text = f"peak of {key.device} {key.precision} not measured: {reason}"
        yield Message(t=now_s, level="warning", text=text)
