"""Turns: open questions that two cases decide by taking turns on their device, and which two are next.

Where fresh processes of one case differ by more than a few percent, mostly because the machine changes its
pace, ordinary rounds decide little. Cases that take turns run at the same paces.
"""

from collections.abc import Iterable, Iterator, Sequence

from benchtui.sessions.advice.open_questions import ROUNDS_WORTH, Obstacle, OpenQuestion
from benchtui.sessions.state.case import CaseState, peak_mb
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.noise import OWN_ROUNDS, pairs_by_turns
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import FIRST_ROUNDS

MOST_STEP_MS = 5000.0
"""Longest step of a case that takes turns. Over longer turns, the machine changes its pace."""
MOST_TRIES = 2
"""Pairs that are measured for each one that is wanted, because rounds next to a neighbor don't count."""
MOST_MEMORY = 0.8
"""Share of the device's memory that two cases may need together."""
_UNDECIDABLE: tuple[Obstacle | None, ...] = ("files", "no interval")
_CLOSE: tuple[Obstacle | None, ...] = ("close", "many rounds")


class Turns:
    """Questions of a session that turns decide."""

    def __init__(self, session: Session, results: Sequence[Result]) -> None:
        self._session = session
        self._results = {row.case.index: row for row in results}

    def suit(self, question: OpenQuestion) -> bool:
        """Return whether turns decide a question about two cases sooner than ordinary rounds.

        Those do if the spread between processes is known, and small enough that a few of them suffice.
        """
        if question.ratio is None or question.obstacle in _UNDECIDABLE or not self._can_take_turns(question):
            return False
        few = question.rounds is not None and question.rounds <= FIRST_ROUNDS
        known = all(self._results[case.index].noise.known for case in question.cases)
        return question.ratio.by_turns or _tries(question) > 0 or not (known and few)

    def next(self, questions: Iterable[OpenQuestion], left_s: float) -> tuple[int, ...]:
        """Return the two cases that take turns next; empty if there are none.

        The first question that can be decided in time comes first, and then that with the fewest pairs. Which
        of the two cases has the first turn alternates.
        """
        open_ones = [each for each in questions if self.suit(each) and self.pairs(each)]
        if not open_ones or left_s <= 0:
            return ()
        in_time = (each for each in open_ones if not self._is_close(each) and self._seconds(each) <= left_s)
        question = next(in_time, None) or min(open_ones, key=_tries)
        one, other = (case.index for case in question.cases)
        return (other, one) if _tries(question) % 2 else (one, other)

    def pairs(self, question: OpenQuestion) -> int:
        """Return the further pairs of rounds that would decide a question; 0 if too many were disturbed."""
        wanted, done = self._wanted(question), len(pairs_by_turns(*self._rows(question)))
        return max(0, wanted - done) if _tries(question) < MOST_TRIES * wanted else 0

    def _seconds(self, question: OpenQuestion) -> float:
        return self.pairs(question) * sum(_round_s(case) for case in question.cases)

    def _wanted(self, question: OpenQuestion) -> int:
        """Return the pairs of rounds that a question is worth; 0 if they wouldn't decide it."""
        if question.ratio is None or not question.ratio.by_turns:
            return OWN_ROUNDS
        if self._is_close(question):
            return ROUNDS_WORTH if self._session.start.sweep.find else 0
        return question.rounds or 0

    def _is_close(self, question: OpenQuestion) -> bool:
        return question.obstacle in _CLOSE and bool(question.ratio and question.ratio.by_turns)

    def _can_take_turns(self, question: OpenQuestion) -> bool:
        """Return whether both cases may be loaded on one device of this machine, and have short steps."""
        run, configs = self._session.start.sweep.run, [case.config for case in question.cases]
        if run.executor != "local" or self._session.nodes or run.wait_below_c is not None or len(configs) != 2:
            return False
        going_on = all(case.state == "queued" and case.index in self._results for case in question.cases)
        if not going_on or len({config.device for config in configs}) != 1:
            return False
        return max(row.typical_ms for row in self._rows(question)) <= MOST_STEP_MS and self._fit(question)

    def _fit(self, question: OpenQuestion) -> bool:
        """Return whether both cases fit in the memory of their device; False if that is unknown."""
        peaks_mb = [_highest_mb(case) for case in question.cases]
        total_mb = self._memory_mb(question.cases[0])
        known_mb = [peak for peak in peaks_mb if peak is not None]
        return total_mb is not None and len(known_mb) == 2 and sum(known_mb) <= MOST_MEMORY * total_mb

    def _memory_mb(self, case: CaseState) -> float | None:
        host = self._session.host_of(case)
        if case.config.device == "cpu":
            limits = (host.memory_mb, host.container_memory_mb)
            return min((limit for limit in limits if limit is not None), default=None)
        index = self._session.gpu_of(case)
        return next((gpu.memory_mb for gpu in host.gpus if gpu.index == index), None)

    def _rows(self, question: OpenQuestion) -> Iterator[Result]:
        return (self._results[case.index] for case in question.cases)


def _tries(question: OpenQuestion) -> int:
    """Return the pairs of rounds that the cases of a question have, including disturbed ones."""
    one, other = question.cases
    return sum(end.turns is not None and end.turns.case == other.index for end in one.ends)


def _highest_mb(case: CaseState) -> float | None:
    """Return the highest known peak memory of a case's rounds."""
    peaks = (peak_mb(case.config.device, end.memory) for end in case.ends)
    return max((peak for peak in peaks if peak is not None), default=None)


def _round_s(case: CaseState) -> float:
    """Return the part of a pair's time that is due to one case."""
    by_turns = bool(case.ends) and case.ends[-1].turns is not None
    return case.newest_round_s / (2 if by_turns else 1)
