"""Figures of a session's cases, computed away from the keys: once for a case that has ended."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics

T = TypeVar("T")

AT_ONCE = 200
"""Cases computed between two pictures."""
STEPS_AT_ONCE = 1_000_000
WORTH_IT = 1.02
"""How many times the steps of a running case must have become for its figures to be computed again."""


class Seen:
    """Which cases, in which state, something was computed of."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[int, bool]] = {}
        """Steps of each case at that time, and whether it had ended."""

    def is_due(self, case: CaseState) -> bool:
        """Whether there is something new to compute of a case."""
        steps, ended = self._steps.get(case.index, (0, False))
        if case.finished is not None:
            return not ended
        now = len(case.measured)
        return now > 0 and (now < steps or now >= WORTH_IT * max(steps, 1))

    def note(self, case: CaseState) -> None:
        """Take down that all of a case is being computed."""
        self._steps[case.index] = (len(case.measured), case.finished is not None)

    def has_ended(self, index: int) -> bool:
        """Whether a case was computed after it had ended: there will be nothing new."""
        return self._steps.get(index, (0, False))[1]


class CaseFigures:
    """The metrics of all cases, as far as they are computed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[int, Metrics | None] = {}
        self._seen = Seen()
        self._at = 0
        """All cases before this one have ended and are known."""

    def of(self, case: CaseState) -> "Metrics | None":
        """The newest metrics of a case; None where there are none, or none yet."""
        return self._known.get(case.index)

    async def renew(self) -> bool:
        """Compute what is new, some of it at once; whether there was anything."""
        due = self._due()
        for case in due:
            self._seen.note(case)
        found = await compute(due, _metrics)
        self._known |= {case.index: each for case, each in zip(due, found, strict=True)}
        while self._seen.has_ended(self._at):
            self._at += 1
        return bool(due)

    def _due(self) -> list[CaseState]:
        due: list[CaseState] = []
        steps = 0
        for case in self._session.cases[self._at :]:
            if len(due) == AT_ONCE or steps > STEPS_AT_ONCE:
                break
            if self._seen.is_due(case):
                due.append(case)
                steps += len(case.measured)
        return due


async def compute(cases: Sequence[CaseState], figure: Callable[[CaseState], T]) -> list[T]:
    """A figure of each case, computed in a thread; raises what the function raises."""
    still = [case if case.finished else _still(case) for case in cases]
    return await asyncio.to_thread(lambda: [figure(case) for case in still]) if still else []


def _still(case: CaseState) -> CaseState:
    """A case with columns of its own: those of a running one can't grow while a thread computes with them."""
    return case.first(case.sizes())


def _metrics(case: CaseState) -> "Metrics | None":
    from benchtui.sessions.stats.case_metrics import metrics  # numpy: a tenth of a second that no key waits for

    return metrics(case)
