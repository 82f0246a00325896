"""The measured cases of a session with their figures, and the series of batch sizes they form."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import structs

from benchtui.sessions.case_state import CaseState
from benchtui.sessions.metrics import Metrics, metrics
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import Config

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
        """The median step, or the mean where the source kept no steps, in milliseconds."""
        latency = self.metrics.latency_ms
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
    def steps_range_ms(self) -> tuple[float, float] | None:
        """From the fastest step to the third quartile of all steps, in milliseconds."""
        latency = self.metrics.latency_ms
        return None if latency.least is None or latency.q3 is None else (latency.least, latency.q3)

    @property
    def range_ms(self) -> tuple[float, float] | None:
        """That range, widened to hold the median of each round: where few rounds take the case to lie."""
        if self.steps_range_ms is None:
            return None
        ends = (*self.steps_range_ms, *self.metrics.rounds_ms)
        return min(ends), max(ends)


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
    return _with_figures(case for case in session.cases if case.state == "ok" and not case.config.repeat)


def aa_pair(session: Session) -> tuple[Result, Result] | None:
    """The two cases of the session's A/A pair, where there is one and both ended well."""
    again = [case for case in session.cases if case.config.repeat]
    wanted = [structs.replace(case.config, repeat=0) for case in again]
    first = [case for case in session.cases if case.config in wanted]
    found = _with_figures(case for case in (*first[:1], *again[:1]) if case.state == "ok")
    return (found[0], found[1]) if len(found) == 2 else None


def _with_figures(ended: Iterable[CaseState]) -> tuple[Result, ...]:
    figures = ((case, metrics(case)) for case in ended)
    return tuple(Result(case, found) for case, found in figures if found)


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
