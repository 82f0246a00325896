"""Turns: open questions that cases decide by taking turns on their device, and which cases are next.

Where fresh processes of one case differ by more than a few percent, mostly because the machine changes its
pace, ordinary rounds decide little. Cases that take turns run at the same paces. Four of them answer six
questions in the time that two pairs take.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from benchtui.sessions.advice.open_questions import ROUNDS_WORTH, Obstacle, OpenQuestion
from benchtui.sessions.estimates.stop_limits import TURNS_S
from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.state.case import CaseState, peak_mb
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.noise import OWN_ROUNDS, pairs_by_turns
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import FIRST_ROUNDS
from benchtui.sessions.sweep import Work

MOST_STEP_MS = 5000.0
"""Longest step of a case that takes turns. Over longer turns, the machine changes its pace."""
MOST_TRIES = 2
"""Pairs that are measured for each one that is wanted, because rounds next to a neighbor don't count."""
MOST_MEMORY = 0.8
"""Share of the device's memory that the cases may need together."""
MOST_ASIDE = 0.2
"""Largest use of processors by the children of a case that takes turns; 1 is a full processor."""
MOST_TOGETHER = 4
"""Maximum number of cases that take turns. The more there are, the further apart are their turns."""
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
        """Return the cases that take turns next; empty if there are none.

        The first question that can be decided in time is pursued until it is, together with others of the same
        work. If there is none, the first one that isn't too close to be decided gets the rest of the time, of
        which a round takes at most the time of one case too much. Which case has the first turn alternates.
        """
        open_ones = [question for question in questions if self.suit(question) and self.pairs(question)]
        if not open_ones or left_s <= 0:
            return ()
        by_worth = sorted(open_ones, key=lambda question: (self._is_close(question), not _is_begun(question)))
        alike: dict[tuple[Work, str], list[OpenQuestion]] = {}
        for question in by_worth:
            alike.setdefault(_setting(question), []).append(question)
        groups = [(question, self._together(question, alike[_setting(question)])) for question in by_worth]
        in_time = (group for group in groups if self.pairs(group[0]) * sum(map(_round_s, group[1])) <= left_s)
        late = (group for group in (*groups, (by_worth[0], by_worth[0].cases)) if _may_begin(group[1], left_s))
        question, cases = next(chain(in_time, late), (by_worth[0], ()))
        order = [case.index for case in cases]
        return tuple(reversed(order) if _tries(question) % 2 else order)

    def pairs(self, question: OpenQuestion) -> int:
        """Return the further pairs of rounds that would decide a question; 0 if too many were disturbed."""
        wanted, done = self._wanted(question), len(pairs_by_turns(*self._rows(question)))
        return max(0, wanted - done) if _tries(question) < MOST_TRIES * wanted else 0

    def _together(self, question: OpenQuestion, others: Iterable[OpenQuestion]) -> list[CaseState]:
        """Return the cases of a question, and of others of its work and device, as long as there is room."""
        cases = list(question.cases)
        for other in others:
            if len(cases) == MOST_TOGETHER:
                break
            more = [case for case in other.cases if case not in cases]
            if len(cases) + len(more) <= MOST_TOGETHER and self._fit([*cases, *more]):
                cases += more
        return cases

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
        if any(map(_works_aside, question.cases)):
            return False
        short = max(row.typical_ms for row in self._rows(question)) <= MOST_STEP_MS
        return short and self._fit(question.cases)

    def _fit(self, cases: Sequence[CaseState]) -> bool:
        """Return whether all cases fit in the memory of their device; False if that is unknown."""
        peaks_mb = [peak for peak in map(_highest_mb, cases) if peak is not None]
        total_mb = self._memory_mb(cases[0])
        return total_mb is not None and len(peaks_mb) == len(cases) and sum(peaks_mb) <= MOST_MEMORY * total_mb

    def _memory_mb(self, case: CaseState) -> float | None:
        host = self._session.host_of(case)
        if case.config.device == "cpu":
            return host.usable_memory_mb
        index = self._session.gpu_of(case)
        return next((gpu.memory_mb for gpu in host.gpus if gpu.index == index), None)

    def _rows(self, question: OpenQuestion) -> Iterator[Result]:
        return (self._results[case.index] for case in question.cases)


def _works_aside(case: CaseState) -> bool:
    """Return whether the children of a case, such as a DataLoader's, would go on in the turns of others."""
    return any(_aside(end, case.measured.of_round(number)) > MOST_ASIDE for number, end in enumerate(case.ends))


def _aside(end: RoundFinished | CaseFinished, steps: int) -> float:
    """Return the use of processors by the children of a case, in a round without turns."""
    used = end.environment
    if used is None or not (used.worker_cpu and used.user_ms and end.measured_s and steps) or end.turns:
        return 0.0
    own_s = steps * (used.user_ms + (used.system_ms or 0.0)) / 1000
    return used.worker_cpu - own_s / max(end.measured_s[1] - end.measured_s[0], 1e-9)


def _setting(question: OpenQuestion) -> tuple[Work, str]:
    config = question.cases[0].config
    return config.work, config.device


def _tries(question: OpenQuestion) -> int:
    """Return the pairs of rounds that the cases of a question have, including disturbed ones."""
    one, other = question.cases
    return sum(end.turns is not None and other.index in end.turns.partners for end in one.ends)


def _is_begun(question: OpenQuestion) -> bool:
    """Return whether the cases have taken turns, but not often enough for a ratio."""
    return _tries(question) > 0 and not (question.ratio and question.ratio.by_turns)


def _highest_mb(case: CaseState) -> float | None:
    """Return the highest known peak memory of a case's rounds."""
    peaks = (peak_mb(case.config.device, end.memory) for end in case.ends)
    return max((peak for peak in peaks if peak is not None), default=None)


def _round_s(case: CaseState) -> float:
    """Return the part of the time by turns that is due to one case: its start, and its own turns."""
    newest = case.ends[-1]
    if newest.turns is not None:
        return case.newest_round_s / (1 + len(newest.turns.partners))
    measured_s = newest.measured_s[1] - newest.measured_s[0] if newest.measured_s else 0.0
    return case.newest_round_s - measured_s + TURNS_S


def _may_begin(cases: Sequence[CaseState], left_s: float) -> bool:
    """Return whether a round by turns ends in time, or at most the time of one case too late."""
    seconds = list(map(_round_s, cases))
    return sum(seconds) - left_s <= max(seconds)
