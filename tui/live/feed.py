"""Where the screen's knowledge comes from: a session file read on as it grows, and word of its engine."""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.eta import StepsLeft
from benchtui.sessions.events import CaseFinished, Resumed
from benchtui.sessions.journal.reader import Read, Tail
from benchtui.sessions.replay.timeline import still_ended
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import LEFT_TO_THE_SWEEP
from benchtui.sessions.state.session import Session
from benchtui.tui.live.eta import RemainingTime
from benchtui.tui.live.step_cache import LoadedCase, StepCache

BATCH_BYTES = 1 << 16
PATIENCE_S = 0.02
"""Reading on for longer than this would keep keys waiting."""
LOOK_S = 1.0
"""How often to look whether the engine still lives."""

Clock = Callable[[], float]
Find = Callable[[Path], Engine | None]
"""Looks for the engine that writes a session file."""


class Feed:
    """A session as far as its file tells, and whether its engine is still there to tell more."""

    replayed = False
    """Whether the session is played again, by a clock of its own."""

    def __init__(self, path: Path, engine: Engine | None, clock: Clock, find: Find = lambda path: None) -> None:
        """Open the file; raises BenchtuiError where it can't be read."""
        self.path = path
        self.engine = engine
        self.session = Session()
        self.problem: str | None = None
        """Why the file can't be read any further."""
        self.ended: list[CaseState] = []
        """The cases that have ended, in whatever way, in that order."""
        self.caught_up = False
        """Whether all that has been written so far has been read."""
        self.cache = StepCache(path, lets_go=not self.replayed)
        """Which steps are held, of cases that have ended."""
        self.judging = LEFT_TO_THE_SWEEP
        """By what the reader wants cases judged."""
        self.last_words: str | None = None
        """Why the engine gave up, where it did and said so."""
        self._clock = clock
        self._find = find
        self._orphaned = False
        """Whether the session was resumed by an engine that isn't known yet."""
        self._tail = Tail(path)
        self._read_bytes = 0
        self._engine_lives = engine is not None
        self._looked_s = clock()
        self._newest = (clock(), 0.0)

    def poll(self) -> None:
        """Read on, for a moment at most, and look after the engine now and then."""
        began_s = self._clock()
        if began_s - self._looked_s >= LOOK_S:
            self._looked_s = began_s
            self._look_after(self.engine)
        try:
            self._read(began_s)
        except BenchtuiError as error:
            self.problem = str(error)
        with suppress(BenchtuiError):  # without the runtime folder there is no engine to be found
            self._look_for_engine()

    @property
    def done(self) -> int:
        """How many cases have ended."""
        return len(self.ended)

    @property
    def running(self) -> bool:
        """Whether an engine is at work on the session."""
        return self._engine_lives and self.session.finished is None

    @property
    def reading(self) -> bool:
        """Whether what has been written so far is still being read."""
        return not self.caught_up and self.problem is None

    @property
    def cut_off(self) -> bool:
        """Whether the record ends without its last event, and nobody is there to write one."""
        return self.session.finished is None and not self._engine_lives and self.caught_up

    @property
    def now_s(self) -> float:
        """Session time: that of the newest event, going on by the clock while the engine is at work."""
        seen_s, t = self._newest
        return t + (self._clock() - seen_s) if self.running else self.session.now_s

    def remaining(self, needed: Callable[[CaseState], StepsLeft | None]) -> RemainingTime:
        """Estimates of the time that is left, by what the rounds of running cases still need."""
        return RemainingTime(self.session, needed)

    def looked_at(self, case: CaseState) -> LoadedCase | None:
        """A case with what had been let go of; None while that is read again from now on."""
        return self.cache.looked_at(case, self.session.ran_on(case))

    @property
    def measuring(self) -> bool:
        """Whether a case is at work at this moment."""
        return self.running and self.session.current is not None

    @property
    def processors(self) -> int | None:
        """Logical processors of the machine that measures."""
        return self.session.started.host.cpu_count if self.session.started else None

    def close(self) -> None:
        """Close the file."""
        self.cache.close()
        self._tail.close()

    def _look_after(self, engine: Engine | None) -> None:
        lived, self._engine_lives = self._engine_lives, engine is not None and engine.alive()
        if engine is not None and lived and not self._engine_lives:
            self.last_words = engine.last_words()

    def _read(self, began_s: float) -> None:
        while self.problem is None:
            size = self._size()
            self.cache.pass_by(self.session, self._tail.position)
            events = self._tail.read(BATCH_BYTES)
            self._read_bytes = min(self._read_bytes + BATCH_BYTES, size)
            for event in events:
                self._apply(event)
            if events:
                self._newest = (self._clock(), self.session.now_s)
            self.caught_up = self._read_bytes >= size
            if self.caught_up or self._clock() - began_s > PATIENCE_S:
                return

    def _apply(self, event: Read) -> None:
        self.session.apply(event)
        if isinstance(event, CaseFinished):
            case = self.session.cases[event.case]
            self.ended.append(case)
            self.cache.take_in(case)
        elif isinstance(event, Resumed):  # another session: what was made of its cases doesn't hold any more
            self.session, self.ended = copy(self.session), still_ended(self.ended, event)
            self._orphaned = not self._engine_lives

    def _look_for_engine(self) -> None:
        """Have the engine that goes on with a session take the place of the one that is gone."""
        if self._orphaned and self.caught_up and self.session.finished is None:
            self._orphaned = False
            self.engine = self._find(self.path)
            self._engine_lives = self.engine is not None

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return self._read_bytes  # taken away while we read; what was open can still be read
