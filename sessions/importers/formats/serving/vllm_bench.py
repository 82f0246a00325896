"""Importer for vLLM's ``bench serve --save-result``: one case per file, or per line with ``--append-result``.

Times are in milliseconds, the duration in seconds (``vllm/benchmarks/serve.py``). Standard deviations are those
of a population. ``tpot`` is a request's mean time per token after the first, ``itl`` are single gaps, and
``e2el`` are whole requests, which vLLM writes only with ``--percentile-metrics``. With ``--save-detailed``, a
file also has the values behind these statistics. The dataset isn't in the file.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    Whole,
    common_value,
    convert,
    ignored_fields_note,
    object_keys,
    parse_json_lines,
    try_parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.formats.serving import run
from benchtui.sessions.importers.imported import Imported, sample_deviation
from benchtui.sessions.payloads import ReportedTimes
from benchtui.sessions.sweep import SERVE

REQUIRED = ("model_id", "duration", "completed", "request_throughput")
"""Keys that identify a result."""

_DATASET_NOTE = "the file doesn't say which dataset: compare only runs with the same one"
_DETAILS = (
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "latencies",
    "start_times",
    "queue_times",
    "generated_texts",
    "errors",
)
"""Values behind the statistics, and texts, as written with ``--save-detailed``."""
_IN_OTHERS = ("endpoint_type", "total_input_tokens", "total_output_tokens")
"""Fields that repeat others, or can be derived from rates and duration."""


class _Result(msgspec.Struct):
    model_id: str
    duration: Positive
    completed: Whole
    request_throughput: NotNegative
    failed: Whole = 0
    output_throughput: NotNegative | None = None
    total_token_throughput: NotNegative | None = None
    date: str | None = None
    backend: str | None = None
    label: str | None = None
    num_prompts: Whole | None = None
    request_rate: float | str | None = None
    max_concurrency: Whole | None = None
    mean_ttft_ms: NotNegative | None = None
    median_ttft_ms: NotNegative | None = None
    std_ttft_ms: NotNegative | None = None
    p90_ttft_ms: NotNegative | None = None
    p95_ttft_ms: NotNegative | None = None
    p99_ttft_ms: NotNegative | None = None
    mean_tpot_ms: NotNegative | None = None
    median_tpot_ms: NotNegative | None = None
    std_tpot_ms: NotNegative | None = None
    p90_tpot_ms: NotNegative | None = None
    p95_tpot_ms: NotNegative | None = None
    p99_tpot_ms: NotNegative | None = None
    mean_e2el_ms: NotNegative | None = None
    median_e2el_ms: NotNegative | None = None
    std_e2el_ms: NotNegative | None = None
    p90_e2el_ms: NotNegative | None = None
    p95_e2el_ms: NotNegative | None = None
    p99_e2el_ms: NotNegative | None = None

    def times(self, metric: str) -> ReportedTimes | None:
        """Return the statistics of a metric such as ``ttft``. Without values, vLLM writes a mean of 0."""
        stated = {
            name: getattr(self, f"{name}_{metric}_ms") for name in ("mean", "median", "p90", "p95", "p99")
        }
        if not stated["mean"]:
            return None
        deviation = sample_deviation(getattr(self, f"std_{metric}_ms"), self.completed)
        statistics = {f"{name}_ms": value for name, value in stated.items()}
        return ReportedTimes(n=self.completed, std_ms=deviation, **statistics)


def keys(value: object) -> set[str]:
    """Return the keys of the first result."""
    return object_keys(value)


def parse(text: str, path: Path) -> Imported:
    """Parse every result. Raises BenchtuiError naming the line of an invalid value."""
    whole = try_parse_json(text)
    lines = [(str(path), whole)] if whole is not None else parse_json_lines(text, str(path))
    results = [convert(value, _Result, where) for where, value in lines]
    return Imported(
        kind="vllm-bench",
        model=common_value((result.model_id for result in results), "models", str(path)),
        task=SERVE.name,
        measurements=tuple(run.measurement(_run(result)) for result in results),
        measured=min((result.date for result in results if result.date), default=None),
        notes=(
            run.STEP_NOTE,
            run.PER_REQUEST_NOTE,
            _DATASET_NOTE,
            *ignored_fields_note(_ignored_fields([value for _, value in lines])),
        ),
    )


def _run(result: _Result) -> run.ServingRun:
    return run.ServingRun(
        name=" ".join(_words(result)),
        work="" if result.num_prompts is None else f"{result.num_prompts} prompts",
        model=result.model_id,
        duration_s=result.duration,
        completed=result.completed,
        failed=result.failed or max((result.num_prompts or 0) - result.completed, 0),
        requests_per_s=result.request_throughput,
        tokens_per_s=result.total_token_throughput,
        new_tokens_per_s=result.output_throughput,
        first_token=result.times("ttft"),
        per_token=result.times("tpot"),
        request=result.times("e2el"),
    )


def _words(result: _Result) -> Iterator[str]:
    """Yield the words of a run's name: its label or backend, and its load."""
    yield result.label or result.backend or "run"
    if result.request_rate is not None:
        rate = result.request_rate
        yield f"rate={rate:g}" if isinstance(rate, float) else f"rate={rate}"
    if result.max_concurrency is not None:
        yield f"concurrency={result.max_concurrency}"
    if result.num_prompts is not None:
        yield f"prompts={result.num_prompts}"


def _ignored_fields(values: list[object]) -> Iterator[str]:
    """Yield the names of ignored fields, except those covered by statistics and rates."""
    read = (*_DETAILS, *_IN_OTHERS)
    return (place for value in values for place in unknown_fields(value, _Result) if place not in read)
