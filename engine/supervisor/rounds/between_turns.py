"""Waits between rounds by turns: after disturbed ones, the next ones start once the machine is quiet again.

Disturbed rounds by turns can't be repeated case by case. They don't count, so the plan asks for further ones.
"""

from collections.abc import Iterator

from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.rounds.policy import Retry
from benchtui.engine.supervisor.waits.waits import Wait, Waits
from benchtui.sessions.events import CaseFinished, Message, Waiting
from benchtui.sessions.payloads import Environment


class WaitBetweenTurns:
    """Wait before further rounds by turns, because the newest ones were disturbed."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._disturbed: tuple[ScheduledRound, Retry] | None = None
        """A disturbed one of the newest rounds by turns, and how it would be repeated on its own."""
        self._seen = Environment()
        """Environment of that round."""
        self._wait: Wait | None = None

    @property
    def going_on(self) -> bool:
        """Whether it has begun, and not ended yet."""
        return self._wait is not None

    def left_s(self, now_s: float) -> float | None:
        """Return the seconds until the next check; None while there is no wait."""
        return self._wait.left_s(now_s) if self._wait else None

    def note(self, scheduled: ScheduledRound, ended: CaseFinished, retry: Retry | None) -> None:
        """Remember a round by turns that was measured next to neighbors."""
        if retry and retry.quiet:
            self._disturbed, self._seen = (scheduled, retry), ended.environment or Environment()

    def begin(self, now_s: float) -> Iterator[Message | Waiting]:
        """Begin to wait if the newest rounds by turns were disturbed, and if time for waits is left."""
        if self._disturbed is None:
            return
        scheduled, retry = self._disturbed
        self._wait = self._waits.quiet(scheduled, self._seen, now_s)
        if self._wait:
            yield from self._wait.announced(scheduled, retry.reason)
        else:
            self._disturbed = None

    def end(self, now_s: float) -> Iterator[Message]:
        """End the wait if the machine is quiet, or the time for it is over."""
        wait, disturbed = self._wait, self._disturbed
        if wait is None or disturbed is None:
            return
        met = wait.is_met()
        if met or wait.is_over(now_s):
            self._waits.spend(wait, now_s)
            self._wait = self._disturbed = None
            if not met:
                yield wait.timed_out(disturbed[0], "measuring anyway", now_s)
