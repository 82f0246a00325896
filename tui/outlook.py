"""How far a sweep is and how long it still takes; renewed whenever a case has ended."""

from collections.abc import Callable, Iterable

from benchtui.sessions import forecast
from benchtui.sessions.forecast import Estimate, Experience, StepsLeft
from benchtui.sessions.session import CaseState, Session


class Outlook:
    """Estimates for a session."""

    def __init__(self, session: Session, needed: Callable[[CaseState], StepsLeft | None]) -> None:
        self._session = session
        self._needed = needed
        """What the round of a running case still needs."""
        self._experience = Experience()
        self._queue: Estimate | None = None
        self._done = 0

    def renew(self, ended: Iterable[CaseState]) -> None:
        """Learn from the cases that have ended since the last time."""
        for case in ended:
            self._done += 1
            self._experience.learn(case)
        measure = self._session.start.sweep.measure
        self._queue = forecast.queue_left(self._session.cases, measure, self._experience)

    def case_left(self, case: CaseState, needed: StepsLeft | None, now_s: float) -> Estimate | None:
        """Time until a running case ends; ``needed`` says what its round still needs, where that is known."""
        return forecast.case_left(case, self._session.start.sweep.measure, self._experience, now_s, needed)

    def sweep_left(self, now_s: float) -> Estimate | None:
        """Time until the sweep ends; None before anything is known."""
        running = [self.case_left(case, self._needed(case), now_s) for case in self._session.running]
        return forecast.together(running, self._queue)

    def progress(self, now_s: float, running: bool) -> float:
        """Share of the sweep's time that is behind, from 0 to 1; of its cases, where times aren't known."""
        left = self.sweep_left(now_s) if running else None
        if left is None or now_s + left.seconds <= 0:
            return self._done / max(len(self._session.cases), 1)
        return now_s / (now_s + left.seconds)
