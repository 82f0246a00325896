"""Statistics of the steps so far of each case, and metrics of cases.

They are those of the report. Those of many steps are computed in a thread.
"""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

import asyncio
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchtui.sessions.events import Phase
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.stats.case_metrics import metrics as summarize
from benchtui.sessions.stats.ended_rounds import with_result

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics
    from benchtui.sessions.stats.distribution import Distribution

THREAD_STEPS = 20_000
"""Above this many steps, statistics are computed in a thread."""
RECOMPUTE_GROWTH = 1.02
"""Growth factor in steps that triggers computing them again."""

Key = tuple[int, int, Phase, int | None]
"""Case, its disturbed attempts, whose steps were dropped, phase, and round or None for all."""


class StepStatistics:
    """Distributions of the steps of cases, in milliseconds."""

    def __init__(self) -> None:
        self._computed: dict[Key, Distribution] = {}
        self._due: dict[Key, list[array[float]]] = {}
        """Copies of rounds to compute in a thread, while the columns grow."""
        self._busy = False

    def of(
        self, case: CaseState, phase: Phase = "measure", round_index: int | None = None
    ) -> Distribution | None:
        """Return the distribution of a case's steps, or of one round; None if there are none, or not yet.

        That of many steps may lack the newest ones.
        """
        steps = case.columns(phase)
        n = len(steps) if round_index is None else steps.of_round(round_index)
        if not n:
            return None
        key = (case.index, len(case.repeated), phase, None if n == len(steps) else round_index)
        previous = self._computed.get(key)
        if previous is None or previous.n != n:
            if n <= THREAD_STEPS:
                self._compute(key, _rounds(steps, key[3]))
            elif key not in self._due and (
                previous is None or n < previous.n or n >= RECOMPUTE_GROWTH * previous.n
            ):
                self._due[key] = _rounds(steps, key[3])
        return self._computed.get(key)

    @property
    def has_pending_work(self) -> bool:
        """Whether there is work for a thread and none is in progress."""
        return bool(self._due) and not self._busy

    async def compute_pending(self) -> None:
        """Compute in a thread what has to be computed there."""
        self._busy = True
        try:
            for key, rounds in list(self._due.items()):
                await asyncio.to_thread(self._compute, key, rounds)
                del self._due[key]
        finally:
            self._busy = False

    def _compute(self, key: Key, rounds: list[array[float]]) -> None:
        from benchtui.sessions.stats.distribution import distribution_of_rounds  # loaded by now

        if (spread := distribution_of_rounds(rounds)) is not None:
            self._computed[key] = spread


def _rounds(steps: Columns, wanted: int | None) -> list[array[float]]:
    """Return copies of the step times of each round, or of one of them."""
    return [steps.wall_ms[first:end] for index, first, end in steps.spans() if wanted in (None, index)]


MAX_CASES_AT_ONCE = 200
"""Maximum number of cases computed between two frames."""
MAX_STEPS_AT_ONCE = 1_000_000


class CaseMetrics:
    """Metrics of a session's cases, as far as computed."""

    def __init__(self) -> None:
        self._known: dict[int, Metrics | None] = {}
        self._steps: dict[int, tuple[int, bool]] = {}
        """Number of steps when a case was computed, and whether it had ended."""

    def of(self, case: CaseState) -> Metrics | None:
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
                due.append((with_result(case, None) or case) if case.finished else case.snapshot())
                steps += len(case.measured)
        if due:
            computed = await asyncio.to_thread(lambda: list(map(summarize, due)))
            self._known |= {case.index: metrics for case, metrics in zip(due, computed, strict=True)}
        return bool(due)
