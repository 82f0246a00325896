"""Session feed: tails a growing session file and tracks whether its engine is alive."""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.eta import StepsLeft
from benchtui.sessions.events import CaseFinished, Resumed
from benchtui.sessions.journal.reader import AnyRecord, Tail
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SWEEP_DEFAULTS
from benchtui.sessions.state.session import Session
from benchtui.tui.live.conclusions import LiveConclusions
from benchtui.tui.live.eta import RemainingTime
from benchtui.tui.live.explainer import Explainer
from benchtui.tui.live.step_cache import LoadedCase, StepCache

BATCH_BYTES = 1 << 16
READ_BUDGET_S = 0.02
"""Time budget of one read in seconds. Longer reads would delay key presses."""
ENGINE_CHECK_S = 1.0
"""Seconds between checks that the engine is alive."""

Clock = Callable[[], float]
FindEngine = Callable[[Path], Engine | None]
"""Function that finds the engine writing a session file."""


class Feed:
    """A session as read so far, and the state of its engine."""

    replayed = False
    """Whether this is a replay, with its own clock."""

    def __init__(
        self, path: Path, engine: Engine | None, clock: Clock, find: FindEngine = lambda path: None
    ) -> None:
        """Open the file; raises BenchtuiError if it can't be read."""
        self.path = path
        self.engine = engine
        self.session = Session()
        self.problem: str | None = None
        """Why the file can't be read any further."""
        self.caught_up = False
        """Whether everything written so far has been read."""
        self.cache = StepCache(path, evicts=not self.replayed)
        """Cache of the steps of ended cases."""
        self.explainer = Explainer(path, lambda: self.engine if self.live else None)
        """Profiles of the session's cases."""
        self.conclusions = LiveConclusions(self, clock)
        """What the session says so far."""
        self.judging = SWEEP_DEFAULTS
        """The user's verdict settings: baseline and margin."""
        self.exit_message: str | None = None
        """Reason the engine gave for failing; None if it gave none."""
        self._clock = clock
        self._find = find
        self._orphaned = False
        """Whether the session was resumed by an engine that hasn't been found yet."""
        self._tail = Tail(path)
        self.closed = False
        self._rescued = False
        """Whether the session continues in a rescue file, because other processes damaged the original."""
        self._read_bytes = 0
        self._engine_alive = engine is not None
        self._checked_s = clock()
        self._newest = (clock(), 0.0)

    def poll(self) -> None:
        """Read new events within a time budget, and check on the engine periodically."""
        began_s = self._clock()
        if began_s - self._checked_s >= ENGINE_CHECK_S:
            self._checked_s = began_s
            self._check_engine(self.engine)
        try:
            self._read(began_s)
        except BenchtuiError as error:
            self.problem = str(error)
        with suppress(BenchtuiError):  # without the runtime folder there is no engine to find
            self._attach_to_new_engine()

    @property
    def running(self) -> bool:
        """Whether an engine is working on the session."""
        return self._engine_alive and self.session.finished is None

    @property
    def live(self) -> bool:
        """Whether an engine is writing the session now; a replay shows an earlier moment."""
        return self._engine_alive

    @property
    def reading(self) -> bool:
        """Whether events written so far are still being read."""
        return not self.caught_up and self.problem is None

    @property
    def cut_off(self) -> bool:
        """Whether the file ends without its final event, with no engine left to write it."""
        return self.session.finished is None and not self._engine_alive and self.caught_up

    @property
    def now_s(self) -> float:
        """Session time in seconds. Continues from the newest event while the engine is running."""
        seen_s, t = self._newest
        return t + (self._clock() - seen_s) if self.running else self.session.now_s

    def command_word(self, name: str) -> str:
        """Quote the session for a command: by this name, or by its path if it continues in a rescue file."""
        return shell_word(str(self.path) if self._rescued else name)

    def remaining(self, needed: Callable[[CaseState], StepsLeft | None]) -> RemainingTime:
        """Return a time estimator. ``needed`` returns what the round of a running case still needs."""
        return RemainingTime(self.session, needed)

    def load_case(self, case: CaseState) -> LoadedCase | None:
        """Return a case with its evicted data. If that isn't loaded, schedule a reload and return None."""
        return self.cache.get(case, self.session.ran_on(case))

    @property
    def measuring(self) -> bool:
        """Whether a case is being measured right now."""
        return self.running and self.session.current is not None

    @property
    def processors(self) -> int | None:
        """Number of logical processors of the measured machine."""
        return self.session.started.host.cpu_count if self.session.started else None

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self.cache.close()
        self._tail.close()

    def _check_engine(self, engine: Engine | None) -> None:
        was_alive, self._engine_alive = self._engine_alive, engine is not None and engine.alive()
        if engine is not None and was_alive and not self._engine_alive:
            self.exit_message = engine.last_words()

    def _read(self, began_s: float) -> None:
        while self.problem is None:
            size = self._size()
            self.cache.note_position(self.session, self._tail.position)
            events = self._tail.read(BATCH_BYTES)
            self._follow_file()
            self._read_bytes = min(self._read_bytes + BATCH_BYTES, size)
            for event in events:
                self._apply(event)
            if events:
                self._newest = (self._clock(), self.session.now_s)
            self.caught_up = self._read_bytes >= size
            if self.caught_up or self._clock() - began_s > READ_BUDGET_S:
                return

    def _follow_file(self) -> None:
        """Use the file that is being read from now on, which may have become a rescue file."""
        if self._tail.path != self.path:
            self.path = self.cache.path = self.explainer.path = self._tail.path
            self._rescued = True

    def _apply(self, event: AnyRecord) -> None:
        self.session.apply(event)
        if isinstance(event, CaseFinished):
            self.cache.add_ended(self.session.cases[event.case])
        elif isinstance(event, Resumed):  # data derived from the previous session's cases is no longer valid
            self.session = copy(self.session)
            self._orphaned = not self._engine_alive

    def _attach_to_new_engine(self) -> None:
        """Attach to the engine that resumed the session, replacing the previous one."""
        if self._orphaned and self.caught_up and self.session.finished is None:
            self._orphaned = False
            self.engine = self._find(self.path)
            self._engine_alive = self.engine is not None

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return self._read_bytes  # deleted while being read; the open file is still readable
