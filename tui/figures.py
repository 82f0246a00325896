"""Metrics of a session's cases, computed away from the keys: once for a case that has ended."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING

from benchtui.sessions.session import CaseState, Session

if TYPE_CHECKING:
    from benchtui.sessions.metrics import Metrics

AT_ONCE = 200
"""Cases computed between two pictures."""
STEPS_AT_ONCE = 1_000_000
WORTH_IT = 1.02
"""How many times the steps of a running case must have become for its figures to be computed again."""


class CaseFigures:
    """What is known so far; a case that ended is computed once, one that runs again and again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[int, tuple[int, str, Metrics | None]] = {}
        """Steps and state of each case when its metrics were computed."""
        self._at = 0
        """Cases before this one have ended and are known."""

    def of(self, case: CaseState) -> "Metrics | None":
        """The newest metrics of a case; None where there are none, or none yet."""
        known = self._known.get(case.index)
        return known[2] if known else None

    @property
    def missing(self) -> int:
        """How many ended cases haven't been computed yet."""
        ended = sum(case.finished is not None for case in self._session.cases[self._at :])
        return ended - sum(
            index >= self._at and state not in ("running", "queued")
            for index, (_, state, _) in self._known.items()
        )

    async def renew(self, only: CaseState | None = None) -> bool:
        """Compute what is new, some of it at once; whether there was anything."""
        due = self._due([only] if only else self._session.cases[self._at :])
        if not due:
            return False
        # a column can't grow while it is computed with in another thread
        still = [replace(case, warmup=deepcopy(case.warmup), measured=deepcopy(case.measured)) for case in due]
        for case, found in zip(still, await asyncio.to_thread(_compute, still), strict=True):
            self._known[case.index] = (len(case.measured), case.state, found)
        while self._at < len(self._session.cases) and self._ended(self._at):
            self._at += 1
        return True

    def _due(self, cases: Sequence[CaseState]) -> list[CaseState]:
        due: list[CaseState] = []
        steps = 0
        for case in cases:
            if self._is_due(case):
                due.append(case)
                steps += len(case.measured)
            if len(due) == AT_ONCE or steps > STEPS_AT_ONCE:
                break
        return due

    def _is_due(self, case: CaseState) -> bool:
        if case.finished is None and not len(case.measured):
            return False
        steps, state, _ = self._known.get(case.index, (0, "", None))
        if case.finished is not None:
            return state != case.state
        return len(case.measured) < steps or len(case.measured) >= WORTH_IT * max(steps, 1)

    def _ended(self, index: int) -> bool:
        known = self._known.get(index)
        return known is not None and known[1] not in ("running", "queued")


def _compute(cases: Sequence[CaseState]) -> "list[Metrics | None]":
    from benchtui.sessions.metrics import metrics  # numpy: a tenth of a second that no key waits for

    return [metrics(case) for case in cases]
