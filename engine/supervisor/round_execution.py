"""Round execution: one round of a case, from its first process to its end, with retries while disturbed."""

from collections.abc import Callable, Iterator, Sequence

from benchtui.engine.executor import Execution
from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.round_policy import Retry, Rounds
from benchtui.sessions.errors import BenchtuiError, OutOfFilesError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Message,
    Outcome,
)

Launch = Callable[[ScheduledRound], Execution]
"""Starts the process of a case; raises BenchtuiError if that fails."""

SHORTAGE_PAUSES_S = (1.0, 5.0, 25.0)
"""Pauses in seconds after a process couldn't be started for lack of file descriptors.
After one more attempt the case fails."""


class RoundRun:
    """A case during one round, paused between two attempts if the first was disturbed."""

    def __init__(
        self, scheduled: ScheduledRound, launch: Launch, rounds: Rounds, retry: Retry | None = None
    ) -> None:
        """Prepare the round; the first ``collect`` starts it. ``retry`` is the reason for repeating it."""
        self.scheduled = scheduled
        self.ended: CaseFinished | None = None
        """End of the last attempt; None while another one may follow."""
        self._launch = launch
        self._rounds = rounds
        self._run: Execution | None = None
        self._retry = retry
        """Why the next attempt isn't the first; None if it is."""
        self._disturbed: CaseFinished | None = None
        """End of the previous attempt. It counts unless another attempt starts."""
        self._attempt = 0
        self._shortages = 0
        """Number of failures in this round to start a process for lack of file descriptors."""
        self._last = False
        """Whether this attempt is the last one, even if it is disturbed."""
        self._due_s = 0.0

    @property
    def sources(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to collect."""
        return self._run.sources if self._run else ()

    def left_s(self, now_s: float) -> float:
        """Return the seconds until ``collect`` must be called even if no source is readable."""
        return self._run.left_s if self._run else max(0.0, self._due_s - now_s)

    def collect(self, now_s: float) -> Iterator[AnyEvent]:
        """Yield the events since the last call."""
        if self._run is None:
            if now_s >= self._due_s and self.ended is None:
                yield from self._begin(now_s)
            return
        for event in self._run.collect(now_s):
            if isinstance(event, CaseFinished):
                yield from self._after(event, now_s)
            else:
                yield event

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case. During a pause, end it with the disturbed measurement, if there is one."""
        self._last = True
        if self._run:
            self._run.end(outcome, reason, now_s)
        else:
            self.ended = self._disturbed or self._end(outcome, reason, now_s)

    def _begin(self, now_s: float) -> Iterator[AnyEvent]:
        """Start an attempt. The disturbed one is recorded as repeated only then, since it counts until then."""
        case, round_index = self.scheduled.case, self.scheduled.round
        try:
            self._run = self._launch(self.scheduled)
        except BenchtuiError as error:
            yield from self._not_started(error, now_s)
            return
        if retry := self._retry:
            reason, pause_s = retry.reason, retry.pause_s
            yield CaseRepeated(t=now_s, case=case.index, round=round_index, reason=reason, pause_s=pause_s)
            self._retry = None
        pid, node = self._run.pid, self.scheduled.node
        yield CaseStarted(t=now_s, case=case.index, round=round_index, config=case.config, pid=pid, node=node)

    def _not_started(self, error: BenchtuiError, now_s: float) -> Iterator[Message]:
        """Wait for file descriptors, or end the round: with the disturbed measurement, if there is one."""
        if isinstance(error, OutOfFilesError) and self._shortages < len(SHORTAGE_PAUSES_S):
            yield self._wait(error, now_s)
            return
        if self._disturbed:
            text = f"{self.scheduled.case.name}: not remeasured, the disturbed measurement counts: {error}"
            yield Message(t=now_s, level="warning", text=text)
        self.ended = self._disturbed or self._end("failed", str(error), now_s)

    def _wait(self, shortage: OutOfFilesError, now_s: float) -> Message:
        """Schedule another attempt; return the message that announces it."""
        pause_s = SHORTAGE_PAUSES_S[self._shortages]
        self._shortages += 1
        self._due_s = now_s + pause_s
        text = f"{self.scheduled.case.name}: {shortage}; retrying in {pause_s:g} s"
        return Message(t=now_s, level="warning", text=text)

    def _end(self, outcome: Outcome, reason: str, now_s: float) -> CaseFinished:
        return CaseFinished(t=now_s, case=self.scheduled.case.index, outcome=outcome, reason=reason)

    def _after(self, end: CaseFinished, now_s: float) -> Iterator[AnyEvent]:
        self._run = None
        retry = None if self._last else self._rounds.retry(end, self._attempt)
        if retry is None:
            self.ended = end
            return
        self._disturbed, self._retry = end, retry
        self._attempt += 1
        self._due_s = now_s + retry.pause_s
        text = f"{self.scheduled.case.name}: {retry.reason}; remeasuring in {retry.pause_s:g} s"
        yield Message(t=now_s, level="info", text=text)
