"""How far fresh processes of one case lie apart on a machine, and how much of it a session can show.

A process is started with another layout of memory, other clocks and other choices of autotuning, so that its
typical step differs from that of the process before by more than its own steps tell. Three rounds show that by
themselves. With fewer, it is taken from what is known of the machine: the repeats and the A/A pair of this
session, what earlier sessions on the machine left in the record, and, as little as nothing else is known, an
assumption.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Protocol

from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SAME_WITHIN
from benchtui.sessions.stats.disturbance import slowed
from benchtui.sessions.stats.sampling import Figure, Sample, over_rounds

ASSUMED = 0.02
"""Relative standard deviation between processes where nothing was measured: what ``make bench`` finds on a
quiet processor is below it, what a shared machine shows is above."""
ASSUMED_VIRTUAL = 0.1
"""The same of a virtual machine's processors, whose cores others may share: fresh processes of one case lay 13%
apart on one, at one of two paces that lasted for seconds."""
ASSUMED_FREEDOM = 4.0
"""What such an assumption weighs, in degrees of freedom: five repeats outweigh it."""
BETWEEN_SESSIONS = 0.003
"""Relative standard deviation assumed between two sessions of one machine, beyond that between processes."""
MOST_FLOOR = 0.05
"""The margin never grows beyond this with the noise floor: 10% are never the same."""


KINDS = ("cpu", "cuda")
"""Kinds of devices, each with noise of its own."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a session's noise, for one kind of device."""

    between: float = ASSUMED
    """Relative standard deviation between fresh processes of one case."""
    freedom: float = ASSUMED_FREEDOM
    """Degrees of freedom of it, those of the assumption included."""
    measured: bool = False
    """Whether any of it was measured, in this session or in earlier ones of the machine."""
    floor: float | None = None
    """Absolute difference of the logarithms of the A/A pair's medians; None without such a pair."""
    same_within: float = SAME_WITHIN
    """Margin of equivalence, as the reader wants it."""

    @property
    def margin(self) -> float:
        """Margin of equivalence: never below what the session's two equal cases differ by, up to a limit."""
        return max(self.same_within, min(2 * (self.floor or 0.0), MOST_FLOOR))


class Measured(Protocol):
    """A case with what its rounds came to."""

    @property
    def case(self) -> CaseState:
        """The case."""

    @property
    def rounds(self) -> Sequence[Sample]:
        """Each round's steps, summed up."""


def noise_of(
    results: Iterable[Measured],
    aa: tuple[Measured, Measured] | None,
    earlier: dict[str, ProcessSpread],
    same_within: float = SAME_WITHIN,
    virtual: bool = False,
) -> dict[str, Noise]:
    """The noise of a session by kind of device, from its measured cases, its A/A pair and its record.

    Of the cases those with several rounds say something; others may be left out. ``virtual`` says whether the
    machine is a virtual one.
    """
    found: dict[str, list[Sequence[Figure]]] = {kind: [] for kind in KINDS}
    for each in results:
        repeats = found.setdefault(kind_of(each.case), [])
        if slowed(each.case, throughout=False).by > 1:
            continue  # what disturbed it is told apart from how processes differ
        repeats.append([round_.median for round_ in each.rounds])
    return {
        kind: _noise(
            repeats,
            _pair(aa, kind),
            earlier.get(kind),
            same_within,
            ASSUMED_VIRTUAL if virtual and kind == "cpu" else ASSUMED,
        )
        for kind, repeats in found.items()
    }


def kind_of(case: CaseState) -> str:
    """``cpu`` or ``cuda``: what a case's noise goes by."""
    return case.config.device.partition(":")[0]


def spread_between(repeats: Iterable[Sequence[Figure]]) -> tuple[float, float]:
    """Pooled variance of the logarithms between the rounds of each case, and its degrees of freedom."""
    total = freedom = 0.0
    for figures in repeats:
        if len(figures) > 1 and min(each.ms for each in figures) > 0:
            _, variance, degrees = over_rounds(figures)
            total += degrees * variance * len(figures)
            freedom += degrees
    return (total / freedom if freedom else 0.0), freedom


def _noise(
    repeats: list[Sequence[Figure]],
    pair: tuple[Figure, Figure] | None,
    earlier: ProcessSpread | None,
    same_within: float,
    assumed: float,
) -> Noise:
    apart = [*repeats, pair] if pair and all(len(figures) == 1 for figures in repeats) else repeats
    variance, freedom = spread_between(apart)
    known, degrees = variance * freedom, freedom
    if earlier is not None:
        known += earlier.between**2 * earlier.freedom
        degrees += earlier.freedom
    whole = ASSUMED_FREEDOM + degrees
    return Noise(
        between=sqrt((assumed**2 * ASSUMED_FREEDOM + known) / whole),
        freedom=whole,
        measured=degrees > 0,
        floor=abs(log(pair[1].ms / pair[0].ms)) if pair else None,
        same_within=same_within,
    )


def _pair(aa: tuple[Measured, Measured] | None, kind: str) -> tuple[Figure, Figure] | None:
    """The typical steps of the A/A pair, where it ran on this kind of device."""
    if aa is None or kind_of(aa[0].case) != kind or not all(each.rounds for each in aa):
        return None
    one, other = (_typical([round_.median for round_ in each.rounds]) for each in aa)
    return (one, other) if one.ms > 0 and other.ms > 0 else None


def _typical(figures: Sequence[Figure]) -> Figure:
    """The rounds' medians as one figure: their geometric mean."""
    if len(figures) == 1 or min(each.ms for each in figures) <= 0:
        return min(figures, key=lambda each: each.ms)
    center, variance, _ = over_rounds(figures)
    return Figure(exp(center), sqrt(variance))
