"""The measured cases of a session with their figures, and the series of batch sizes they form."""

from __future__ import annotations  # for metrics, whose module imports numpy

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import TYPE_CHECKING

from benchtui.sessions.state.case import CaseState, peak_mb
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats import evidence
from benchtui.sessions.stats.evidence import Evidence, with_noise
from benchtui.sessions.stats.noise import Noise
from benchtui.sessions.stats.sampling import Sample
from benchtui.sessions.sweep import Config

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics

SERIES_OPTIONS = (
    "machine",
    "device",
    "precision",
    "attention",
    "compile",
    "threads",
    "padding",
    "sequence_length",
    "label",
)
"""Every option but the batch size."""


@dataclass(frozen=True, slots=True)
class Result:
    """A case that ended well, with its figures."""

    case: CaseState
    metrics: Metrics
    noise: Noise = field(default=Noise(), repr=False)
    """What is known of the noise of its session."""
    session: Session | None = field(default=None, repr=False)
    """The session that it was measured in."""

    @property
    def config(self) -> Config:
        """The options of the case."""
        return self.case.config

    @property
    def name(self) -> str:
        """The readable name of the case."""
        return self.case.name

    @property
    def typical_ms(self) -> float:
        """The median step in milliseconds: of several rounds the geometric mean of their medians.

        The mean where the source kept no steps. It is what ratios are of.
        """
        latency, medians = self.metrics.latency_ms, self.metrics.rounds_ms
        if len(medians) > 1 and self.case.steps_measured and min(medians) > 0:
            return geometric_mean(medians)
        return latency.mean if latency.median is None else latency.median

    @property
    def token_rate(self) -> tuple[float | None, str]:
        """Tokens a second with their unit: the real ones, or those with padding where only they are known."""
        real, padded = self.metrics.tokens_per_s, self.metrics.padded_tokens_per_s
        return (real, "tokens/s") if real is not None else (padded, "tokens/s with padding")

    @property
    def tokens_per_mb(self) -> float | None:
        """Tokens a second per MB of peak memory; None without either."""
        return self._over_memory(self.token_rate[0])

    @property
    def samples_per_mb(self) -> float | None:
        """Samples a second per MB of peak memory."""
        return self._over_memory(self.metrics.samples_per_s)

    @property
    def per_mb(self) -> tuple[float | None, str]:
        """The rate per MB with its unit: of tokens, or of samples where the task has no tokens."""
        if self.tokens_per_mb is None:
            return self.samples_per_mb, "samples/s per MB"
        return self.tokens_per_mb, f"{self.token_rate[1]} per MB"

    def _over_memory(self, rate: float | None) -> float | None:
        memory_mb = self.case.peak_memory_mb
        return rate / memory_mb if rate is not None and memory_mb else None

    @property
    def rounds(self) -> tuple[Sample, ...]:
        """What each round's steps say of the case."""
        return self.metrics.rounds

    @property
    def memory_range_mb(self) -> tuple[float, float] | None:
        """The lowest and the highest peak of memory that a round is known to have had."""
        peak = self.case.peak_memory_mb
        if not peak:
            return None
        known = (peak_mb(self.config.device, each.memory) for each in self.case.rounds)
        return min(peak, *(each for each in known if each), peak), peak


@dataclass(frozen=True, slots=True)
class Series:
    """Cases that differ in their batch size alone, the smallest first; never empty."""

    results: tuple[Result, ...]

    @property
    def config(self) -> Config:
        """The options of the first case; all but the batch size hold for the series."""
        return self.results[0].config


def measured(session: Session) -> tuple[Result, ...]:
    """The cases that ended well, in the order of the plan; their figures are computed here and only once.

    The second case of an A/A pair is left out: it is no choice of its own.
    """
    return tuple(each for each in _all(session) if not each.config.repeat)


def aa_pair(session: Session) -> tuple[Result, Result] | None:
    """The two cases of the session's A/A pair, where there is one and both ended well."""
    if not any(case.config.repeat for case in session.cases):
        return None
    every = {each.case.index: each for each in _all(session)}
    pair = evidence.aa_pair([Evidence(each.case, each.rounds) for each in every.values()])
    return (every[pair[0].case.index], every[pair[1].case.index]) if pair else None


def _all(session: Session) -> list[Result]:
    """Every case that ended well, with what is known of the session's noise."""
    from benchtui.sessions.stats.case_metrics import (
        metrics,  # numpy: a tenth of a second that no screen waits for
    )

    ended = (case for case in session.cases if case.state == "ok")
    figures = {case.index: found for case in ended if (found := metrics(case))}
    plain = (Evidence(session.cases[index], found.rounds) for index, found in figures.items())
    return [
        Result(each.case, figures[each.case.index], each.noise, session) for each in with_noise(plain, session)
    ]


def series(results: Iterable[Result]) -> tuple[Series, ...]:
    """The results by everything but their batch size, in the order in which each series begins."""
    found: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        found.setdefault(series_key(result.config), []).append(result)
    return tuple(Series(tuple(sorted(row, key=lambda each: each.config.batch_size))) for row in found.values())


def series_key(config: Config) -> tuple[object, ...]:
    """What two cases of a series have in common."""
    return tuple(getattr(config, option) for option in SERIES_OPTIONS)


def varied(configs: Iterable[Config]) -> tuple[str, ...]:
    """The options, the batch size aside, that don't have the same value in all of these."""
    columns = zip(*map(series_key, configs), strict=True)
    return tuple(name for name, column in zip(SERIES_OPTIONS, columns, strict=False) if len(set(column)) > 1)


def by_length(results: Iterable[Result]) -> dict[int, tuple[Result, ...]]:
    """The results of each sequence length: another length is other work, and not a choice of configuration."""
    found: dict[int, list[Result]] = {}
    for result in results:
        found.setdefault(result.config.sequence_length, []).append(result)
    return {length: tuple(each) for length, each in found.items()}
