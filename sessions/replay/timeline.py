"""Replay timeline: the session at any moment of its record.

Going back applies the events again from the first one on.
"""

from array import array
from bisect import bisect_left, bisect_right
from copy import copy
from itertools import islice
from pathlib import Path
from zlib import compress, decompress

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Resumed, Steps, Telemetry
from benchtui.sessions.journal.reader import AnyRecord, Tail
from benchtui.sessions.replay.markers import Markers
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session

BATCH_BYTES = 1 << 16
BATCH_EVENTS = 100
"""Bytes read, and events applied, before the caller looks at the clock again."""
_encode, _decode = msgspec.json.encode, msgspec.json.Decoder(Steps | Telemetry).decode


class Timeline:
    """Session file that is read once: the whole session, its markers and its moments."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises BenchtuiError if it can't be read."""
        self.path = path
        self.whole = Session()
        """Session with everything read so far."""
        self.marks = Markers()
        self.moments = array("d")
        """Session times of all events, without duplicates, in order."""
        self.problem: str | None = None
        """Why the file can't be read any further."""
        self.events: list[AnyRecord | bytes] = []
        """Everything read so far, for cursors to apply again. Those with lists of numbers are compressed."""
        self._tail = Tail(path)
        self._read_all = False

    @property
    def end_s(self) -> float:
        """Session time of the newest event read so far."""
        return self.whole.now_s

    @property
    def complete(self) -> bool:
        """Whether everything written so far, or everything readable, has been read."""
        return self.problem is not None or (self._read_all and self._tail.at_end)

    def read(self) -> None:
        """Read the next batch of the file."""
        if self.problem is not None:
            return
        try:
            events = self._tail.read(BATCH_BYTES)
            self._read_all = not events  # a broken line raises only after the events before it were returned
            for event in events:
                self._apply(event)
                lists = (
                    isinstance(event.wall_ms, list)
                    if isinstance(event, Steps)
                    else isinstance(event, Telemetry)
                )
                self.events.append(compress(_encode(event)) if lists else event)
        except BenchtuiError as error:
            self.problem = str(error)

    def moment(self, t: float, steps: int) -> float:
        """Return the moment ``steps`` recorded moments after ``t``, or before it if negative; clamped."""
        place = bisect_right(self.moments, t) - 1 if steps > 0 else bisect_left(self.moments, t)
        return self.moments[min(max(place + steps, 0), len(self.moments) - 1)] if self.moments else t

    def close(self) -> None:
        """Close the file."""
        self._tail.close()

    def _apply(self, event: AnyRecord) -> None:
        self.whole.apply(event)
        self.marks.add(event, self.whole)
        if not self.moments or self.whole.now_s > self.moments[-1]:
            self.moments.append(self.whole.now_s)


class PartialSession(Session):
    """Session up to a moment. It shares the cases that already have their final state with the whole session.

    The metrics of an ended case are therefore computed once, however often a replay passes its end.
    """

    def __init__(self, whole: Session) -> None:
        super().__init__()
        self._whole = whole

    def apply(self, event: AnyRecord) -> None:
        """Apply one event."""
        super().apply(event)
        if isinstance(event, CaseFinished):
            own, other = self.cases[event.case], self._whole.cases[event.case]
            if _end(own) == _end(other):
                self.cases[event.case] = other

    def _case(self, index: int) -> CaseState:
        case = super()._case(index)
        if case is self._whole.cases[case.index]:
            case = self.cases[index] = case.snapshot()
        return case


def _end(case: CaseState) -> tuple[object, ...]:
    """Return what may differ between equal ends of a case: late events, and the steps that a resume drops."""
    return case.finished, case.comparison, case.explained, len(case.warmup), len(case.measured)


class ReplayCursor:
    """Session at one moment of its timeline, movable to any other moment."""

    def __init__(self, timeline: Timeline) -> None:
        """Start before the first event."""
        self._timeline = timeline
        self._restart()

    def _restart(self) -> None:
        self.session: Session = PartialSession(self._timeline.whole)
        """Session at the current moment; a new object once it has gone back."""
        self._applied = 0
        """Number of events applied."""

    def seek(self, t: float) -> None:
        """Prepare a move to a moment: start again if it lies before. Of the end, nothing has to be applied."""
        timeline = self._timeline
        if t < self.session.now_s:
            self._restart()
        far = len(timeline.events) - self._applied > BATCH_EVENTS
        if self.session is timeline.whole or (far and timeline.complete and t >= timeline.end_s):
            self.session, self._applied = timeline.whole, len(timeline.events)

    def move(self, t: float) -> bool:
        """Apply one batch of the events up to a moment; return whether that was all of them."""
        for kept in islice(self._timeline.events, self._applied, self._applied + BATCH_EVENTS):
            event = _decode(decompress(kept)) if isinstance(kept, bytes) else kept
            if max(event.t, self.session.now_s) > t:
                return True
            self._apply(event)
            self._applied += 1
        return self._applied == len(self._timeline.events)

    def _apply(self, event: AnyRecord) -> None:
        self.session.apply(event)
        if isinstance(event, Resumed):
            self.session = copy(self.session)
