"""Evidence for comparisons: the summarized rounds of a case, and the noise of its session.

Computed from the steps without the other metrics, because a screen needs it while cases are still finishing.
``results`` provides the same for cases with all metrics.
"""

from __future__ import annotations  # Metrics is only a type here: its module imports numpy

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

import msgspec
from msgspec import structs
from msgspec.structs import replace

from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import left_out_rounds
from benchtui.sessions.stats.noise import Noise, kind_of, noise_of
from benchtui.sessions.stats.sampling import Sample, Statistic
from benchtui.sessions.sweep import Config

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics
    from benchtui.sessions.stats.distribution import Distribution


class Sampled(Protocol):
    """A case with the data that comparisons use."""

    @property
    def case(self) -> CaseState:
        """The case."""

    @property
    def rounds(self) -> Sequence[Sample]:
        """Summary of each round's steps."""

    @property
    def noise(self) -> Noise:
        """Noise of the session on the case's kind of device."""

    @property
    def session(self) -> Session | None:
        """Session that measured the case."""


class Evidence(msgspec.Struct, frozen=True):
    """A successful case with the data that comparisons use."""

    case: CaseState
    rounds: tuple[Sample, ...]
    noise: Noise = msgspec.field(default_factory=Noise)
    session: Session | None = None

    @property
    def config(self) -> Config:
        """Options of the case."""
        return self.case.config


def counted(case: CaseState) -> CaseState:
    """Return a case without the rounds that don't count: those next to a neighbor, if it has others."""
    left_out = frozenset() if case.metrics else left_out_rounds(case)
    others = case.without_rounds(left_out) if left_out else case
    return others if len(others.measured) else case


def summarize(case: CaseState) -> Metrics | None:
    """Return the metrics of a case: the function that sessions without steps are loaded with."""
    from benchtui.sessions.stats.case_metrics import metrics  # imports numpy, which takes 0.1 s

    return metrics(case)


def computed_metrics(case: CaseState) -> Metrics | None:
    """Return the metrics of a case if they have been computed and kept."""
    return cast("Metrics | None", case.metrics)


def outliers_of(case: CaseState, spread: Distribution | None = None) -> tuple[int, ...]:
    """Return the indices (from 0) of the outliers among the measured steps, in rounds that count.

    ``spread`` is that of all measured steps, if known.
    """
    if computed := computed_metrics(case):
        return computed.outliers
    from benchtui.sessions.stats.distribution import outliers  # imports numpy, which takes 0.1 s

    others = counted(case)
    if others is case:
        return outliers(case.measured.wall_ms, spread)
    rounds = {round_index for round_index, _, _ in others.measured.spans()}
    spans = (range(first, end) for round_index, first, end in case.measured.spans() if round_index in rounds)
    steps = [step for span in spans for step in span]
    return tuple(steps[place] for place in outliers(others.measured.wall_ms))


def rounds_of(case: CaseState) -> tuple[Sample, ...]:
    """Return the rounds of a case from its steps, or the repeats of a source that kept none."""
    if computed := computed_metrics(case):
        return computed.rounds
    if len(case.measured):
        from benchtui.sessions.stats.distribution import sample  # imports numpy, which takes 0.1 s

        return tuple(round_ for times in counted(case).measured.by_round() if (round_ := sample(times)))
    reported = case.finished.reported if case.finished else None
    return repeats(reported) if reported else ()


def medians_of(case: CaseState) -> tuple[Statistic, ...]:
    """Return only the medians of ``rounds_of``, in a fifth of the time."""
    if case.metrics or not len(case.measured):
        return tuple(round_.median for round_ in rounds_of(case))
    from benchtui.sessions.stats.distribution import median  # imports numpy, which takes 0.1 s

    return tuple(round_median for times in counted(case).measured.by_round() if (round_median := median(times)))


def repeats(reported: Reported) -> tuple[Sample, ...]:
    """Return the repeats of a source that reports the mean of each but no steps."""
    whole_ms = reported.latency_mean_ms if reported.latency_median_ms is None else reported.latency_median_ms
    means_ms = reported.repeats_mean_ms or (() if whole_ms is None else (whole_ms,))
    figures = (Statistic(mean_ms) for mean_ms in means_ms)
    return tuple(Sample(n=reported.steps or 0, median=figure, low=None, mean=figure) for figure in figures)


def with_noise(evidence: Iterable[Evidence], session: Session) -> list[Evidence]:
    """Return the evidence of a session's cases, each with the noise estimated from all of them."""
    every = list(evidence)
    start, margin = session.start, session.same_within
    noise_by_kind = noise_of(every, aa_pair(every), start.process_spread, margin, bool(start.host.virtual))
    return [
        replace(case_evidence, noise=noise_by_kind[kind_of(case_evidence.case)], session=session)
        for case_evidence in every
    ]


def aa_pair(evidence: Sequence[Evidence]) -> tuple[Evidence, Evidence] | None:
    """Return the two cases of an A/A pair, or None unless both succeeded."""
    again = next((case_evidence for case_evidence in evidence if case_evidence.config.repeat), None)
    wanted = structs.replace(again.config, repeat=0) if again else None
    first = next((case_evidence for case_evidence in evidence if case_evidence.config == wanted), None)
    return (first, again) if first and again else None
