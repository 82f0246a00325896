"""Results of a session, one row per case: CSV, JSON with its schema, and Parquet."""

import csv
import io
from collections.abc import Collection
from pathlib import Path
from typing import Annotated as A

import msgspec
from msgspec import Meta

from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.export.case_schema import SCHEMA, CaseRow
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.export.parquet import import_pyarrow
from benchtui.sessions.files import visible_json
from benchtui.sessions.files.output_file import output_file
from benchtui.sessions.sanitize import spreadsheet_text, visible
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note
from benchtui.sessions.stats.case_metrics import Metrics


class LatencyFields(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of a sample of times in milliseconds."""

    n: int
    mean: float
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    std: float | None
    interval_low: A[float | None, Meta(description="95% interval of the median.")]
    interval_high: float | None


_NAMES = {"p50": "median", "interval_low": "low", "interval_high": "high"}
"""Fields of a distribution that have other names there."""


class Case(CaseRow, frozen=True, kw_only=True):
    """A row of the CSV, plus fields that don't fit in a cell."""

    parts_ms: A[
        dict[str, LatencyFields], Meta(description="The parts of a step, by name; empty without parts.")
    ]
    outlier_steps: A[
        tuple[int, ...], Meta(description="Outlier steps among the measured ones, counted from 0.")
    ]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The measured session, with its machine and software."""

    id: str
    created: A[str, Meta(description="UTC, ISO 8601.")]
    simulated: A[str | None, Meta(description="SIMULATED, and by which model; null if it was measured.")]
    benchtui: A[str | None, Meta(description="Version of benchtui that recorded the session.")]
    outcome: A[
        str | None, Meta(description="completed, interrupted or failed; null if the session is incomplete.")
    ]
    name: str
    model: str
    weights: A[str, Meta(description="pretrained or random.")]
    task: str
    dataset: str
    host: str | None
    platform: str | None
    processor: str | None
    cpu_count: int | None
    memory_mb: float | None
    gpus: A[tuple[str, ...], Meta(description="Their names, in the driver's order.")]
    driver: str | None
    cuda: str | None
    python: str | None
    torch: str | None
    transformers: str | None


class Results(Document, frozen=True, kw_only=True):
    """Output of ``benchtui export --format json``. Every field is present, null if unknown."""

    schema: int = SCHEMA
    """Version of this layout."""
    id_: str = document_id("results", SCHEMA)
    session: Source
    cases: tuple[Case, ...]


def as_json(session: Session) -> str:
    """Return the results as indented JSON (``Results``). Raises BenchtuiError if there is no first event."""
    cases = tuple(_case(row, metrics) for row, metrics in rows(session))
    return visible_json.document(Results(session=_source(session), cases=cases), indent=1)


def as_csv(session: Session) -> str:
    """Return the results as CSV (RFC 4180): the fields of ``CaseRow``, then the mean of each part of a step."""
    shown = [([*map(_cell, msgspec.structs.astuple(row))], metrics) for row, metrics in rows(session)]
    parts = dict.fromkeys(part for _, metrics in shown if metrics for part in metrics.parts_ms)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*CaseRow.__struct_fields__, *(f"part_{visible(part)}_mean_ms" for part in parts)])
    writer.writerows([*cells, *(_part(metrics, part) for part in parts)] for cells, metrics in shown)
    return text.getvalue()


def write_parquet(session: Session, path: Path, inputs: Collection[Path]) -> None:
    """Write the rows of the CSV, without the parts, to a Parquet file.

    Raises BenchtuiError if pyarrow can't be loaded, or the file can't be written or is a session file, such as
    those of ``inputs``.
    """
    table = import_pyarrow().Table.from_pylist([msgspec.to_builtins(row) for row, _ in rows(session)])
    with output_file(path, inputs) as file:
        import_pyarrow().parquet.write_table(table, file)


def _cell(value: object) -> object:
    """Convert a value to a CSV cell. The writer turns None into an empty cell."""
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return _cell("; ".join(map(str, value)))
        case str():
            return spreadsheet_text(value)
        case _:
            return value


def _part(metrics: Metrics | None, part: str) -> float | None:
    spread = metrics.parts_ms.get(part) if metrics else None
    return spread.mean if spread else None


def _case(row: CaseRow, metrics: Metrics | None) -> Case:
    parts = metrics.parts_ms if metrics else {}
    return Case(
        **{name: getattr(row, name) for name in row.__struct_fields__},
        parts_ms={
            visible(name): LatencyFields(
                **{
                    field: getattr(spread, _NAMES.get(field, field))
                    for field in LatencyFields.__struct_fields__
                }
            )
            for name, spread in parts.items()
        },
        outlier_steps=metrics.outliers if metrics else (),
    )


def _source(session: Session) -> Source:
    start, runtime = session.start, session.runtime
    sweep, host = start.sweep, start.host
    values = {
        "id": start.id,
        "created": start.created,
        "simulated": simulation_note(start),
        "benchtui": start.version,
        "outcome": session.finished.outcome if session.finished else None,
        **{name: getattr(sweep, name) for name in ("name", "model", "weights", "task", "dataset")},
        "host": host.hostname,
        **{name: getattr(host, name) for name in ("platform", "processor", "cpu_count", "memory_mb")},
        "gpus": tuple(visible(gpu.name) for gpu in host.gpus),
        **{name: getattr(host, name) for name in ("driver", "python")},
        "cuda": runtime.cuda if runtime else None,
        "torch": runtime.torch if runtime else host.packages.get("torch"),
        "transformers": (runtime and runtime.transformers) or host.packages.get("transformers"),
    }
    cleaned = {key: visible(value) if isinstance(value, str) else value for key, value in values.items()}
    return msgspec.convert(cleaned, Source)
