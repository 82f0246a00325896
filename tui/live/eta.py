"""Time remaining: sweep progress and ETA, updated whenever a case ends."""

from collections import deque
from collections.abc import Callable, Sequence

from benchtui.sessions.estimates import eta
from benchtui.sessions.estimates.eta import Estimate, StepsLeft, StepTimeModel
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session


class RemainingTime:
    """Time estimates for a session. Computed on demand, since a finished session never needs them."""

    def __init__(self, session: Session, needed: Callable[[CaseState], StepsLeft | None]) -> None:
        self._session = session
        self._needed = needed
        """Returns what the round of a running case still needs."""
        self._step_times = StepTimeModel()
        self._queue: Estimate | None = None
        self._done = 0
        self._unprocessed: deque[CaseState] = deque(maxlen=eta.MOST_ESTIMATED)
        """Cases that ended since the last estimate; bounded, since the newest ones suffice."""
        self._stale = True

    def add_ended(self, ended: Sequence[CaseState]) -> None:
        """Record the cases that have ended since the last call."""
        self._done += len(ended)
        self._unprocessed.extend(ended)
        self._stale = self._stale or bool(ended)

    def case_left(self, case: CaseState, needed: StepsLeft | None, now_s: float) -> Estimate | None:
        """Estimate the time until a running case ends. ``needed`` is what its round still needs, if known."""
        self._update()
        return eta.case_left(case, self._session.start.sweep.measure, self._step_times, now_s, needed)

    def sweep_left(self, now_s: float) -> Estimate | None:
        """Estimate the time until the sweep ends; None before anything is known."""
        self._update()
        running = [self.case_left(case, self._needed(case), now_s) for case in self._session.running]
        return eta.remaining_time(running, self._queue)

    def progress(self, now_s: float, left: Estimate | None) -> float:
        """Return the elapsed fraction of the sweep's time, from 0 to 1.

        Falls back to the fraction of cases that have ended if times are unknown.
        """
        if left is None or now_s + left.seconds <= 0:
            return self._done / max(len(self._session.cases), 1)
        return now_s / (now_s + left.seconds)

    def _update(self) -> None:
        if not self._stale:
            return
        while self._unprocessed:
            self._step_times.learn(self._unprocessed.popleft())
        measure = self._session.start.sweep.measure
        self._queue = eta.queue_left(self._session.cases, measure, self._step_times)
        self._stale = False
