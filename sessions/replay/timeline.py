"""Replay timeline: the session at any moment of its record.

Going back applies the events again from the checkpoint before the moment, up to 40 ms per megabyte of the file.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from copy import copy, deepcopy
from pathlib import Path
from typing import NamedTuple, Self

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Answered, CaseFinished, Explained, Resumed
from benchtui.sessions.journal.reader import AnyRecord, FilePosition, Tail
from benchtui.sessions.replay.markers import Markers
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import Shapes
from benchtui.sessions.state.session import Session

BATCH_BYTES = 1 << 16
CHECKPOINTS, CHECKPOINT_BYTES = 64, 1 << 19
"""Number of checkpoints in a large file, and least bytes between two of them."""
MOST_COPIED_STEPS = 50_000
"""Largest number of steps of running cases that a checkpoint copies."""


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
        self.ended: list[CaseState] = []
        """Ended cases in the order of their end; a new list once some of them have restarted."""
        self.checkpoints: list[Checkpoint] = []
        """States that cursors kept on their way, in order."""
        self._tail = Tail(path)
        self._read_all = False

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self._tail.size

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
            self.ended = [self.whole.cases[case.index] for case in self.ended]
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
        if self._is_shared(case):
            case = self.cases[index] = case.snapshot()
        return case

    def _is_shared(self, case: CaseState) -> bool:
        return case is self._whole.cases[case.index]

    @property
    def own_steps(self) -> int:
        """Number of steps that a snapshot copies."""
        return sum(len(case.warmup) + len(case.measured) for case in self.cases if not self._is_shared(case))

    def snapshot(self) -> Self:
        """Return a copy without readings that stays as it is when events are applied to this one."""
        copied = copy(self)
        copied.machine = self.machine.snapshot()
        copied.nodes = {name: node.snapshot() for name, node in self.nodes.items()}
        copied.peaks, copied.resumed, copied.messages = [*self.peaks], [*self.resumed], [*self.messages]
        copied.answer_baselines = set(self.answer_baselines)
        copied.cases = [case if self._is_shared(case) else case.snapshot() for case in self.cases]
        copied.running = [copied.cases[case.index] for case in self.running]
        copied._order = deepcopy(self._order)
        return copied


class Checkpoint(NamedTuple):
    """State of a cursor between two batches of events."""

    position: FilePosition
    """Where the next batch begins."""
    session: PartialSession
    ended: tuple[int, ...]
    """Numbers of the ended cases, in the order of their end."""
    readings: dict[str | None, Shapes]
    """Shapes of the readings so far, by node; None is the engine's machine."""


def _end(case: CaseState) -> tuple[object, ...]:
    """Return what may differ between equal ends of a case: late events, and the steps that a resume drops."""
    return case.finished, case.comparison, case.explained, len(case.warmup), len(case.measured)


class ReplayCursor:
    """Session at one moment of its timeline, movable to any other moment."""

    def __init__(self, timeline: Timeline) -> None:
        """Start before the first event."""
        self._timeline = timeline
        self._tail = Tail(timeline.path)
        self._read: deque[AnyRecord] = deque()
        """Events that were read and not applied yet."""
        self._restart()

    def _restart(self) -> None:
        self.session = PartialSession(self._timeline.whole)
        """Session at the current moment; a new object once it has gone back."""
        self.ended: list[CaseState] = []
        """Ended cases, in the order of their end."""
        self._tail.seek(FilePosition())
        self._read.clear()

    def seek(self, t: float) -> None:
        """Prepare a move to a moment: continue at the last checkpoint before it, unless this one is nearer."""
        past = [kept for kept in self._timeline.checkpoints if kept.session.now_s <= t]
        if past and not past[-1].session.now_s <= self.session.now_s <= t:
            self._restore(past[-1])
        elif t < self.session.now_s:
            self._restart()

    def _restore(self, checkpoint: Checkpoint) -> None:
        self._tail.seek(checkpoint.position)
        self._read.clear()
        self.session, whole = checkpoint.session.snapshot(), self._timeline.whole
        machine, nodes = self.session.machine, self.session.nodes
        self.session.machine = machine.with_readings(whole.machine, checkpoint.readings[None])
        for name, node in nodes.items():
            nodes[name] = node.with_readings(whole.nodes[name], checkpoint.readings[name])
        self.ended = [self.session.cases[index] for index in checkpoint.ended]

    def _keep_checkpoint(self) -> None:
        """Keep this state, which lies between two batches, unless the last checkpoint is near."""
        timeline, position = self._timeline, self._tail.position
        distance = max(CHECKPOINT_BYTES, timeline.size // CHECKPOINTS)
        last = timeline.checkpoints[-1].position.offset if timeline.checkpoints else 0
        if position.offset < last + distance or not timeline.complete:
            return
        if self.session.own_steps <= MOST_COPIED_STEPS:
            ended = tuple(case.index for case in self.ended)
            readings: dict[str | None, Shapes] = {None: self.session.machine.shapes}
            readings |= {name: node.shapes for name, node in self.session.nodes.items()}
            timeline.checkpoints.append(Checkpoint(position, self.session.snapshot(), ended, readings))

    def move(self, t: float) -> bool:
        """Apply one batch of the events up to a moment; return whether that was all of them.

        Raises:
            BenchtuiError: For a line that isn't an event.
        """
        if not self._read:
            self._keep_checkpoint()
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
