"""A recorded session shown as if it ran: the same face as a session being read, with a clock of its own."""

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
from benchtui.tui.live.feed import PATIENCE_S, Clock, Feed
from benchtui.tui.replay.player import Player, ReplayTarget, Start, StepAcceleration

GRACE_S = 0.5
"""While it plays, what was passed less than this ago isn't yet the event before."""


class Replay(Feed):
    """A session as far as its replay has come, and the rest of it, for a reader to go to."""

    replayed = True

    def __init__(self, path: Path, engine: Engine | None, clock: Clock, start: Start | None = None) -> None:
        """Open the file, to be played from its beginning or another moment.

        Raises:
            BenchtuiError: where it can't be read.
        """
        super().__init__(path, engine, clock)
        self.timeline = Timeline(path)
        self.player = Player(clock, start.speed if start else 1.0)
        self._telling = ReplayCursor(self.timeline)
        self._stride = StepAcceleration(clock)
        self._aim = start.aim if start else None
        """Where to go as soon as the whole record is known."""
        self.refused = ""
        """Why it couldn't go where it was to go, for the screen to say once."""
        self.session = self._telling.session

    def poll(self) -> None:
        """Read on, for a moment at most, and fold what has been played since the last time."""
        began_s = self._clock()
        while not self.timeline.complete and self._clock() - began_s < PATIENCE_S:
            taken = len(self.timeline.ended)
            self.timeline.read()
            for case in self.timeline.ended[taken:]:
                self.cache.take_in(case)
        arrived = self.caught_up
        if self.timeline.complete:
            self.player.end_at(self.timeline.end_s)
            self._aim_late()
        self._follow(began_s)
        while arrived and self._clock() - began_s < PATIENCE_S and self.timeline.marks.examine():
            pass
        self.problem = self.timeline.problem if self.over else None
        if self.over:
            self.player.pause()

    @property
    def done(self) -> int:
        """How many cases had ended."""
        return len(self.ended)

    @property
    def running(self) -> bool:
        """Whether the sweep ran at this moment of its record."""
        return self.session.finished is None and not self.over

    @property
    def reading(self) -> bool:
        """Whether the record is still being read."""
        return not self.timeline.complete

    @property
    def over(self) -> bool:
        """Whether the replay has come to the end."""
        return self.player.ended and self.caught_up

    @property
    def cut_off(self) -> bool:
        """Whether the record ends here, without its last event."""
        return self.session.finished is None and self.over

    @property
    def now_s(self) -> float:
        """Session time of the replay."""
        return self.player.position_s

    @property
    def origins(self) -> tuple[str, ...]:
        """When and where it was recorded, in ever fewer words."""
        start = self.session.started
        if start is None:
            return ()
        what = "demo, recorded" if self.path == paths.demo_path() else "recorded"
        day, host = clean(start.created[:10]), clean(start.host.hostname or "")
        short = f"{what.split(',')[0]} {day}"
        return (f"{what} {day} on {host}", f"{what} {day}", short) if host else (f"{what} {day}", short)

    def remaining(self, needed: Callable[[CaseState], StepsLeft | None]) -> RemainingTime:
        """The time that was left, which the record tells."""
        return Hindsight(self, needed)

    @property
    def measuring(self) -> bool:
        """Never: drawing disturbs nobody."""
        return False

    def step(self, direction: int) -> None:
        """Stand still at the next or the last recorded moment, or further away while the key is held."""
        steps = self._stride.steps(direction)
        self.player.pause()
        self.player.seek(self.timeline.moment(self.now_s, steps))

    def jump(self, direction: int) -> TimelineEvent | None:
        """Go to the next or the last event; gives it, or None where there is none."""
        marks, grace_s = self.timeline.marks, GRACE_S * self.player.speed if self.player.playing else 0.0
        mark = marks.after(self.now_s) if direction > 0 else marks.before(self.now_s - grace_s)
        if mark is not None:
            self.player.seek(mark.t)
        return mark

    def go(self, aim: ReplayTarget) -> None:
        """Go to a moment, once all is read; raises BenchtuiError for one that isn't there."""
        self._aim = aim
        self._take_aim()

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._telling.close()
        self.timeline.close()

    def _aim_late(self) -> None:
        try:
            self._take_aim()
        except BenchtuiError as error:
            self.refused = str(error)

    def _take_aim(self) -> None:
        if self._aim is not None and self.timeline.complete:
            aim, self._aim = self._aim, None
            self.player.seek(aim.moment(self.timeline))

    def _follow(self, began_s: float) -> None:
        """Bring the session to where the player is, as far as there is time for it."""
        t = self.player.position_s
        known = self.timeline.complete or self.timeline.end_s > t
        self.caught_up = False
        try:
            self._telling.seek(t)
            while known and not self.caught_up:
                self.caught_up = self._telling.move(t)
                if self._clock() - began_s > 2 * PATIENCE_S:
                    break
        except BenchtuiError:  # which the line of time knows as well, and tells at its end
            self.caught_up = True
        self.session, self.ended = self._telling.session, self._telling.ended


class Hindsight(RemainingTime):
    """Times that were left, as the record tells them, once it is known to its end."""

    def __init__(self, replay: Replay, needed: Callable[[CaseState], StepsLeft | None]) -> None:
        super().__init__(replay.session, needed)
        self._replay = replay

    def case_left(self, case: CaseState, needed: StepsLeft | None, now_s: float) -> Estimate | None:
        """Time until a running case, or its round, ended."""
        timeline = self._replay.timeline
        if not timeline.complete:
            return None
        end = timeline.marks.end_of(case.index, now_s)
        return Estimate(max(0.0, end.t - now_s)) if end else None

    def sweep_left(self, now_s: float) -> Estimate | None:
        """Time until the record ends."""
        timeline = self._replay.timeline
        return Estimate(max(0.0, timeline.end_s - now_s)) if timeline.complete else None
