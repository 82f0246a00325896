"""Task-specific metrics: generated tokens, and training loss."""

from collections.abc import Callable, Collection, Sequence

from benchtui.sessions.stats.case_metrics import Distribution
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import loss, memory, number, percent, time_ms
from benchtui.sessions.text.labels import case_name
from benchtui.sessions.text.tables import Column, Table, table


def generation(results: Sequence[Result], varying: Collection[str]) -> Table | None:
    """Return time to first token, time per output token and new tokens per second. None for other tasks."""
    return table(
        (_case(varying), *_GENERATION), [row for row in results if row.metrics.new_tokens_per_s is not None]
    )


def training(results: Sequence[Result], task: str, varying: Collection[str]) -> Table | None:
    """Return the loss of each case, whether it falls, and memory by kind. None for other tasks."""
    rows = [row for row in results if row.case.steps_measured]
    return table((_case(varying), *_TRAINING), rows) if task == "lm-train" else None


def _case(varying: Collection[str]) -> Column[Result]:
    return Column("Case", lambda row: case_name(row.config, varying), right=False)


def _first(percentile: str) -> Callable[[Result], str | None]:
    def cell(row: Result) -> str | None:
        found: Distribution | None = row.metrics.time_to_first_token_ms
        return time_ms(getattr(found, percentile)) if found else None

    return cell


def _per_token(row: Result) -> str | None:
    found = row.metrics.time_per_output_token_ms
    return time_ms(found.median) if found else None


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
    """Say whether the loss falls: both halves of the steps differ by more than twice the standard error."""
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
    Column("Time to first token, p50 (ms)", _first("median")),
    Column("p90 (ms)", _first("p90")),
    Column("p99 (ms)", _first("p99")),
    Column("Time per output token, p50 (ms)", _per_token),
    Column("Prompt tokens/s (prefill)", lambda row: number(row.metrics.prompt_tokens_per_s)),
    Column("New tokens/s (whole step)", lambda row: number(row.metrics.new_tokens_per_s)),
    Column("KV cache (MB)", _kv_cache),
    Column("Drafted tokens accepted (%)", _accepted),
)
_TRAINING: tuple[Column[Result], ...] = (
    Column("Steps, with warm-up", lambda row: number(_steps(row), 0)),
    Column("Mean loss, first to second half", _halves),
    Column("Loss of the last step", _loss),
    Column("Trend", _trend, right=False),
    Column("Memory, allocated", _memory_mb("peak_allocated_mb")),
    Column("Reserved", _memory_mb("peak_reserved_mb")),
)
