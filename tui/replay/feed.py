"""Replay feed: plays a recorded session like a live one, on its own clock."""

from collections.abc import Callable
from pathlib import Path

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.eta import Estimate, StepsLeft
from benchtui.sessions.library import paths
from benchtui.sessions.replay.markers import TimelineEvent
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.sessions.state.case import CaseState
from benchtui.tui.drawing.format import clean
from benchtui.tui.live.eta import RemainingTime
from benchtui.tui.live.feed import READ_BUDGET_S, Clock, Feed
from benchtui.tui.replay.player import Player, ReplayTarget, Start, StepAcceleration

SEEK_BUDGET_S = 0.1
"""Seconds for which a seek may keep keys waiting. Nothing is measured meanwhile."""
GRACE_S = 0.5
"""While playing, events passed less than this many seconds ago don't count as previous."""


class Replay(Feed):
    """A session up to the replay position, and the whole recording to seek in."""

    replayed = True

    def __init__(self, path: Path, engine: Engine | None, clock: Clock, start: Start | None = None) -> None:
        """Open the file, to be played from its beginning or from ``start``.

        Raises:
            BenchtuiError: the file can't be read.
        """
        super().__init__(path, engine, clock)
        self.timeline = Timeline(path)
        self.player = Player(clock, start.speed if start else 1.0)
        self._cursor = ReplayCursor(self.timeline)
        self._acceleration = StepAcceleration(clock)
        self._target = start.target if start else None
        """Where to seek once the whole recording has been read."""
        self.seek_error = ""
        """Why a seek failed; the screen shows it once."""
        self.session = self._cursor.session

    def poll(self) -> None:
        """Read on within a time budget, and apply the events played since."""
        began_s = self._clock()
        while not self.timeline.complete and self._clock() - began_s < READ_BUDGET_S:
            taken = self.timeline.whole.done
            self.timeline.read()
            for case in self.timeline.whole.ended[taken:]:
                self.cache.add_ended(case)
        arrived = self.caught_up
        if self.timeline.complete:
            self.player.end_s = self.timeline.end_s
            try:
                self._seek_target()
            except BenchtuiError as error:
                self.seek_error = str(error)
        self._advance(began_s)
        while arrived and self._clock() - began_s < READ_BUDGET_S and self.timeline.marks.find_outliers():
            pass
        self.problem = self.timeline.problem if self.over else None
        if self.over:
            self.player.pause()

    @property
    def running(self) -> bool:
        """Whether the sweep was running at this moment of the recording."""
        return self.session.finished is None and not self.over

    @property
    def reading(self) -> bool:
        """Whether the recording is still being read."""
        return not self.timeline.complete

    @property
    def over(self) -> bool:
        """Whether the replay has reached the end."""
        return self.player.ended and self.caught_up

    @property
    def cut_off(self) -> bool:
        """Whether the recording ends here, without its final event."""
        return self.session.finished is None and self.over

    @property
    def now_s(self) -> float:
        """Session time of the replay, in seconds."""
        return self.player.position_s

    @property
    def origins(self) -> tuple[str, ...]:
        """Time and machine of the recording, longest wording first."""
        start = self.session.started
        if start is None:
            return ()
        how = "recorded" if start.simulated is None else "simulated"
        what = f"demo, {how}" if self.path in paths.demo_paths() else how
        day, host = clean(start.created[:10]), clean(start.host.hostname or "")
        short = f"{what.split(',')[0] if start.simulated is None else how} {day}"
        return (f"{what} {day} on {host}", f"{what} {day}", short) if host else (f"{what} {day}", short)

    def remaining(self, needed: Callable[[CaseState], StepsLeft | None]) -> RemainingTime:
        """Return the actual time left, taken from the recording."""
        return RecordedRemainingTime(self, needed)

    @property
    def measuring(self) -> bool:
        """Always False: drawing can't disturb a measurement."""
        return False

    def step(self, direction: int) -> None:
        """Pause at the next or previous recorded moment. While the key is held, go further."""
        steps = self._acceleration.steps(direction)
        self.player.pause()
        self.player.seek(self.timeline.moment(self.now_s, steps))

    def jump(self, direction: int) -> TimelineEvent | None:
        """Seek to the next or previous event. Return it, or None if there is none."""
        marks, grace_s = self.timeline.marks, GRACE_S * self.player.speed if self.player.playing else 0.0
        mark = marks.after(self.now_s) if direction > 0 else marks.before(self.now_s - grace_s)
        if mark is not None:
            self.player.seek(mark.t)
        return mark

    def seek_to(self, target: ReplayTarget) -> None:
        """Seek to a target once the recording is read. Raises BenchtuiError if it doesn't exist."""
        self._target = target
        self._seek_target()

    def close(self) -> None:
        """Close the file."""
        super().close()
        self.timeline.close()

    def _seek_target(self) -> None:
        if self._target is not None and self.timeline.complete:
            target, self._target = self._target, None
            self.player.seek(target.moment(self.timeline))

    def _advance(self, began_s: float) -> None:
        """Advance the session to the player's position, within a time budget."""
        t = self.player.position_s
        recorded = self.timeline.complete or self.timeline.end_s > t
        self.caught_up = False
        self._cursor.seek(t)
        while recorded and not self.caught_up:
            self.caught_up = self._cursor.move(t)
            if self._clock() - began_s > SEEK_BUDGET_S:
                break
        self.session = self._cursor.session


class RecordedRemainingTime(RemainingTime):
    """Actual time left, known once the whole recording has been read."""

    def __init__(self, replay: Replay, needed: Callable[[CaseState], StepsLeft | None]) -> None:
        super().__init__(replay.session, needed)
        self._replay = replay

    def case_left(self, case: CaseState, needed: StepsLeft | None, now_s: float) -> Estimate | None:
        """Return the time until a running case, or its round, ended."""
        timeline = self._replay.timeline
        if not timeline.complete:
            return None
        end = timeline.marks.end_of(case.index, now_s)
        return Estimate(max(0.0, end.t - now_s)) if end else None

    def sweep_left(self, now_s: float) -> Estimate | None:
        """Return the time until the recording ends."""
        timeline = self._replay.timeline
        return Estimate(max(0.0, timeline.end_s - now_s)) if timeline.complete else None
