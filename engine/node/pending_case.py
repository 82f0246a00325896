"""Pending case: a case that starts once the fork server with its environment variables has imported torch."""

import os
import select
from collections.abc import Callable, Iterator

from benchtui.engine.executor import Execution, WorkerEvent
from benchtui.engine.node.fork_server import START_S
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Outcome


class PendingCase:
    """Execution of a case that hasn't started, and then of the started one."""

    def __init__(self, case: int, ready: int, start: Callable[[], Execution]) -> None:
        """``ready`` is a descriptor that becomes readable once ``start`` won't block. It is closed then."""
        self._case = case
        self._ready = ready
        self._start = start
        self._started: Execution | None = None
        self._ended: tuple[Outcome, str] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the worker; None before it starts."""
        return self._started.pid if self._started else None

    @property
    def sources(self) -> list[int]:
        """File descriptors that become readable when there is something to collect."""
        return list(self._started.sources) if self._started else [self._ready]

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if nothing becomes readable."""
        if self._started:
            return self._started.left_s
        return 0.0 if self._ended else START_S

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Start the case if its server is ready, and yield its events."""
        if self._started is None:
            try:
                self._start_if_ready()
            except BenchtuiError as error:
                self._ended = ("failed", str(error))
        if self._started:
            yield from self._started.collect(now_s)
        elif self._ended:
            os.close(self._ready)
            outcome, reason = self._ended
            yield CaseFinished(t=now_s, case=self._case, outcome=outcome, reason=reason)

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case, or let it end without starting."""
        if self._started:
            self._started.end(outcome, reason, now_s)
        else:
            self._ended = self._ended or (outcome, reason)

    def _start_if_ready(self) -> None:
        if self._ended or not select.select([self._ready], [], [], 0)[0]:
            return
        self._started = self._start()
        os.close(self._ready)
