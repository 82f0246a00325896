"""Export of every recorded step as a row.

Steps that were later measured again, for whatever reason, are left out, as in every output. A row identifies
its case by number and name; the options of the case are in the results.
"""

import codecs
import csv
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any, get_args
from typing import Annotated as A

import msgspec
from msgspec import Meta

from benchtui.sessions.events import Phase
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.export.parquet import import_pyarrow
from benchtui.sessions.files.output_file import output_file
from benchtui.sessions.sanitize import spreadsheet_text, visible
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED


class StepRow(msgspec.Struct, frozen=True, kw_only=True):
    """One step. In CSV and Parquet, each part has a separate column, ``part_NAME_ms``."""

    case: A[int, Meta(description="Number of the case in the session's plan, counted from 0.")]
    case_name: A[str, Meta(description="Name of the case.")]
    round: A[int, Meta(description="Counted from 0.")]
    phase: A[str, Meta(description="warmup or measure.")]
    step: A[int, Meta(description="Within case, round and phase, counted from 0.")]
    wall_ms: A[float, Meta(description="Host time, with the device synchronized at both ends.")]
    device_ms: A[float | None, Meta(description="Between device events around the step.")]
    host_ms: A[float | None, Meta(description="Host time until the step returned, including waits inside it.")]
    tokens: A[int | None, Meta(description="Real tokens, without padding.")]
    padded_tokens: int | None
    loss: A[float | None, Meta(description="Of a training step.")]
    parts_ms: dict[str, float]
    simulated: A[str | None, Meta(description="SIMULATED if a model computed the step; otherwise omitted.")] = (
        None
    )


class Steps(Document, frozen=True, kw_only=True):
    """Output of ``benchtui export --steps --format json``."""

    id_: str = document_id("steps")
    steps: tuple[StepRow, ...]


BASE_COLUMNS = StepRow.__struct_fields__[:-2]
"""Columns that every session has."""
_FLOATS = ("wall_ms", "device_ms", "host_ms", "loss")


class StepBlock(msgspec.Struct, frozen=True):
    """Steps of one phase in one round of a case: columns with one value per step."""

    columns: dict[str, Sequence[Any]]
    parts: dict[str, Sequence[float | None]]

    def named(self, parts: Collection[str]) -> dict[str, Sequence[Any]]:
        """Return all columns by name, with one for each of these parts, whether the block has it or not."""
        missing = [None] * len(self.columns["wall_ms"])
        return self.columns | {part_column(part): self.parts.get(part, missing) for part in parts}


def part_column(part: str) -> str:
    """Return the name of a part's column."""
    return f"part_{visible(part)}_ms"


def parts_of(session: Session) -> tuple[str, ...]:
    """Return the names of all parts of steps, in order of appearance."""
    named = (steps.parts_ms for _, _, steps, _ in _spans(session))
    return tuple(dict.fromkeys(part for parts in named for part in parts))


def blocks(session: Session) -> Iterator[StepBlock]:
    """Yield the steps that count, in the order in which they were measured. ``session`` has all its steps."""
    names = {case.index: visible(case.name) for case in session.cases}
    for case, phase, steps, (round_index, first, end) in _spans(session):
        size = end - first
        facts = {"case": case, "case_name": names[case], "round": round_index, "phase": phase}
        columns: dict[str, Sequence[Any]] = {name: [value] * size for name, value in facts.items()}
        columns["step"] = range(size)
        for name in BASE_COLUMNS[5:]:
            columns[name] = _cut(getattr(steps, name), len(steps), first, end)
        if session.simulated:
            columns["simulated"] = [SIMULATED] * size
        yield StepBlock(
            columns, {part: _cut(times, len(steps), first, end) for part, times in steps.parts_ms.items()}
        )


def _spans(session: Session) -> list[tuple[int, Phase, Columns, tuple[int, int, int]]]:
    """Return the rounds of each case and phase, in the order in which their first steps were recorded."""
    spans = [
        (case.index, phase, case.columns(phase), span)
        for case in session.cases
        for phase in get_args(Phase)
        for span in case.columns(phase).spans()
    ]
    return sorted(spans, key=lambda span: _recorded_s(span[2], span[3][1]))


def _recorded_s(steps: Columns, first: int) -> float:
    return steps.event_ends[bisect_right(steps.event_ends, first, key=lambda end: end[0])][1]


def _cut(column: Sequence[float], steps: int, first: int, end: int) -> Sequence[float | None]:
    """Return a part of a column, without the values that aren't finite; None for a column without values."""
    if len(column) != steps:
        return [None] * (end - first)
    values = column[first:end]
    return [None if value != value else value for value in values]


def write_csv(session: Session, out: IO[bytes]) -> None:
    """Write the steps as CSV."""
    writer, parts = csv.writer(codecs.getwriter("utf-8")(out)), parts_of(session)
    writer.writerow(column_names(session, parts))
    for block in blocks(session):
        columns = block.named(parts)
        columns["case_name"] = list(map(spreadsheet_text, columns["case_name"]))
        writer.writerows(zip(*columns.values(), strict=True))


def write_json(session: Session, out: IO[bytes]) -> None:
    """Write the steps as JSON (``Steps``), one row per line."""
    encode = msgspec.json.Encoder().encode
    out.write(encode(Steps(steps=())).removesuffix(b"]}"))
    separator = b"\n"
    for block in blocks(session):
        names = list(map(visible, block.parts))
        parts = zip(*block.parts.values(), strict=True) if names else repeat(())
        for *values, times in zip(*block.columns.values(), parts, strict=False):
            row = dict(zip(block.columns, values, strict=True))
            out.write(separator + encode(row | {"parts_ms": dict(zip(names, times, strict=True))}))
            separator = b",\n"
    out.write(b"\n]}\n")


def write_parquet(session: Session, target: Path, inputs: Collection[Path]) -> None:
    """Write the steps as a Parquet file.

    Raises BenchtuiError if pyarrow can't be loaded, or the file can't be written or is a session file, such as
    those of ``inputs``.
    """
    pyarrow, parts = import_pyarrow(), parts_of(session)
    kinds = dict.fromkeys(("case_name", "phase", "simulated"), pyarrow.string())
    kinds |= dict.fromkeys((*_FLOATS, *map(part_column, parts)), pyarrow.float64())
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.int64())) for name in column_names(session, parts)])
    tables = [pyarrow.table(dict(block.named(parts)), schema=schema) for block in blocks(session)]
    with output_file(target, inputs) as file:
        whole = pyarrow.concat_tables([schema.empty_table(), *tables])
        pyarrow.parquet.write_table(whole.combine_chunks(), file)


def column_names(session: Session, parts: Collection[str]) -> tuple[str, ...]:
    """Return the names of all columns."""
    simulated = ("simulated",) if session.simulated else ()
    return tuple(dict.fromkeys((*BASE_COLUMNS, *simulated, *map(part_column, parts))))
