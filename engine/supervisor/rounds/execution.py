"""Round execution: one round of a case, from its first process to its end, with retries while disturbed."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from benchtui.engine.executor import Execution
from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.rounds.policy import Retry, Rounds
from benchtui.engine.supervisor.waits import Wait, Waits, message_about
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Message,
    Outcome,
)
from benchtui.sessions.payloads import Environment

Launch = Callable[[ScheduledRound], Execution]
"""Starts the process of a case; raises BenchtuiError if that fails."""


class RoundRun:
    """A case during one round, paused between two attempts if the first was disturbed."""

    def __init__(
        self,
        scheduled: ScheduledRound,
        launch: Launch,
        rounds: Rounds,
        waits: Waits,
        retry: Retry | None = None,
    ) -> None:
        """Prepare the round; the first ``collect`` starts it. ``retry`` is the reason for repeating it."""
        self.scheduled = scheduled
        self.ended: CaseFinished | None = None
        """End of the last attempt; None while another one may follow."""
        self._launch = launch
        self._rounds = rounds
        self._waits = waits
        self._wait: Wait | None = None
        """What the next attempt waits for."""
        self._run: Execution | None = None
        self._retry = retry
        """Why the next attempt isn't the first; None if it is."""
        self._disturbed: CaseFinished | None = None
        """End of the previous attempt. It counts unless another attempt starts."""
        self._attempt = 0
        self._last = scheduled.turns is not None
        """Whether this attempt is the last one, even if it is disturbed. One by turns has only one."""
        self._due_s = 0.0

    @property
    def sources(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to collect."""
        return self._run.sources if self._run else ()

    def left_s(self, now_s: float) -> float:
        """Return the seconds until ``collect`` must be called even if no source is readable."""
        if self._run:
            return self._run.left_s
        return self._wait.left_s(now_s) if self._wait else max(0.0, self._due_s - now_s)

    def collect(self, now_s: float) -> Iterator[AnyEvent]:
        """Yield the events since the last call."""
        if self._run is None:
            if now_s >= self._due_s and self.ended is None:
                yield from self._begin_when_ready(now_s)
            return
        for event in self._run.collect(now_s):
            if isinstance(event, CaseFinished):
                yield from self._after(event, now_s)
                continue
            if isinstance(event, CasePrepared):
                self._waits.note_gpu(self.scheduled, event)
            yield event

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case. During a pause, end it with the disturbed measurement, if there is one."""
        self._last = True
        self._end_wait(now_s)
        if self._run:
            self._run.end(outcome, reason, now_s)
        else:
            self.ended = self._disturbed or self._end(outcome, reason, now_s)

    def _begin_when_ready(self, now_s: float) -> Iterator[AnyEvent]:
        """Start an attempt unless there is something to wait for."""
        wait = self._wait
        if wait:
            met = wait.is_met()
            if not met and not wait.is_over(now_s):
                return
            self._end_wait(now_s)
            if not met:
                yield wait.timed_out(self.scheduled, self._go_on(wait), now_s)
        if self.ended:
            return
        if not (wait and not wait.for_quiet):
            self._wait = self._waits.cooling(self.scheduled, now_s)
        yield from self._wait.announced(self.scheduled) if self._wait else self._begin(now_s)

    def _go_on(self, wait: Wait) -> str:
        """Continue after a wait that timed out; return how. Without quiet, the disturbed measurement counts."""
        if not wait.for_quiet:
            return "measuring anyway"
        self.ended = self._disturbed
        return "the disturbed measurement counts"

    def _end_wait(self, now_s: float) -> None:
        wait, self._wait = self._wait, None
        if wait and wait.for_quiet and self._retry:
            self._waits.spend(wait, now_s)
            self._retry = replace(self._retry, pause_s=round(now_s - wait.began_s, 3))

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
        """End the round: with the disturbed measurement, if there is one."""
        if self._disturbed:
            text = f"{self.scheduled.case.name}: not remeasured, the disturbed measurement counts: {error}"
            yield Message(t=now_s, level="warning", text=text)
        self.ended = self._disturbed or self._end("failed", str(error), now_s)

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
        if retry.quiet:
            yield from self._wait_for_quiet(retry, end.environment or Environment(), now_s)
            return
        self._due_s = now_s + retry.pause_s
        yield message_about(self.scheduled, f"{retry.reason}; remeasuring in {retry.pause_s:g} s", now_s)

    def _wait_for_quiet(self, retry: Retry, seen: Environment, now_s: float) -> Iterator[AnyEvent]:
        self._wait = self._waits.quiet(self.scheduled, seen, now_s)
        if self._wait:
            yield from self._wait.announced(self.scheduled, retry.reason)
            return
        self.ended = self._disturbed
        text = f"{retry.reason}; no time is left to wait for quiet"
        yield message_about(self.scheduled, text, now_s)
