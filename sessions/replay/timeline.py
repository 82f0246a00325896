"""A session file on a line of time: the session as it was at any moment, without folding all that came before.

Reading the file once leaves a checkpoint about every half megabyte; going to a moment restores the one before
it and folds on from there.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from copy import copy
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Resumed
from benchtui.sessions.journal.reader import FilePosition, Read, Tail
from benchtui.sessions.replay.checkpoints import CaseCut, Checkpoint, RecordedSession, RestoredSession
from benchtui.sessions.replay.markers import Marks
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session

BATCH_BYTES = 1 << 16
CHECKPOINT_BYTES = 1 << 19
"""Folding on from a checkpoint by this much takes about 10 ms."""
CASE_BYTES = 8
"""With very many cases checkpoints are further apart, by this much a case: each takes time to restore."""


class Timeline:
    """Reads a session file once, and gives the session as it was at any moment read so far."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises BenchtuiError where it can't be read."""
        self.path = path
        self.whole = RecordedSession()
        """The session with all that has been read."""
        self.marks = Marks()
        self.moments = array("d")
        """Session times at which something was recorded, each once, in order."""
        self.problem: str | None = None
        """Why the file can't be read any further."""
        self.ended: list[CaseState] = []
        """The cases that have ended, in that order; another list once some of them have begun again."""
        self._tail = Tail(path)
        self._read_all = False
        self._checkpoints = [Checkpoint.of(self.whole, FilePosition(), self.ended)]
        self._cuts: dict[int, list[tuple[int, CaseCut]]] = {}
        """Each case as it was at the checkpoints before which it had changed, with their numbers."""
        self._begun: dict[int, None] = {}
        """Numbers of the cases that had begun and not ended at the last checkpoint."""

    @property
    def end_s(self) -> float:
        """Session time of the newest event read so far."""
        return self.whole.now_s

    @property
    def complete(self) -> bool:
        """Whether all that has been written so far, or can be read, has been read."""
        return self.problem is not None or (self._read_all and self._tail.at_end)

    def read(self) -> None:
        """Read a piece more of the file."""
        if self.problem is not None:
            return
        try:
            events = self._tail.read(BATCH_BYTES)
            self._read_all = not events  # a broken line is told only after the events before it
            for event in events:
                self._take(event)
        except BenchtuiError as error:
            self.problem = str(error)
        apart = max(CHECKPOINT_BYTES, CASE_BYTES * len(self.whole.cases))
        if self._tail.position.offset - self._checkpoints[-1].position.offset >= apart:
            self._keep()

    def nearest(self, t: float) -> int:
        """Number of the newest checkpoint that holds nothing from after a moment."""
        return max(bisect_right(self._checkpoints, t, key=_now_s) - 1, 0)

    def position(self, number: int) -> FilePosition:
        """Where the file goes on after a checkpoint."""
        return self._checkpoints[number].position

    def restore(self, number: int) -> tuple[RestoredSession, list[CaseState]]:
        """The session as it was at a checkpoint, and the cases that had ended by then, in that order."""
        checkpoint = self._checkpoints[number]
        cuts = [self._cut(index, number) for index in checkpoint.open]
        return checkpoint.restore(self.whole, cuts), checkpoint.ended.cases

    def moment(self, t: float, steps: int) -> float:
        """The recorded moment that many after another, or before it; at most the last one, or the first."""
        place = bisect_right(self.moments, t) - 1 if steps > 0 else bisect_left(self.moments, t)
        return self.moments[min(max(place + steps, 0), len(self.moments) - 1)] if self.moments else t

    def close(self) -> None:
        """Close the file."""
        self._tail.close()

    def _take(self, event: Read) -> None:
        self.whole.apply(event)
        self.marks.see(event, self.whole)
        if isinstance(event, CaseFinished):
            self.ended.append(self.whole.cases[event.case])
        elif isinstance(event, Resumed):
            self.ended = still_ended(self.ended, event)
        if not self.moments or self.whole.now_s > self.moments[-1]:
            self.moments.append(self.whole.now_s)

    def _keep(self) -> None:
        number = len(self._checkpoints)
        for index in self.whole.touched:
            case = self.whole.cases[index]
            if case.finished or case == self.whole.untouched[index]:
                self._begun.pop(index, None)
            else:
                self._begun[index] = None
                self._cuts.setdefault(index, []).append((number, CaseCut.of(case)))
        self.whole.touched.clear()
        self._checkpoints.append(Checkpoint.of(self.whole, self._tail.position, self.ended, self._begun))

    def _cut(self, index: int, number: int) -> CaseCut:
        cuts = self._cuts[index]
        return cuts[bisect_right(cuts, number, key=_number) - 1][1]


class ReplayCursor:
    """A session as it was at a moment of its timeline, which can be moved to any other."""

    def __init__(self, timeline: Timeline) -> None:
        """Begin before the first event."""
        self.session: Session = RestoredSession(timeline.whole)
        """Another object whenever it had to be made anew."""
        self.ended: list[CaseState] = []
        """The cases that have ended, in that order."""
        self._timeline = timeline
        self._tail = Tail(timeline.path)
        self._read: deque[Read] = deque()
        """Events that have been read and not yet folded."""

    def seek(self, t: float) -> None:
        """Set out for a moment: step back, or leap ahead, to a checkpoint where that is shorter."""
        number = self._timeline.nearest(t)
        ahead = self._timeline.position(number).offset - self._tail.position.offset
        if t < self.session.now_s or ahead > CHECKPOINT_BYTES:
            self.session, self.ended = self._timeline.restore(number)
            self._tail.go(self._timeline.position(number))
            self._read.clear()

    def move(self, t: float) -> bool:
        """Fold a piece of what was recorded up to a moment; gives whether that was all of it.

        Raises:
            BenchtuiError: for a line that is no event.
        """
        if not self._read:
            self._read.extend(self._tail.read(BATCH_BYTES))
        while self._read:
            event = self._read[0]
            if max(event.t, self.session.now_s) > t:
                return True
            self._fold(self._read.popleft())
        return self._tail.at_end

    def close(self) -> None:
        """Close the file."""
        self._tail.close()

    def _fold(self, event: Read) -> None:
        self.session.apply(event)
        if isinstance(event, CaseFinished):
            self.ended.append(self.session.cases[event.case])
        elif isinstance(event, Resumed):
            self.session, self.ended = copy(self.session), still_ended(self.ended, event)


def still_ended(ended: list[CaseState], event: Resumed) -> list[CaseState]:
    """Those of the cases that don't begin again."""
    again = frozenset(event.cases)
    return [case for case in ended if case.index not in again]


def _now_s(checkpoint: Checkpoint) -> float:
    return checkpoint.now_s


def _number(cut: tuple[int, CaseCut]) -> int:
    return cut[0]
