"""Case metrics, computed in a thread to keep the UI responsive. Ended cases are computed once."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.evidence import summarize
from benchtui.tui.live.step_statistics import RECOMPUTE_GROWTH

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics

MAX_CASES_AT_ONCE = 200
"""Maximum number of cases computed between two frames."""
MAX_STEPS_AT_ONCE = 1_000_000


class CaseMetrics:
    """Metrics of a session's cases, as far as computed."""

    def __init__(self) -> None:
        self._known: dict[int, Metrics | None] = {}
        self._steps: dict[int, tuple[int, bool]] = {}
        """Number of steps when a case was computed, and whether it had ended."""

    def of(self, case: CaseState) -> "Metrics | None":
        """Return the newest metrics of a case. None if there are none, or none yet."""
        return self._known.get(case.index)

    def is_due(self, case: CaseState) -> bool:
        """Return whether a case has data not computed yet."""
        steps, ended = self._steps.get(case.index, (0, False))
        if case.finished is not None:
            return not ended
        now = len(case.measured)
        return now > 0 and (now < steps or now >= RECOMPUTE_GROWTH * max(steps, 1))

    async def compute_batch(self, cases: Sequence[CaseState]) -> bool:
        """Compute outdated metrics of some of these cases. Return whether there were any.

        The columns of a running case would grow while the thread reads them, so it gets a copy.
        """
        due: list[CaseState] = []
        steps = 0
        for case in cases:
            if len(due) == MAX_CASES_AT_ONCE or steps > MAX_STEPS_AT_ONCE:
                break
            if self.is_due(case):
                self._steps[case.index] = (len(case.measured), case.finished is not None)
                due.append(case if case.finished else case.snapshot())
                steps += len(case.measured)
        if due:
            computed = await asyncio.to_thread(lambda: list(map(summarize, due)))
            self._known |= {case.index: metrics for case, metrics in zip(due, computed, strict=True)}
        return bool(due)
