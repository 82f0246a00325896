"""Time remaining: sweep progress and ETA, updated whenever a case ends."""

from collections import Counter, deque
from collections.abc import Callable

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
        self._ended: Counter[str] = Counter()
        """Number of ended cases that were processed, by outcome."""
        self._shown = (0, 0.0)
        """Number of cases, and the progress shown last."""
        self._unprocessed = deque(case for case in session.cases if case.between_rounds)
        """Cases with a new end, of the case or of a round, since the last estimate."""
        self._running: list[CaseState] = []
        self._stale = True

    def case_left(self, case: CaseState, needed: StepsLeft | None, now_s: float) -> Estimate | None:
        """Estimate the time until a running case ends. ``needed`` is what its round still needs, if known."""
        self._update()
        return eta.case_left(case, self._session.start.sweep.measure, self._step_times, now_s, needed)

    def sweep_left(self, now_s: float) -> Estimate | None:
        """Estimate the time until the sweep ends; None before anything is known."""
        self._update()
        running = [self.case_left(case, self._needed(case), now_s) for case in self._session.running]
        return eta.with_further_rounds(self._session, eta.remaining_time(running, self._queue))

    @property
    def skipped(self) -> int:
        """Number of skipped cases."""
        return self._outcomes()["skipped"]

    @property
    def total(self) -> int:
        """Number of cases that have been or will be run."""
        return len(self._session.cases) - self.skipped

    @property
    def done(self) -> int:
        """Number of cases that were run to an end. An interrupted one is still left for a resume.

        Cases that may get further rounds have had all that are certain.
        """
        outcomes = self._outcomes()
        ended = outcomes.total() - outcomes["skipped"] - outcomes["interrupted"]
        return ended + self._session.with_first_rounds

    def progress(self, now_s: float, time_left: Estimate | None) -> float:
        """Return the elapsed fraction of the sweep's time, from 0 to 1, which never decreases.

        Falls back to the fraction of cases that have ended if times are unknown. It starts again if cases are
        added.
        """
        if time_left is None or now_s + time_left.seconds <= 0:
            fraction = self.done / self.total if self.total else float(self._session.finished is not None)
        else:
            fraction = now_s / (now_s + time_left.seconds)
        if self._session.finished is None and self._shown[0] == len(self._session.cases):
            fraction = max(fraction, self._shown[1])
        self._shown = len(self._session.cases), fraction
        return fraction

    def _outcomes(self) -> Counter[str]:
        """Return the number of ended cases by outcome, after processing those that are new."""
        if new := self._session.ended[self._ended.total() :]:
            self._ended.update(case.state for case in new)
            self._unprocessed.extend(new)
            self._stale = True
        return self._ended

    def _update(self) -> None:
        self._outcomes()
        running = self._session.running
        if self._running != running:
            self._unprocessed.extend(case for case in self._running if case.between_rounds)
            self._running, self._stale = list(running), True
        if not self._stale:
            return
        while self._unprocessed:
            self._step_times.learn(self._unprocessed.popleft())
        measure = self._session.start.sweep.measure
        self._queue = eta.queue_left(self._session.cases, measure, self._step_times)
        self._stale = False
