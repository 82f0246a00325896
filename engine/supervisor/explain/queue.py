"""Explanations: cases that are rerun and profiled, one at a time, while no case is measured.

Fresh processes of a case differ in the layout of their memory, and a machine changes its speed. If the steps of
one differ from the measured ones, others are profiled, and the one that differs least counts.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

from msgspec.structs import replace

from benchtui.engine.executor import Execution
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CasePrepared, Explained
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.file_names import change_text
from benchtui.sessions.timestamps import utc_now

MOST_PROCESSES, LONG_S = 5, 20.0
"""Maximum number of processes that profile a case, and time after which no other one is started."""

Launch = Callable[[CaseState], Execution]
"""Starts the process that profiles a case; raises BenchtuiError if that fails."""


class Explanations:
    """Queue of cases to explain."""

    def __init__(self, launch: Launch, keep: Callable[[], None] = lambda: None) -> None:
        """``keep`` is called when a process fits better than those before, to keep what it has written."""
        self._launch, self._keep = launch, keep
        self._waiting: deque[CaseState] = deque()
        self._case: CaseState | None = None
        self._run: Execution | None = None
        self._processes = 0
        """Processes that have profiled the case so far."""
        self._nearest: Explained | None = None
        """Profile of the one that fits best, with its difference from the measured steps."""
        self._misfit = inf
        self._begun_s = 0.0
        """Time when the first process of the case was started."""
        self._changed: tuple[str, ...] = ()
        """Changes in the files of the running case since it was measured."""

    @property
    def running(self) -> CaseState | None:
        """Case whose process is running."""
        return self._case

    @property
    def sources(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to collect."""
        return self._run.sources if self._run else ()

    @property
    def left_s(self) -> float | None:
        """Seconds until ``collect`` must be called even if no source is readable; None while no case runs."""
        return self._run.left_s if self._run else None

    def add(self, cases: Iterable[CaseState]) -> None:
        """Add cases that aren't queued yet."""
        waiting = {case.index for case in self._waiting}
        self._waiting.extend(case for case in cases if case.index not in waiting)

    def collect(self, now_s: float) -> Iterator[Explained]:
        """Yield the profile of the running case once its process has ended, or why there is none."""
        if self._run is None or self._case is None:
            return
        for event in self._run.collect(now_s):
            if isinstance(event, CasePrepared):
                before = self._case.prepared.files if self._case and self._case.prepared else {}
                changed = {name for name, digest in event.files.items() if before.get(name, digest) != digest}
                self._changed = tuple(
                    change_text(name, before[name], event.files[name]) for name in sorted(changed)
                )
            elif isinstance(event, Explained):
                self._compare(self._case, replace(event, changed=self._changed))
            elif isinstance(event, CaseFinished):
                yield from self._end(self._case, event, now_s)
                return

    def _end(self, case: CaseState, ended: CaseFinished, now_s: float) -> Iterator[Explained]:
        """Yield the profile that fits the measured steps best, unless another process may fit better."""
        self._case = self._run = None
        again = 0 < self._processes < MOST_PROCESSES and now_s - self._begun_s <= LONG_S
        if self._misfit and again and ended.outcome == "ok":
            self._waiting.appendleft(case)
        else:
            yield self._outcome(case, now_s, ended.reason or "no profile was sent")

    def _compare(self, case: CaseState, event: Explained) -> None:
        """Keep a profile if it fits better than those before."""
        self._processes += 1
        misfit = _misfit(case, event)
        if self._nearest is None or misfit < self._misfit:
            self._nearest, self._misfit = event, misfit
            self._keep()

    def _outcome(self, case: CaseState, now_s: float, reason: str) -> Explained:
        """Return the profile that fits best, or the reason why there is none."""
        profiled, self._nearest, self._misfit, self._processes = self._nearest, None, inf, 0
        return profiled or Explained(t=now_s, case=case.index, created=utc_now(), absent=reason)

    def start_next(self, now_s: float) -> Iterator[Explained]:
        """Start the next case. Yield the cases that can't be started, with the reason."""
        while self._waiting and self._run is None:
            self._case = self._waiting.popleft()
            try:
                self._begun_s = self._begun_s if self._processes else now_s
                self._run = self._launch(self._case)
            except BenchtuiError as error:
                yield self._outcome(self._case, now_s, str(error))
                self._case = None

    def stop(self, reason: str, now_s: float) -> None:
        """Kill the running case and drop the others."""
        self._waiting.clear()
        if self._run:
            self._run.end("interrupted", reason, now_s)


def _misfit(case: CaseState, event: Explained) -> float:
    from benchtui.sessions.explain.cases import misfit  # imports statistics, unneeded while cases are measured

    return misfit(case, event.profile) if event.profile else 0.0
