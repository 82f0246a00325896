"""Task-specific metrics: a section of the report for each task with specific metrics."""

from collections.abc import Callable, Collection, Sequence

import msgspec

from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import capitalized, loss, memory, number, percent, time_ms
from benchtui.sessions.text.labels import case_name
from benchtui.sessions.text.tables import Column, Table, table


def _case(varying: Collection[str]) -> Column[Result]:
    return Column("Case", lambda row: case_name(row.config, varying), right=False)


class TaskSection(msgspec.Struct, frozen=True):
    """A section with the metrics of one task."""

    title: str
    lead: str | None
    """A sentence about how to read the table."""
    table: Table


def task_sections(results: Sequence[Result], task: str, varying: Collection[str]) -> list[TaskSection]:
    """Return the sections of a session's task; empty for a task without specific metrics.

    Imported sessions use different task names, so generation is recognized by its new tokens.
    """
    if task not in _SECTIONS and any(row.metrics.new_tokens_per_s is not None for row in results):
        task = "generate"
    title, lead, columns = _SECTIONS.get(task, ("", None, ()))
    generates = [row for row in results if row.metrics.new_tokens_per_s is not None]
    measured = [row for row in results if row.case.steps_measured]
    rows = {"generate": generates, "serve": results}.get(task, measured)
    shown = table((_case(varying), *columns), rows)
    return [TaskSection(title, lead, shown)] if shown and len(shown.titles) > 1 else []


def _spread(field: str, percentile: str) -> Callable[[Result], str | None]:
    """Return the cell of a percentile of a distribution of times."""

    def cell(row: Result) -> str | None:
        found: Distribution | None = getattr(row.metrics, field)
        return time_ms(getattr(found, percentile)) if found else None

    return cell


def _percentiles(title: str, field: str) -> tuple[Column[Result], ...]:
    """Return the columns of a time: its median, and p90 and p99 where the sample is large enough."""
    return (
        Column(f"{title}, p50 (ms)", _spread(field, "median")),
        Column(f"{title}, p90 (ms)", _spread(field, "p90")),
        Column(f"{title}, p99 (ms)", _spread(field, "p99")),
    )


def _part(name: str) -> Column[Result]:
    """Return the column of the median time of a part of a step."""

    def cell(row: Result) -> str | None:
        found = row.metrics.parts_ms.get(name)
        return time_ms(found.median) if found else None

    return Column(f"{capitalized(name)}, p50 (ms)", cell)


def _data(field: str) -> Callable[[Result], str | None]:
    def cell(row: Result) -> str | None:
        prepared = row.case.prepared
        return getattr(prepared.data, field) if prepared and prepared.data else None

    return cell


def _actual(option: str) -> Callable[[Result], str | None]:
    def cell(row: Result) -> str | None:
        effective = row.case.effective
        value = effective.others.get(option) if effective else None
        return None if value is None else str(value)

    return cell


def _samples_per_s(row: Result) -> str | None:
    return number(row.metrics.samples_per_s)


def _per_sample(row: Result) -> str | None:
    rate = row.metrics.samples_per_s
    return time_ms(1000 / rate) if rate else None


def _tokens_per_sample(row: Result) -> str | None:
    tokens, samples = row.metrics.tokens_per_s, row.metrics.samples_per_s
    return number(tokens / samples) if tokens and samples else None


def _real_time_factor(row: Result) -> str | None:
    rate = row.metrics.samples_per_s
    return number(1 / rate) if rate else None


def _kv_cache(row: Result) -> str | None:
    found = row.case.finished.memory if row.case.finished else None
    return number(found.kv_cache_mb) if found else None


def _accepted(row: Result) -> str | None:
    effective = row.case.effective
    return percent(effective.draft_acceptance) if effective else None


def _loss(row: Result) -> str | None:
    if row.metrics.diverged:
        return "not finite"
    return loss(row.metrics.loss)


def _halves(row: Result) -> str | None:
    halves = row.metrics.loss_halves
    if halves is None:
        return None
    first, second = (loss(half) for half in halves)
    return f"{first} to {second}"


