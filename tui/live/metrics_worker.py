"""Case metrics, computed in a thread to keep the UI responsive. Ended cases are computed once."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize
from benchtui.tui.live.step_statistics import RECOMPUTE_GROWTH

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics

T = TypeVar("T")

MAX_CASES_AT_ONCE = 200
"""Maximum number of cases computed between two frames."""
MAX_STEPS_AT_ONCE = 1_000_000


class ComputedCases:
    """Tracks which cases have been computed, and in which state."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[int, bool]] = {}
        """Number of steps when a case was computed, and whether it had ended."""

    def is_due(self, case: CaseState) -> bool:
        """Return whether a case has data not computed yet."""
        steps, ended = self._steps.get(case.index, (0, False))
        if case.finished is not None:
            return not ended
        now = len(case.measured)
        return now > 0 and (now < steps or now >= RECOMPUTE_GROWTH * max(steps, 1))

    def note(self, case: CaseState) -> None:
        """Record that all steps of a case so far are being computed."""
        self._steps[case.index] = (len(case.measured), case.finished is not None)

    def has_ended(self, index: int) -> bool:
        """Return whether a case was computed after it had ended. Its result is final."""
        return self._steps.get(index, (0, False))[1]


class CaseMetrics:
    """Metrics of all cases, as far as computed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[int, Metrics | None] = {}
        self._seen = ComputedCases()
        self._at = 0
        """All cases before this index have ended and are computed."""

    def of(self, case: CaseState) -> "Metrics | None":
        """Return the newest metrics of a case. None if there are none, or none yet."""
        return self._known.get(case.index)

    async def compute_batch(self) -> bool:
        """Compute a batch of outdated metrics. Return whether there were any."""
        due = self._due()
        for case in due:
            self._seen.note(case)
        computed = await compute(due, summarize)
        self._known |= {case.index: metrics for case, metrics in zip(due, computed, strict=True)}
        while self._seen.has_ended(self._at):
            self._at += 1
        return bool(due)

    def _due(self) -> list[CaseState]:
        due: list[CaseState] = []
        steps = 0
        for case in self._session.cases[self._at :]:
            if len(due) == MAX_CASES_AT_ONCE or steps > MAX_STEPS_AT_ONCE:
                break
            if self._seen.is_due(case):
                due.append(case)
                steps += len(case.measured)
        return due


async def compute(cases: Sequence[CaseState], function: Callable[[CaseState], T]) -> list[T]:
    """Apply ``function`` to each case in a thread; its exceptions propagate.

    The columns of a running case would grow while the thread reads them, so it gets a copy.
    """
    snapshots = [case if case.finished else case.snapshot() for case in cases]
    return await asyncio.to_thread(lambda: [function(case) for case in snapshots]) if snapshots else []
