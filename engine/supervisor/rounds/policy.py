"""Round policy: results of all rounds, and whether a disturbed round is measured again."""

from collections import defaultdict

import msgspec

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import contention_marks, neighbor_marks, throttling
from benchtui.sessions.stats.ended_rounds import as_end, as_round, end_of_case
from benchtui.sessions.sweep import Measure

DEFAULT_RETRIES = 2
"""Retries of a case that was throttled, or that may wait for a quiet machine, unless the sweep sets them."""
PAUSE_S = 5.0
"""First pause in seconds before a retry; each further one is twice as long."""


class Retry(msgspec.Struct, frozen=True):
    """Repeat of a case: its reason, and the pause in seconds that lets the machine settle."""

    reason: str
    pause_s: float
    quiet: bool = False
    """Whether the case waits for a quiet machine instead."""


class Rounds:
    """Collects the ends of all rounds and combines them into the end of a case."""

    def __init__(self, rules: Measure, *, wait_for_quiet: bool = False) -> None:
        """``wait_for_quiet`` says whether a case that neighbors disturbed waits until they are gone."""
        self._rules = rules
        self._wait_for_quiet = wait_for_quiet
        self._ends: dict[int, list[CaseFinished]] = defaultdict(list)
        self._processes = 0

    def restore(self, session: Session) -> None:
        """Restore the finished rounds of a recorded session."""
        for case in session.cases:
            self._ends[case.index] = [as_end(one_round) for one_round in case.rounds]

    def scratch(self, case: int) -> str:
        """Return the folder name for a process's compiler caches: a new one, unless the sweep shares one."""
        if self._rules.caches == "shared":
            return "shared"
        self._processes += 1
        return f"case-{case}-{self._processes}"

    def retry(self, ended: CaseFinished, attempt: int) -> Retry | None:
        """Return the next retry after ``attempt`` retries; None if the case isn't measured again."""
        if ended.outcome != "ok" or ended.environment is None or ended.measured_s is None:
            return None
        span_s = ended.measured_s[1] - ended.measured_s[0]
        throttled = throttling(ended.environment)
        shared = contention_marks(ended.environment, span_s)
        quiet = self._wait_for_quiet and bool(neighbor_marks(ended.environment, span_s))
        default = DEFAULT_RETRIES if throttled or quiet else 0
        retries = default if self._rules.retries is None else self._rules.retries
        if attempt >= retries or not (throttled or shared):
            return None
        return Retry(", ".join((*throttled, *shared)), PAUSE_S * 2**attempt, quiet)

    def ended(self, end: CaseFinished, round_index: int) -> RoundFinished | CaseFinished:
        """Return the event to record: the end of the round, or of the case if it was the last or failed.

        With ``rounds = "auto"``, skipping a further round only ends the measuring of its case.
        """
        ends = self._ends[end.case]
        if end.outcome == "skipped" and self.can_end(end.case):
            return self.end(end.case, end.reason or "", end.t)
        ends.append(end)
        if end.outcome != "ok":
            return end
        if self._rules.rounds_auto or round_index < self._rules.rounds - 1:
            return as_round(end, round_index)
        return end_of_case(ends)

    def can_end(self, case: int) -> bool:
        """Return whether a case can end with its finished rounds, because further ones are optional."""
        return self._rules.rounds_auto and len(self._ends[case]) >= self._rules.rounds

    def end(self, case: int, reason: str, now_s: float) -> CaseFinished:
        """Return the end of a case that gets no further round, for the reason given."""
        end = end_of_case(self._ends[case])
        return msgspec.structs.replace(end, t=now_s, not_measured_further=reason)
