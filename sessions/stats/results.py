"""Results: the measured cases of a session with their metrics, grouped into batch-size series."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec import structs

from benchtui.sessions.state.case import peak_mb
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats import evidence
from benchtui.sessions.stats.case_metrics import Metrics, metrics
from benchtui.sessions.stats.ended_rounds import with_result
from benchtui.sessions.stats.evidence import bounds_ms, rate_bounds, typical_ms, with_noise
from benchtui.sessions.stats.noise import Evidence
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.sweep import Config, Task, Work, distinct_works, task_named
from benchtui.sessions.sweep.options import AXES

GIB_MB = 2**30 / 10**6
"""MB of 10**6 bytes in a GiB."""
SERIES_OPTIONS = (*(name for name in AXES if name != "batch_size"), "label")
"""All options except the batch size."""
_series_options = attrgetter(*SERIES_OPTIONS)


class Result(Evidence, frozen=True, kw_only=True):
    """A measured case with its metrics."""

    metrics: Metrics

    @property
    def name(self) -> str:
        """Readable name of the case."""
        return self.case.name

    @property
    def typical_ms(self) -> float:
        """Typical step in milliseconds, which ratios are based on."""
        return typical_ms(self.case, self.metrics)

    @property
    def typical_bounds(self) -> Bounds | None:
        """Bounds of the typical step, which hold another session; None if nothing bounds it."""
        return bounds_ms(self, again=True)

    @property
    def token_rate(self) -> tuple[float | None, str]:
        """Tokens per second and the unit: real tokens, or padded ones if only those are known."""
        real, padded = self.metrics.tokens_per_s, self.metrics.padded_tokens_per_s
        return (real, "tokens/s") if real is not None else (padded, "tokens/s with padding")

    @property
    def headline_rate(self) -> tuple[float | None, str]:
        """The rate that describes the case's task, and its unit: new tokens, tokens, or samples."""
        (tokens, unit), new_tokens = self.token_rate, self.metrics.new_tokens_per_s
        if new_tokens is not None:
            return new_tokens, "new tokens/s"
        task = self.session.start.sweep.task if self.session else ""
        if tokens and task_named(task).headline == "tokens":
            return tokens, unit
        return self.metrics.samples_per_s, self.metrics.task.unit

    @property
    def tokens_per_gib(self) -> float | None:
        """Tokens per second per GiB of peak memory; None if either is unknown."""
        return self._over_memory(self.token_rate[0])

    @property
    def samples_per_gib(self) -> float | None:
        """Samples per second per GiB of peak memory; None if either is unknown."""
        return self._over_memory(self.metrics.samples_per_s)

    @property
    def per_gib(self) -> tuple[float | None, str]:
        """Rate per GiB and its unit: tokens, new ones if it generates, or samples for a task without tokens."""
        new = self._over_memory(self.metrics.new_tokens_per_s)
        if new is not None:
            return new, "new tokens/s per GiB"
        task = self.metrics.task
        if self.tokens_per_gib is None or (task.sample != "samples" and task.headline == "samples"):
            return self.samples_per_gib, f"{self.metrics.task.unit} per GiB"
        return self.tokens_per_gib, f"{self.token_rate[1]} per GiB"

    def _over_memory(self, rate: float | None) -> float | None:
        memory_mb = self.case.peak_memory_mb
        return rate / memory_mb * GIB_MB if rate is not None and memory_mb else None

    @property
    def memory_range_mb(self) -> tuple[float, float] | None:
        """Lowest and highest known peak memory of a round."""
        peak = self.case.peak_memory_mb
        if not peak:
            return None
        readings = (peak_mb(self.config.device, round_.memory) for round_ in self.case.rounds)
        return min(peak, *(reading for reading in readings if reading), peak), peak


Series = tuple[Result, ...]
"""Cases that differ only in batch size, smallest first; never empty."""


def measured(session: Session) -> tuple[Result, ...]:
    """Return the measured cases in plan order, with their metrics.

    Those whose rounds haven't all ended have the metrics of the rounds that have. Each call computes the
    metrics, so keep the result. The second case of an A/A pair is left out, because it isn't a separate choice.
    """
    return tuple(result for result in _all(session) if not result.config.repeat)


def aa_pair(session: Session) -> tuple[Result, Result] | None:
    """Return the two cases of the session's A/A pair, or None unless both were measured."""
    if not any(case.config.repeat for case in session.cases):
        return None
    return evidence.aa_pair(_all(session))


def _all(session: Session) -> list[Result]:
    """Return every measured case with the noise of the session."""
    cases = (with_result(case, session.start.sweep.measure.planned_rounds) for case in session.cases)
    figures = ((case, computed) for case in cases if case and (computed := metrics(case)))
    results = with_noise(
        (Result(case, computed.rounds, metrics=computed) for case, computed in figures), session
    )
    return [structs.replace(result, metrics=_with_rate_bounds(result.metrics, result)) for result in results]


def _with_rate_bounds(computed: Metrics, evidence: Evidence) -> Metrics:
    """Extend the interval of the throughput to fresh processes of the case, and to another session.

    That of its metrics knows only the processes that were measured.
    """
    bounds = rate_bounds(computed, evidence)
    low, high = bounds or (computed.samples_per_s_low, computed.samples_per_s_high)
    return structs.replace(computed, samples_per_s_low=low, samples_per_s_high=high)


def series(results: Iterable[Result]) -> tuple[Series, ...]:
    """Group the results by everything but batch size, in order of first appearance."""
    by_series: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        by_series.setdefault(series_key(result.config), []).append(result)
    return tuple(tuple(sorted(rows, key=lambda row: row.config.batch_size)) for rows in by_series.values())


def series_key(config: Config) -> tuple[object, ...]:
    """Return the options that all cases of a series share."""
    key: tuple[object, ...] = _series_options(config)
    return key


def varied(configs: Iterable[Config]) -> tuple[str, ...]:
    """Return the options, except batch size, that vary among the configurations."""
    columns = zip(*map(series_key, configs), strict=True)
    return tuple(name for name, column in zip(SERIES_OPTIONS, columns, strict=False) if len(set(column)) > 1)


def task_of(results: Sequence[Result]) -> Task:
    """Return the task of the first case, which names the samples."""
    return results[0].metrics.task if results else task_named("")


def by_work(results: Iterable[Result]) -> dict[Work, tuple[Result, ...]]:
    """Group the results by work: models in the order of the plan, shortest samples first."""
    grouped: dict[Work, list[Result]] = {}
    for result in results:
        grouped.setdefault(result.config.work, []).append(result)
    return {work: tuple(grouped[work]) for work in distinct_works(grouped)}
