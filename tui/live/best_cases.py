"""Best cases: the ones that clearly lead in throughput, and the range of throughputs so far."""

from collections.abc import Callable, Iterator
from itertools import islice
from math import isfinite

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.disturbance import is_disturbed
from benchtui.sessions.stats.verdicts import Percentiles, Verdict, compare_tails
from benchtui.sessions.sweep import Work
from benchtui.tui.live.case_verdicts import CaseVerdicts

MOST_COMPARED = 2_000
"""Maximum number of successful cases to compare. Beyond that, none is called best."""
COMPARED_PER_FRAME = 30
"""Pairs compared between two frames. Each takes up to half a millisecond."""
LEAST_SPAN = 1.5
"""Smallest ratio at the end of a ratio's bar, so that small differences look small."""


class BestCases:
    """Throughputs of the successful cases, by work, because cases of other work aren't alternatives."""

    def __init__(
        self,
        verdicts: CaseVerdicts,
        rate: Callable[[CaseState], float | None],
        stats: Callable[[CaseState], Percentiles | None],
    ) -> None:
        self._verdicts = verdicts
        self._rate = rate
        self._stats = stats
        self._rates: dict[Work, dict[int, tuple[float, CaseState]]] = {}
        """Throughput in samples/s and case, by work and index."""
        self.best_rate: float | None = None
        """Highest throughput of all ended cases, in samples/s."""
        self._best: frozenset[int] = frozenset()
        """Indices of the best cases found so far."""
        self.searching = False
        """Whether pairs are left to compare."""
        self._search: Iterator[int | None] = iter(())
        self._ranges: dict[Work, tuple[float, float]] = {}
        """Lowest and highest positive throughput, by work."""
        self.span = LEAST_SPAN
        """Largest ratio of two throughputs of the same work, and of any to its baseline."""
        self._count = 0

    def add_ended(self, case: CaseState) -> None:
        """Record a case that has ended, or its ended rounds."""
        work = case.config.work
        rates = self._rates.setdefault(work, {})
        self._count -= rates.pop(case.index, None) is not None
        rate = self._rate(case) if case.has_result and not case.config.repeat else None
        if rate is None or not isfinite(rate):
            return
        rates[case.index] = (rate, case)
        self._count += 1
        self.best_rate = max(rate, self.best_rate or 0.0)
        self._widen_span(work, rate)
        self.compare_again()

    def compare_again(self) -> None:
        """Start comparing again: a case has ended, or been summarized."""
        self._best = frozenset()
        self._search = self._find_best()

    def compare_some(self) -> frozenset[int]:
        """Compare a few more pairs. Return the indices of the best cases found among them."""
        compared = list(islice(self._search, COMPARED_PER_FRAME))
        self.searching = len(compared) == COMPARED_PER_FRAME
        best = frozenset(index for index in compared if index is not None)
        self._best |= best
        return best

    def best_of(self, work: Work) -> CaseState | None:
        """Return the case of some work that clearly has the highest throughput; None if none has."""
        rates = self._rates.get(work, {})
        return next((rates[index][1] for index in self._best if index in rates), None)

    def is_best(self, case: CaseState) -> bool:
        """Return whether a case clearly has the highest throughput, as the report decides it."""
        return case.index in self._best

    def _widen_span(self, work: Work, rate: float) -> None:
        if rate > 0:
            least, most = self._ranges.get(work, (rate, rate))
            least, most = self._ranges[work] = min(least, rate), max(most, rate)
            self.span = max(self.span, most / least)

    def _find_best(self) -> Iterator[int | None]:
        """Yield the best case of each work that clearly has one, and None after each compared pair."""
        if self._count > MOST_COMPARED:
            return
        for rates in filter(None, self._rates.values()):
            keeping = [entry for entry in rates.values() if not self._verdicts.changes_answer(entry[1])]
            ranked = sorted(keeping or rates.values(), key=lambda entry: -entry[0])
            leader, others = ranked[0][1], [case for _, case in ranked[1:]]
            sure = bool(others)
            for other in others:
                sure = self._beats(leader, other)
                yield None
                if not sure:
                    break
            if sure and not is_disturbed(leader.marks) and not self._has_longer_tail(leader, others[0]):
                yield leader.index

    def _beats(self, leader: CaseState, other: CaseState) -> bool:
        ratio = self._verdicts.throughput_ratio(other, leader)
        return ratio is not None and ratio.verdict is Verdict.FASTER

    def _has_longer_tail(self, leader: CaseState, other: CaseState) -> bool:
        """Return whether the leader's slow steps take notably longer per sample than those of the runner-up."""
        sizes = leader.samples_per_step, other.samples_per_step
        own, others = self._stats(leader), self._stats(other)
        return own is not None and others is not None and compare_tails(own, others, sizes) is not None
