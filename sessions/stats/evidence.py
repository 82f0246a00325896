"""What a comparison knows of a case: its rounds, summed up, and the noise of its session.

Made here from steps, without the other figures of a case and so without numpy: a screen asks for it while cases
still end. ``results`` has the same of cases whose figures are all known.
"""

from __future__ import annotations  # for sessions, whose module imports noise

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from msgspec import structs

from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.noise import Noise, kind_of, noise_of
from benchtui.sessions.stats.sampling import Figure, Sample, sample
from benchtui.sessions.sweep import Config

if TYPE_CHECKING:
    from benchtui.sessions.state.session import Session


class Sampled(Protocol):
    """A case as comparisons look at it."""

    @property
    def case(self) -> CaseState:
        """The case."""

    @property
    def rounds(self) -> Sequence[Sample]:
        """Each round's steps, summed up."""

    @property
    def noise(self) -> Noise:
        """What is known of the noise of its session, on its kind of device."""

    @property
    def session(self) -> Session | None:
        """The session that it was measured in."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A case that ended well, as comparisons look at it."""

    case: CaseState
    rounds: tuple[Sample, ...]
    noise: Noise = field(default_factory=Noise)
    session: Session | None = None

    @property
    def config(self) -> Config:
        """The options of the case."""
        return self.case.config


def rounds_of(case: CaseState) -> tuple[Sample, ...]:
    """The rounds of a case from its measured steps, or the repeats of a source that kept none."""
    if case.figures:
        return case.figures.rounds
    if len(case.measured):
        return tuple(found for times in case.measured.by_round() if (found := sample(times)))
    reported = case.finished.reported if case.finished else None
    return repeats(reported) if reported else ()


def repeats(reported: Reported) -> tuple[Sample, ...]:
    """The repeats of a source that gives the mean of each and no steps."""
    whole_ms = reported.latency_mean_ms if reported.latency_median_ms is None else reported.latency_median_ms
    means_ms = reported.repeats_mean_ms or (() if whole_ms is None else (whole_ms,))
    figures = (Figure(mean_ms) for mean_ms in means_ms)
    return tuple(Sample(n=reported.steps or 0, median=figure, low=None, mean=figure) for figure in figures)


def with_noise(found: Iterable[Evidence], session: Session) -> list[Evidence]:
    """The evidence of a session's cases, with what all of it says of the session's noise."""
    every = list(found)
    start, margin = session.start, session.same_within
    known = noise_of(every, aa_pair(every), start.process_spread, margin, bool(start.host.virtual))
    return [replace(each, noise=known[kind_of(each.case)], session=session) for each in every]


def aa_pair(found: Sequence[Evidence]) -> tuple[Evidence, Evidence] | None:
    """The two cases of an A/A pair, where there is one and both ended well."""
    again = next((each for each in found if each.config.repeat), None)
    wanted = structs.replace(again.config, repeat=0) if again else None
    first = next((each for each in found if each.config == wanted), None)
    return (first, again) if first and again else None
