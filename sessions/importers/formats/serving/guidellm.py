"""Importer for guidellm's ``benchmarks.json``: one case per benchmark, which is a load on a server.

The request latency is in seconds, other times in milliseconds. Statistics cover the successful requests in the
measured window. guidellm's rates are means over time, standard deviations are those of a population, and the
inter-token latency counts each request once for every token after its first. A time of 0 wasn't measured, such
as the time to the first token without streaming.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    UnixTime,
    Whole,
    common_value,
    convert,
    ignored_fields_note,
    keys_with_first_item,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.formats.serving import run
from benchtui.sessions.importers.imported import Imported, sample_deviation
from benchtui.sessions.payloads import Host, ReportedTimes
from benchtui.sessions.sweep import SERVE, UNKNOWN

REQUIRED = ("benchmarks", "metrics", "duration")
"""Required keys: of the file, and of a benchmark."""

_RATES_NOTE = "rates: guidellm's means over time, which aren't totals over the duration"
_STATUSES = ("incomplete", "errored", "total")
_DERIVED = ("mode", "variance", "min", "max", "total_sum", "pdf", "cumulative_distribution_function")
"""Statistics of a distribution that a session lacks. Notes don't list them, nor any other percentiles."""


class _Percentiles(msgspec.Struct):
    p90: NotNegative | None = None
    p95: NotNegative | None = None
    p99: NotNegative | None = None


class _Summary(msgspec.Struct):
    mean: NotNegative
    count: Whole
    median: NotNegative | None = None
    std_dev: NotNegative | None = None
    percentiles: _Percentiles = msgspec.field(default_factory=_Percentiles)


class _Statuses(msgspec.Struct):
    successful: _Summary | None = None

    @property
    def mean(self) -> float | None:
        """Mean of the successful requests. None if there are none."""
        return self.successful.mean if self.successful and self.successful.count else None


class _Totals(msgspec.Struct):
    successful: Whole = 0
    errored: Whole = 0
    incomplete: Whole = 0


class _Metrics(msgspec.Struct):
    request_totals: _Totals
    request_latency: _Statuses
    requests_per_second: _Statuses = msgspec.field(default_factory=_Statuses)
    time_to_first_token_ms: _Statuses = msgspec.field(default_factory=_Statuses)
    inter_token_latency_ms: _Statuses = msgspec.field(default_factory=_Statuses)
    output_tokens_per_second: _Statuses = msgspec.field(default_factory=_Statuses)
    tokens_per_second: _Statuses = msgspec.field(default_factory=_Statuses)


class _Config(msgspec.Struct):
    strategy: dict[str, Any] = {}
    backend: dict[str, Any] = {}


class _Benchmark(msgspec.Struct):
    metrics: _Metrics
    duration: Positive
    start_time: UnixTime | None = None
    config: _Config = msgspec.field(default_factory=_Config)
    args: _Config = msgspec.field(default_factory=_Config)
    """Configuration of older versions."""


class _Metadata(msgspec.Struct):
    guidellm_version: str | None = None
    python_version: str | None = None
    platform: str | None = None


class _File(msgspec.Struct):
    benchmarks: Annotated[list[_Benchmark], msgspec.Meta(min_length=1)]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def keys(value: object) -> set[str]:
    """Return the keys of the file and of its first benchmark."""
    return keys_with_first_item(value, "benchmarks")


def parse(text: str, path: Path) -> Imported:
    """Parse every benchmark. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    file = convert(value, _File, str(path))
    starts = [benchmark.start_time for benchmark in file.benchmarks if benchmark.start_time]
    version = file.metadata.guidellm_version
    return Imported(
        kind="guidellm",
        model=common_value((_model(benchmark) for benchmark in file.benchmarks), "models", str(path)),
        task=SERVE.name,
        measurements=tuple(run.measurement(_run(benchmark)) for benchmark in file.benchmarks),
        host=Host(
            platform=file.metadata.platform,
            python=file.metadata.python_version,
            packages={"guidellm": version} if version else {},
        ),
        measured=datetime.fromtimestamp(min(starts), UTC).isoformat(timespec="seconds") if starts else None,
        notes=(
            run.STEP_NOTE,
            run.PER_REQUEST_NOTE,
            _RATES_NOTE,
            *ignored_fields_note(_ignored_fields(value)),
        ),
    )


def _model(benchmark: _Benchmark) -> str:
    return str(benchmark.config.backend.get("model") or UNKNOWN)


def _run(benchmark: _Benchmark) -> run.ServingRun:
    metrics = benchmark.metrics
    return run.ServingRun(
        name=" ".join(_words(benchmark.config.strategy or benchmark.args.strategy)),
        model=_model(benchmark),
        duration_s=benchmark.duration,
        completed=metrics.request_totals.successful,
        failed=metrics.request_totals.errored,
        requests_per_s=metrics.requests_per_second.mean,
        tokens_per_s=metrics.tokens_per_second.mean,
        new_tokens_per_s=metrics.output_tokens_per_second.mean,
        first_token=_times(metrics.time_to_first_token_ms),
        per_token=_times(metrics.inter_token_latency_ms),
        request=_times(metrics.request_latency, 1000),
    )


def _times(statuses: _Statuses, ms_in_unit: float = 1) -> ReportedTimes | None:
    """Return the statistics of a time in milliseconds. None if it wasn't measured."""
    times = statuses.successful
    if times is None or not times.mean:
        return None
    deviation = sample_deviation(times.std_dev, times.count)
    values = {
        "mean_ms": times.mean,
        "median_ms": times.median,
        "std_ms": deviation,
        "p90_ms": times.percentiles.p90,
        "p95_ms": times.percentiles.p95,
        "p99_ms": times.percentiles.p99,
    }
    times_ms = {name: ms_in_unit * value for name, value in values.items() if value is not None}
    return ReportedTimes(n=times.count, **times_ms)


def _words(strategy: dict[str, Any]) -> Iterator[str]:
    """Yield the words of a benchmark's name: its strategy, and the strategy's numbers."""
    yield str(strategy.get("type_") or "run")
    for name in ("rate", "streams", "max_concurrency"):
        amount = strategy.get(name)
        if isinstance(amount, int | float):
            yield f"{name}={amount:g}"


def _ignored_fields(value: object) -> Iterator[str]:
    """Yield the names of ignored fields, except other statistics of a distribution and individual requests."""
    for place in unknown_fields(value, _File):
        *_, level, name = ("", *place.split("."))
        if name not in (*_STATUSES, *_DERIVED) and level != "percentiles" and place != "benchmarks.requests":
            yield place
