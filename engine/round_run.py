"""One case in one round, from its first process to its end: measured again while something disturbs it."""

from collections.abc import Callable, Iterator

from benchtui.engine.case_run import CaseRun
from benchtui.engine.queue import Turn
from benchtui.engine.rounds import Again, Rounds
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Message,
    Outcome,
)

Launch = Callable[[Turn], CaseRun]
"""Starts a case's process; raises BenchtuiError where that can't be done."""


class RoundRun:
    """A case on its way through a round, resting between two attempts where the first was disturbed."""

    def __init__(self, turn: Turn, launch: Launch, rounds: Rounds) -> None:
        """Nothing is started before the first ``collect``."""
        self.turn = turn
        self.ended: CaseFinished | None = None
        """How the last attempt ended, once there is no other to come."""
        self.begun_s = 0.0
        """Session time at which the newest attempt began."""
        self._launch = launch
        self._rounds = rounds
        self._run: CaseRun | None = None
        self._disturbed: tuple[CaseFinished, Again] | None = None
        """How the attempt before ended, and why there is another."""
        self._attempt = 0
        self._last = False
        """Whether this attempt is the last, however disturbed."""
        self._due_s = 0.0

    @property
    def pid(self) -> int | None:
        """The worker's process, while there is one on this machine."""
        return self._run.execution.pid if self._run else None

    @property
    def computing(self) -> bool:
        """Whether a worker is at work; False while the machine comes to rest."""
        return self._run is not None

    @property
    def sources(self) -> list[int]:
        """File descriptors that become readable when there is something to collect."""
        return self._run.execution.sources if self._run else []

    def left_s(self, now_s: float) -> float:
        """Seconds until ``collect`` has to be called even if nothing becomes readable."""
        return self._run.execution.left_s if self._run else max(0.0, self._due_s - now_s)

    def collect(self, now_s: float) -> Iterator[AnyEvent]:
        """What has happened since the last call."""
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
        """Kill the case; while it rests, the disturbed measurement is what it ends with."""
        self._last = True
        if self._run:
            self._run.end(outcome, reason, now_s)
        elif self._disturbed:
            self.ended = self._disturbed[0]

    def _begin(self, now_s: float) -> Iterator[AnyEvent]:
        case, turn = self.turn.case, self.turn.round
        if self._disturbed:
            again = self._disturbed[1]
            yield CaseRepeated(t=now_s, case=case.index, round=turn, reason=again.reason, pause_s=again.pause_s)
        try:
            self._run, self.begun_s = self._launch(self.turn), now_s
        except BenchtuiError as error:
            self.ended = CaseFinished(t=now_s, case=case.index, outcome="failed", reason=str(error))
            return
        yield CaseStarted(t=now_s, case=case.index, round=turn, config=case.config, pid=self.pid)

    def _after(self, end: CaseFinished, now_s: float) -> Iterator[AnyEvent]:
        self._run = None
        again = None if self._last else self._rounds.again(end, self._attempt)
        if again is None:
            self.ended = end
            return
        self._disturbed = end, again
        self._attempt += 1
        self._due_s = now_s + again.pause_s
        text = f"{self.turn.case.name}: {again.reason}; measured again in {again.pause_s:g} s"
        yield Message(t=now_s, level="info", text=text)
