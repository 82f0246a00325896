"""Task-specific metrics: a section of the report for each task with specific metrics."""

from collections.abc import Callable, Sequence

from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import TASKS
from benchtui.sessions.report.content import Section, section
from benchtui.sessions.report.overview.results import without_equal
from benchtui.sessions.stats.results import Result, task_of
from benchtui.sessions.text.formatting import capitalized, loss, number, time_ms
from benchtui.sessions.text.quantities import columns
from benchtui.sessions.text.tables import Column, in_unit, table, text_column

Columns = tuple[Column[Result], ...]


def task_sections(results: Sequence[Result], task: str) -> list[Section | None]:
    """Return the sections of a session's task; empty for a task without specific metrics.

    Imported sessions use different task names, so generation is recognized by its new tokens.
    """
    if task not in TASKS and any(row.metrics.new_tokens_per_s is not None for row in results):
        task = "generate"
    if task not in TASKS:
        return []
    generates = [row for row in results if row.metrics.new_tokens_per_s is not None]
    measured = [row for row in results if row.case.steps_measured]
    rows = {"generate": generates, "serve": results}.get(task, measured)
    own = _OWN | _OWN_OF_TASK.get(task, {})
    shown = table(in_unit(columns(TASKS[task], CaseData.of, own), task_of(rows)), rows)
    title, lead = _TITLES[task]
    if shown is None or len(shown.titles) < 2:
        return []
    differing, same = without_equal(shown, 1)
    alike = f"All rows: {', '.join(same)}." if same else None
    return [section(title, differing if len(differing.titles) > 1 else None, alike, lead=lead)]


def _part(name: str) -> Column[Result]:
    """Return the column of the median time of a part of a step."""

    def cell(row: Result) -> str | None:
        part_ms = row.metrics.parts_ms.get(name)
        return time_ms(part_ms.median) if part_ms else None

    return Column(f"{capitalized(name)}, p50 (ms)", cell)


def _data(field: str) -> Callable[[Result], str | None]:
    def cell(row: Result) -> str | None:
        prepared = row.case.prepared
        return getattr(prepared.data, field) if prepared and prepared.data else None

    return cell


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


_OWN: dict[str, Columns] = {
    "label": (text_column("Case", lambda row: row.name),),
    "processor": (text_column("Processor", _data("processor")),),
    "all steps": (
        Column(
            "Steps, with warm-up",
            lambda row: number(row.metrics.latency_ms.n + (row.metrics.warmup_steps or 0), 0),
        ),
    ),
    "loss_halves": (Column("Mean loss, first to second half", _halves),),
    "last loss": (Column("Loss of the last step", _loss),),
    "trend": (text_column("Trend", _trend),),
}
_OWN_OF_TASK: dict[str, dict[str, Columns]] = {
    "image": {
        "parts": (_part("preprocess"), _part("forward")),
        "shape": (text_column("Image", _data("shape")),),
    },
    "speech": {
        "parts": tuple(map(_part, ("features", "forward", "encode", "decode"))),
        "shape": (text_column("Clip", _data("shape")),),
    },
}
_TITLES: dict[str, tuple[str, str]] = {
    "generate": ("Generation", ""),
    "serve-batch": (
        "Serving",
        "Times of single requests, all submitted at the start of a step: the first token waits in the queue.",
    ),
    "serve": ("Serving", "Times of single requests, as the imported source reports them."),
    "embed": ("Embeddings", ""),
    "image": ("Images", ""),
    "speech": (
        "Speech",
        "Seconds of audio that are processed in a second; the real-time factor is the inverse.",
    ),
    "lm-train": ("Training", "The loss says whether a precision still trains, not how well."),
}
"""Title and lead of each task's section."""
