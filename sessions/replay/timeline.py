"""Replay timeline: the session at any moment, without applying all events before it.

The file is read once, with a checkpoint about every half megabyte. Seeking restores the checkpoint before the
moment and applies the events after it.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from copy import copy
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Answered, CaseFinished, Explained, Resumed
from benchtui.sessions.journal.reader import AnyRecord, FilePosition, Tail
from benchtui.sessions.replay.checkpoints import Checkpoint, RecordedSession, RestoredSession
from benchtui.sessions.replay.markers import Markers
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session

BATCH_BYTES = 1 << 16
CHECKPOINT_BYTES = 1 << 19
"""Bytes between checkpoints; applying that many takes about 10 ms."""


class Timeline:
    """Session file that is read once and can be restored to any moment read so far."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises BenchtuiError if it can't be read."""
        self.path = path
        self.whole = RecordedSession()
        """Session with everything read so far."""
        self.marks = Markers()
        self.moments = array("d")
        """Session times of all events, without duplicates, in order."""
        self.problem: str | None = None
        """Why the file can't be read any further."""
        self.ended: list[CaseState] = []
        """Ended cases in the order of their end; a new list once some of them have restarted."""
        self._tail = Tail(path)
        self._read_all = False
        self._checkpoints = [Checkpoint.of(self.whole, FilePosition(), self.ended)]

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
        except BenchtuiError as error:
            self.problem = str(error)
        if self._tail.position.offset - self._checkpoints[-1].position.offset >= CHECKPOINT_BYTES:
            self._checkpoints.append(Checkpoint.of(self.whole, self._tail.position, self.ended))

    def nearest(self, t: float) -> int:
        """Return the number of the newest checkpoint that includes nothing after a moment."""
        return max(bisect_right(self._checkpoints, t, key=_now_s) - 1, 0)

    def position(self, number: int) -> FilePosition:
        """Return the file position of a checkpoint."""
        return self._checkpoints[number].position

    def restore(self, number: int) -> tuple[RestoredSession, list[CaseState]]:
        """Return the session at a checkpoint, and the cases ended by then in the order of their end."""
        checkpoint = self._checkpoints[number]
        session = checkpoint.restore(self.whole)
        return session, [session.cases[index] for index in checkpoint.ended]

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
        if isinstance(event, CaseFinished):
            self.ended.append(self.whole.cases[event.case])
        elif isinstance(event, Resumed):
            self.ended = still_ended(self.ended, event)
        elif changes_ended(event, self.whole):
            self.ended = [
                self.whole.cases[case.index] for case in self.ended
            ]  # earlier checkpoints keep theirs
        if not self.moments or self.whole.now_s > self.moments[-1]:
            self.moments.append(self.whole.now_s)


class ReplayCursor:
    """Session at one moment of its timeline, movable to any other moment."""

    def __init__(self, timeline: Timeline) -> None:
        """Start before the first event."""
        self.session: Session = RestoredSession(timeline.whole)
        """Session at the current moment; a new object whenever it had to be restored."""
        self.ended: list[CaseState] = []
        """Ended cases, in the order of their end."""
        self._timeline = timeline
        self._tail = Tail(timeline.path)
        self._read: deque[AnyRecord] = deque()
        """Events that were read and not applied yet."""

    def seek(self, t: float) -> None:
        """Prepare a move to a moment: restore a checkpoint to go back, or if that is faster."""
        number = self._timeline.nearest(t)
        ahead = self._timeline.position(number).offset - self._tail.position.offset
        if t < self.session.now_s or ahead > CHECKPOINT_BYTES:
            self.session, self.ended = self._timeline.restore(number)
            self._tail.seek(self._timeline.position(number))
            self._read.clear()

    def move(self, t: float) -> bool:
        """Apply one batch of the events up to a moment; return whether that was all of them.

        Raises:
            BenchtuiError: For a line that isn't an event.
        """
        if not self._read:
            self._read.extend(self._tail.read(BATCH_BYTES))
        while self._read:
            event = self._read[0]
            if max(event.t, self.session.now_s) > t:
                return True
            self._apply(self._read.popleft())
        return self._tail.at_end

    def close(self) -> None:
        """Close the file."""
        self._tail.close()

    def _apply(self, event: AnyRecord) -> None:
        self.session.apply(event)
        if isinstance(event, CaseFinished):
            self.ended.append(self.session.cases[event.case])
        elif isinstance(event, Resumed):
            self.session, self.ended = copy(self.session), still_ended(self.ended, event)
        elif changes_ended(event, self.session):
            self.ended = [self.session.cases[case.index] for case in self.ended]


def changes_ended(event: AnyRecord, session: Session) -> bool:
    """Return whether an event has changed ended cases: it compares their answers, or explains one."""
    if isinstance(event, Explained):
        return session.cases[event.case].finished is not None
    return isinstance(event, Answered) and any(
        session.cases[comparison.case].finished for comparison in event.comparisons
    )


def still_ended(ended: list[CaseState], event: Resumed) -> list[CaseState]:
    """Return the cases that don't restart."""
    restarting = frozenset(event.cases)
    return [case for case in ended if case.index not in restarting]


def _now_s(checkpoint: Checkpoint) -> float:
    return checkpoint.now_s
