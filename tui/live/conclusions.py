"""Conclusions of a session so far, computed in a thread whenever a round has ended."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import TYPE_CHECKING

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics

if TYPE_CHECKING:
    from benchtui.sessions.advice.conclusion import Conclusions
    from benchtui.sessions.state.judging import VerdictSettings
    from benchtui.tui.live.feed import Clock, Feed

BUSY_SHARE = 0.02
"""Largest share of the time for computing while the sweep runs, because it disturbs what is measured."""

Moment = tuple[int, int, int, bool]
"""Rounds and cases that have ended, planned cases, and whether the session is over."""


class LiveConclusions:
    """Newest conclusions of one feed's session."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self._computed: tuple[Session, Moment, Conclusions] | None = None
        self._due_s = 0.0
        self._busy = False

    def newest(self) -> Conclusions | None:
        """Return the conclusions of the session shown; None before the first.

        Those of a session that is over are never those of an earlier moment.
        """
        if self._computed is None or self._computed[0] is not self._feed.session:
            return None
        _, moment, conclusions = self._computed
        return None if _is_over(self._feed) and moment != _moment(self._feed) else conclusions

    @property
    def has_pending_work(self) -> bool:
        """Whether a round has ended since the last computation, and it is time for the next one."""
        feed = self._feed
        if self._busy or not (feed.caught_up and feed.session.started):
            return False
        session, moment, _ = self._computed or (None, None, None)
        done = session is feed.session and moment == _moment(feed)
        return not done and (_is_over(feed) or self._clock() >= self._due_s)

    async def compute_pending(self) -> None:
        """Compute the conclusions of this moment in a thread."""
        self._busy = True
        session, moment, began_s = self._feed.session, _moment(self._feed), self._clock()
        try:
            conclusions = await asyncio.to_thread(_conclude, _snapshot(session), self._feed.judging)
            self._computed = session, moment, conclusions
        finally:
            self._busy = False
            pause_s = 0.0 if self._feed.replayed else (self._clock() - began_s) / BUSY_SHARE
            self._due_s = self._clock() + pause_s


def _is_over(feed: Feed) -> bool:
    return feed.session.finished is not None or feed.cut_off


def _moment(feed: Feed) -> Moment:
    session = feed.session
    return session.rounds_ended, session.done, len(session.cases), _is_over(feed)


def _snapshot(session: Session) -> Session:
    """Return a copy that doesn't change while a thread reads it.

    Steps of a running case would grow, and those of an ended one may be evicted.
    """
    copied, running = copy(session), {case.index for case in session.running}
    copied.cases = [case.snapshot() if case.index in running else copy(case) for case in session.cases]
    return copied


def _conclude(session: Session, judging: VerdictSettings) -> Conclusions:
    # lazy import: not needed for the first paint
    from benchtui.sessions.advice.conclusion import conclude_anyway

    session.judge_by(judging)
    for case in session.cases:
        if case.state == "ok" and len(case.measured) and case.metrics is None:
            case.metrics = metrics(case)  # once for all questions; of others, not every step counts
    return conclude_anyway(session)
