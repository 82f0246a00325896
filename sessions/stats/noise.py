"""Noise model: process-to-process variation of a case, and how much of it a session can measure.

Each process starts with a different memory layout, different clocks and different autotuning choices, so its
typical step differs from the previous process's by more than the variation within a process suggests. Three
rounds suffice to measure this. With fewer, it is estimated from the repeats and the A/A pair of this session,
the spread recorded by earlier sessions on the machine, and an assumption, whose weight decreases with the
amount of data.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from math import exp, log, sqrt
from typing import Protocol

import msgspec

from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SAME_WITHIN
from benchtui.sessions.stats.disturbance import estimate_slowdown
from benchtui.sessions.stats.sampling import Sample, Statistic, log_mean_of_rounds

ASSUMED = 0.02
"""Relative standard deviation assumed between processes if nothing was measured. ``make bench`` finds less on a
quiet processor, and more on a shared machine."""
ASSUMED_VIRTUAL = 0.1
"""The same for the processors of a virtual machine, which may share cores with other machines. On one of them,
fresh processes of one case differed by 13%. They ran at one of two speeds, for seconds at a time."""
ASSUMED_FREEDOM = 4.0
"""Weight of that assumption in degrees of freedom; five repeats outweigh it."""
BETWEEN_SESSIONS = 0.003
"""Relative standard deviation assumed between two sessions on one machine, on top of that between processes."""
MAX_NOISE_MARGIN = 0.05
"""Maximum to which the noise floor can raise the margin, so that a difference of 10% is never the same."""


KINDS = ("cpu", "cuda")
"""Kinds of devices; each has its own noise."""


class Noise(msgspec.Struct, frozen=True):
    """Noise of a session on one kind of device."""

    between: float = ASSUMED
    """Relative standard deviation between fresh processes of one case."""
    freedom: float = ASSUMED_FREEDOM
    """Degrees of freedom of ``between``, including those of the assumption."""
    measured: bool = False
    """Whether any of it was measured, in this session or in earlier ones on the machine."""
    floor: float | None = None
    """Absolute log ratio of the A/A pair's medians; None without such a pair."""
    same_within: float = SAME_WITHIN
    """Requested margin of equivalence."""

    @property
    def margin(self) -> float:
        """Margin of equivalence: at least twice the difference of the A/A pair, up to ``MAX_NOISE_MARGIN``."""
        return max(self.same_within, min(2 * (self.floor or 0.0), MAX_NOISE_MARGIN))


class Measured(Protocol):
    """A case with its summarized rounds."""

    @property
    def case(self) -> CaseState:
        """The case."""

    @property
    def rounds(self) -> Sequence[Sample]:
        """Summary of each round's steps."""


class RepeatSpread:
    """Variation between the rounds of the cases on one kind of device, added up case by case."""

    def __init__(self) -> None:
        self._total = self._freedom = 0.0
        self._all_single = True
        """Whether no case has several rounds."""

    def add_case(self, case: CaseState, medians: Sequence[Statistic]) -> None:
        """Add a case, unless it was disturbed: a disturbance isn't process-to-process variation."""
        if estimate_slowdown(case, throughout=False).by <= 1:
            self.add(medians)

    def add(self, medians: Sequence[Statistic]) -> None:
        """Add the medians of a case's rounds."""
        self._all_single = self._all_single and len(medians) == 1
        if len(medians) > 1 and min(median.ms for median in medians) > 0:
            _, variance, degrees = log_mean_of_rounds(medians)
            self._total += degrees * variance * len(medians)
            self._freedom += degrees

    def with_pair(self, pair: tuple[Statistic, Statistic] | None) -> tuple[float, float]:
        """Return the pooled log variance and its degrees of freedom.

        If no case has several rounds, the A/A pair counts as two rounds of one case.
        """
        whole = self
        if pair and self._all_single:
            whole = copy(self)
            whole.add(pair)
        return (whole._total / whole._freedom if whole._freedom else 0.0), whole._freedom


def noise_of(
    results: Iterable[Measured],
    aa: tuple[Measured, Measured] | None,
    earlier: dict[str, ProcessSpread],
    same_within: float = SAME_WITHIN,
    virtual: bool = False,
) -> dict[str, Noise]:
    """Estimate the noise of a session per kind of device.

    It comes from the cases, the A/A pair and earlier sessions. Only cases with several rounds contribute;
    others may be left out of ``results``. ``virtual`` says whether the machine is a virtual one.
    """
    spreads: dict[str, RepeatSpread] = {}
    for result in results:
        spread = spreads.setdefault(kind_of(result.case), RepeatSpread())
        spread.add_case(result.case, [round_.median for round_ in result.rounds])
    return noise_by_kind(spreads, aa, earlier, same_within, virtual)


def noise_by_kind(
    spreads: dict[str, RepeatSpread],
    aa: tuple[Measured, Measured] | None,
    earlier: dict[str, ProcessSpread],
    same_within: float = SAME_WITHIN,
    virtual: bool = False,
) -> dict[str, Noise]:
    """Estimate the noise as ``noise_of`` does, from accumulated spreads."""
    return {
        kind: _noise(
            spreads.get(kind, RepeatSpread()),
            _pair(aa, kind),
            earlier.get(kind),
            same_within,
            ASSUMED_VIRTUAL if virtual and kind == "cpu" else ASSUMED,
        )
        for kind in dict.fromkeys((*KINDS, *spreads))
    }


def kind_of(case: CaseState) -> str:
    """Return the kind of device of a case, ``cpu`` or ``cuda``, by which noise is grouped."""
    return case.config.device.partition(":")[0]


def spread_between(repeats: Iterable[Sequence[Statistic]]) -> tuple[float, float]:
    """Return the pooled log variance between the rounds of each case, and its degrees of freedom."""
    spread = RepeatSpread()
    for medians in repeats:
        spread.add(medians)
    return spread.with_pair(None)


def _noise(
    repeats: RepeatSpread,
    pair: tuple[Statistic, Statistic] | None,
    earlier: ProcessSpread | None,
    same_within: float,
    assumed: float,
) -> Noise:
    variance, freedom = repeats.with_pair(pair)
    sum_of_squares, degrees = variance * freedom, freedom
    if earlier is not None:
        sum_of_squares += earlier.between**2 * earlier.freedom
        degrees += earlier.freedom
    whole = ASSUMED_FREEDOM + degrees
    return Noise(
        between=sqrt((assumed**2 * ASSUMED_FREEDOM + sum_of_squares) / whole),
        freedom=whole,
        measured=degrees > 0,
        floor=abs(log(pair[1].ms / pair[0].ms)) if pair else None,
        same_within=same_within,
    )


def _pair(aa: tuple[Measured, Measured] | None, kind: str) -> tuple[Statistic, Statistic] | None:
    """Return the typical steps of the A/A pair, or None if it ran on another kind of device."""
    if aa is None or kind_of(aa[0].case) != kind or not all(result.rounds for result in aa):
        return None
    one, other = (_typical([round_.median for round_ in result.rounds]) for result in aa)
    return (one, other) if one.ms > 0 and other.ms > 0 else None


def _typical(figures: Sequence[Statistic]) -> Statistic:
    """Reduce the medians of the rounds to one value, their geometric mean."""
    if len(figures) == 1 or min(figure.ms for figure in figures) <= 0:
        return min(figures, key=lambda figure: figure.ms)
    center, variance, _ = log_mean_of_rounds(figures)
    return Statistic(exp(center), sqrt(variance))