def _trend(row: Result) -> str | None:
    """Describe the trend of the loss: a change between halves of more than twice the standard error."""
    halves, error = row.metrics.loss_halves, row.metrics.loss_error
    if row.metrics.diverged:
        return "not finite"
    if halves is None or error is None:
        return None
    change = halves[1] - halves[0]
    return "no trend" if abs(change) <= 2 * error else "falls" if change < 0 else "rises"


def _memory_mb(field: str) -> Callable[[Result], str | None]:
    def cell(row: Result) -> str | None:
        found = row.case.finished.memory if row.case.finished else None
        return memory(getattr(found, field)) if found else None

    return cell


def _steps(row: Result) -> int:
    return row.metrics.latency_ms.n + (row.metrics.warmup_steps or 0)


_GENERATION: tuple[Column[Result], ...] = (
    Column("Time to first token, p50 (ms)", _spread("time_to_first_token_ms", "median")),
    Column("p90 (ms)", _spread("time_to_first_token_ms", "p90")),
    Column("p99 (ms)", _spread("time_to_first_token_ms", "p99")),
    Column("Time per output token, p50 (ms)", _spread("time_per_output_token_ms", "median")),
    Column("Prompt tokens/s (prefill)", lambda row: number(row.metrics.prompt_tokens_per_s)),
    Column("New tokens/s (whole step)", lambda row: number(row.metrics.new_tokens_per_s)),
    Column("KV cache (MB)", _kv_cache),
    Column("Drafted tokens accepted (%)", _accepted),
)
_SERVING: tuple[Column[Result], ...] = (
    *_percentiles("First token", "time_to_first_token_ms"),
    *_percentiles("Between tokens", "time_per_output_token_ms"),
    *_percentiles("Request", "request_ms"),
    Column("Requests/s", _samples_per_s),
    Column("New tokens/s", lambda row: number(row.metrics.new_tokens_per_s)),
    Column("Prompt and new tokens/s", lambda row: number(row.metrics.tokens_per_s)),
    Column("KV cache (MB)", _kv_cache),
)
_EMBEDDING: tuple[Column[Result], ...] = (
    Column("Embeddings/s", _samples_per_s),
    Column("Time per embedding (ms)", _per_sample),
    Column("Tokens/s", lambda row: number(row.metrics.tokens_per_s)),
    Column("Tokens per text", _tokens_per_sample),
    Column("Pooling", _actual("pooling"), right=False),
)
_IMAGES: tuple[Column[Result], ...] = (
    Column("Images/s", _samples_per_s),
    Column("Time per image (ms)", _per_sample),
    _part("preprocess"),
    _part("forward"),
    Column("Image", _data("shape"), right=False),
    Column("Processor", _data("processor"), right=False),
)
_SPEECH: tuple[Column[Result], ...] = (
    Column("Audio-s/s", _samples_per_s),
    Column("Real-time factor", _real_time_factor),
    _part("features"),
    _part("forward"),
    _part("encode"),
    _part("decode"),
    Column("New tokens/s", lambda row: number(row.metrics.tokens_per_s)),
    Column("Clip", _data("shape"), right=False),
)
_TRAINING: tuple[Column[Result], ...] = (
    Column("Steps, with warm-up", lambda row: number(_steps(row), 0)),
    Column("Mean loss, first to second half", _halves),
    Column("Loss of the last step", _loss),
    Column("Trend", _trend, right=False),
    Column("Memory, allocated", _memory_mb("peak_allocated_mb")),
    Column("Reserved", _memory_mb("peak_reserved_mb")),
)

_SECTIONS: dict[str, tuple[str, str | None, tuple[Column[Result], ...]]] = {
    "generate": ("Generation", None, _GENERATION),
    "serve-batch": (
        "Serving",
        "Times of single requests, all submitted at the start of a step. The time to the first token includes"
        " the wait in the queue.",
        _SERVING,
    ),
    "serve": ("Serving", "Times of single requests, as the imported source reports them.", _SERVING[1:]),
    "embed": ("Embeddings", None, _EMBEDDING),
    "image": ("Images", None, _IMAGES),
    "speech": (
        "Speech",
        "Seconds of audio that are processed in a second; the real-time factor is the inverse.",
        _SPEECH,
    ),
    "lm-train": ("Training", "The loss says whether a precision still trains, not how well.", _TRAINING),
}
"""Section of each task that has one: title, lead and columns."""
