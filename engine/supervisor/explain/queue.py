"""Explanations: cases that are rerun and profiled, one at a time, while no case is measured."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from benchtui.engine.executor import Execution
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CasePrepared, Explained
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.file_names import change_text
from benchtui.sessions.timestamps import utc_now

Launch = Callable[[CaseState], Execution]
"""Starts the process that profiles a case; raises BenchtuiError if that fails."""


class Explanations:
    """Queue of cases to explain."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._waiting: deque[CaseState] = deque()
        self._case: CaseState | None = None
        self._run: Execution | None = None
        self._found: Explained | None = None
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
                self._changed = self._changes(event)
            elif isinstance(event, Explained):
                self._found = replace(event, changed=self._changed)
            elif isinstance(event, CaseFinished):
                yield self._found or _without_profile(self._case, now_s, event.reason or "no profile was sent")
                self._case = self._run = self._found = None
                return

    def start_next(self, now_s: float) -> Iterator[Explained]:
        """Start the next case. Yield the cases that can't be started, with the reason."""
        while self._waiting and self._run is None:
            self._case = self._waiting.popleft()
            try:
                self._run = self._launch(self._case)
            except BenchtuiError as error:
                yield _without_profile(self._case, now_s, str(error))
                self._case = None

    def stop(self, reason: str, now_s: float) -> None:
        """Kill the running case and drop the others."""
        self._waiting.clear()
        if self._run:
            self._run.end("interrupted", reason, now_s)

    def _changes(self, now: CasePrepared) -> tuple[str, ...]:
        before = self._case.prepared.files if self._case and self._case.prepared else {}
        changed = {name for name, digest in now.files.items() if before.get(name, digest) != digest}
        return tuple(change_text(name, before[name], now.files[name]) for name in sorted(changed))


def _without_profile(case: CaseState, now_s: float, reason: str) -> Explained:
    return Explained(t=now_s, case=case.index, created=utc_now(), absent=reason)
