"""Export of every recorded step as a row, streamed from the session file.

Steps that were later measured again, for whatever reason, are left out, as in every output. A row identifies
its case by number; the options of the case are in the results.
"""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TypeVar
from typing import Annotated as A

import msgspec
from msgspec import Meta

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseRepeated, Resumed, RoundFinished, SessionStarted, Steps
from benchtui.sessions.export.parquet import import_pyarrow
from benchtui.sessions.files.output_file import output_file
from benchtui.sessions.journal import reader
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.columns import require_equal_lengths
from benchtui.sessions.state.simulation import SIMULATED

CHUNK_BYTES = 1 << 20
"""Bytes of the session file to decode at a time."""
ROWS_PER_GROUP = 1 << 18
"""Approximate number of rows that are compressed together in a Parquet file."""

Events = Callable[[], Iterable[reader.AnyRecord]]
"""Reads the session from its beginning at each call."""
Survey = TypeVar("Survey")


class StepRow(msgspec.Struct, frozen=True, kw_only=True):
    """One step. In CSV and Parquet, each part has a separate column, ``part_NAME_ms``."""

    case: A[int, Meta(description="Number of the case in the session's plan, counted from 0.")]
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


Values = Sequence[Any] | str | int | None
"""A column: one value per step, or one value for all steps of an event."""
COLUMN_TYPES = (list, array, range)
"""Types of a column with one value per step."""

BASE_COLUMNS = StepRow.__struct_fields__[:-2]
"""Columns that every session has."""


class StepIndex(msgspec.Struct):
    """Facts required before the first row is written: part names, and steps that don't count."""

    parts: dict[str, None] = msgspec.field(default_factory=dict)
    """Names of all parts, in order of appearance."""
    repeated: dict[int, list[tuple[int, int]]] = msgspec.field(default_factory=dict)
    """By case: event position and round of each repetition. Earlier steps from that round on don't count."""
    rounds: Counter[int] = msgspec.field(default_factory=Counter)
    """By case: number of finished rounds, except the last one."""
    simulated: bool = False
    """Whether the session is simulated, which an additional column then states."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the session's rows that precede those of the parts."""
        return (*BASE_COLUMNS, "simulated") if self.simulated else BASE_COLUMNS

    def counts(self, position: int, steps: Steps) -> bool:
        """Return whether these steps are final, that is, not superseded by a rerun."""
        later = self.repeated.get(steps.case, ())
        return not any(position < at and steps.round >= round_index for at, round_index in later)

    def add(self, position: int, event: reader.AnyRecord) -> None:
        """Record what the event at this position implies for earlier steps."""
        match event:
            case RoundFinished():
                self.rounds[event.case] += 1
            case CaseRepeated():
                self._add_repetition(position, event.case, event.round)
            case CaseFinished() if event.not_measured_further is not None:
                self._add_repetition(position, event.case, self.rounds[event.case])
            case Resumed():
                for case in event.cases:
                    self._add_repetition(position, case, self.rounds[case])

    def _add_repetition(self, position: int, case: int, round_index: int) -> None:
        self.repeated.setdefault(case, []).append((position, round_index))


class RecordedSteps(msgspec.Struct, frozen=True):
    """Steps of a session file."""

    events: Events
    index: StepIndex

    @property
    def part_columns(self) -> list[str]:
        """Column names of the parts."""
        return [f"part_{visible(name)}_ms" for name in self.index.parts]

    def batches(self) -> Iterator["StepBatch"]:
        """Yield the steps that count, in recorded batches."""
        done: Counter[tuple[int, int, str]] = Counter()
        for position, event in enumerate(self.events()):
            if isinstance(event, Steps) and self.index.counts(position, event) and event.wall_ms:
                key = (event.case, event.round, event.phase)
                yield StepBatch(done[key], event)
                done[key] += len(event.wall_ms)


class StepBatch(msgspec.Struct, frozen=True):
    """Steps of one event, and the number of the first."""

    first: int
    steps: Steps

    def column(self, name: str) -> Values:
        """Return a column of ``StepIndex.columns``: one value per step, or one value for all."""
        if name == "simulated":
            return SIMULATED
        if name == "step":
            return range(self.first, self.first + len(self.steps.wall_ms))
        values: Values = getattr(self.steps, name)
        return values

    def columns(self, names: Iterable[str], parts: Iterable[str]) -> list[Values]:
        """Return these columns and those of these parts. None for a part that the batch lacks."""
        return [*map(self.column, names), *map(self.steps.parts_ms.get, parts)]


def load_steps(path: Path) -> RecordedSteps:
    """Prepare the steps of a session file for export. Raises BenchtuiError if it can't be read."""
    return surveyed(path, lambda events: RecordedSteps(events, _index_steps(events(), path)))


def surveyed(path: Path, survey: Callable[[Events], Survey]) -> Survey:
    """Return the result of a first pass over a session file, which may keep the events to read them again."""
    try:
        return survey(lambda: _read_events(path))
    except BenchtuiError:  # incomplete, broken or reformatted by another program: read the whole file
        whole = reader.read(path).events
        return survey(lambda: whole)


def write_csv(recorded: RecordedSteps, out: IO[bytes]) -> None:
    """Write the steps as CSV."""
    out.write((",".join([*recorded.index.columns, *map(_quoted, recorded.part_columns)]) + "\r\n").encode())
    for batch in recorded.batches():
        columns = batch.columns(recorded.index.columns, recorded.index.parts)
        cells = ["" if column is None else _cell(column) for column in columns]
        out.write(_format_rows(",".join(cells) + "\r\n", columns, missing="").encode())


def write_json(recorded: RecordedSteps, out: IO[bytes]) -> None:
    """Write the steps as a JSON array, one row per line."""
    separator, base = "[\n", recorded.index.columns
    for batch in recorded.batches():
        names, columns = list(batch.steps.parts_ms), batch.columns(base, batch.steps.parts_ms)
        cells = [_json_cell(column) for column in columns]
        plain = _members(base, cells)
        row = f'{{{plain},"parts_ms":{{{_members(map(visible, names), cells[len(base) :])}}}}}'
        rows = _format_rows(row + ",\n", columns, missing="null")
        out.write((separator + rows.removesuffix(",\n")).encode())
        separator = ",\n"
    out.write(b"\n]\n" if separator == ",\n" else b"[]\n")


def write_parquet(recorded: RecordedSteps, target: Path, inputs: Collection[Path]) -> None:
    """Write the steps as a Parquet file.

    Raises:
        BenchtuiError: if pyarrow can't be loaded, or the file can't be written or is a session file, such as
            those of ``inputs``.
    """
    pyarrow = import_pyarrow()
    parts = ((name, pyarrow.float64()) for name in recorded.part_columns)
    schema = pyarrow.schema([*_column_types(pyarrow, recorded.index.columns), *parts])
    with output_file(target, inputs) as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for batches in _grouped(recorded.batches()):
            tables = [_table(pyarrow, batch, recorded, schema) for batch in batches]
            writer.write_table(pyarrow.concat_tables(tables).combine_chunks())


def _table(pyarrow: ModuleType, batch: StepBatch, recorded: RecordedSteps, schema: Any) -> Any:  # noqa: ANN401
    """Convert a batch to a pyarrow table. ``Any``, because pyarrow has no type hints."""
    size, columns = len(batch.steps.wall_ms), batch.columns(recorded.index.columns, recorded.index.parts)
    arrays = [
        pyarrow.array(column if isinstance(column, COLUMN_TYPES) else [column] * size, kind.type)
        for column, kind in zip(columns, schema, strict=True)
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _read_events(path: Path) -> Iterator[reader.AnyRecord]:
    torn = False
    for events, torn in reader.slices(path, CHUNK_BYTES):  # noqa: B007 - the last value is used
        yield from events
    if torn:
        raise BenchtuiError(f"{path}: doesn't end in a whole line")


def _index_steps(events: Iterable[reader.AnyRecord], path: Path) -> StepIndex:
    coming = iter(events)
    start = next(coming, None)
    if not isinstance(start, SessionStarted):
        raise reader.not_a_session(path)
    reader.require_known_schema(start.schema, str(path))
    index = StepIndex(simulated=start.simulated is not None)
    for position, event in enumerate(coming, 1):
        index.add(position, event)
        if isinstance(event, Resumed):
            reader.require_known_schema(event.schema, str(path))
        if isinstance(event, Steps):
            _check(event, path)
            index.parts.update(dict.fromkeys(event.parts_ms))
    return index


def _check(steps: Steps, path: Path) -> None:
    try:
        require_equal_lengths(steps)
    except BenchtuiError as error:
        raise BenchtuiError(f"{path}: {error}") from error


def _grouped(batches: Iterable[StepBatch]) -> Iterator[list[StepBatch]]:
    """Group batches into lists of about ``ROWS_PER_GROUP`` steps."""
    group: list[StepBatch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += len(batch.steps.wall_ms)
        if size >= ROWS_PER_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _format_rows(row: str, columns: Iterable[Values], missing: str) -> str:
    """Return a formatted row per step, filled from the columns with one value per step."""
    varied = [column for column in columns if isinstance(column, COLUMN_TYPES)]
    whole = [
        [missing if cell is None else cell for cell in column] if None in column else column
        for column in varied
    ]
    return "".join([row % values for values in zip(*whole, strict=True)])


def _cell(column: Values) -> str:
    """Return a ``%s`` placeholder, or the value that all rows share."""
    return "%s" if isinstance(column, COLUMN_TYPES) else str(column)


def _json_cell(column: Values) -> str:
    return "%s" if isinstance(column, COLUMN_TYPES) else json.dumps(column)


def _members(names: Iterable[str], cells: Iterable[str]) -> str:
    """Return the members of a JSON object. Percent signs in names are doubled because rows use % formatting."""
    return ",".join(
        f"{json.dumps(name).replace('%', '%%')}:{cell}" for name, cell in zip(names, cells, strict=False)
    )


def _quoted(title: str) -> str:
    return '"' + title.replace('"', '""') + '"' if any(character in title for character in ',"') else title


def _column_types(pyarrow: ModuleType, names: Iterable[str]) -> list[tuple[str, Any]]:
    kinds = dict.fromkeys(("phase", "simulated"), pyarrow.string())
    kinds |= {"wall_ms": pyarrow.float64(), "device_ms": pyarrow.float64()}
    kinds |= {"host_ms": pyarrow.float64(), "loss": pyarrow.float64()}
    return [(name, kinds.get(name, pyarrow.int64())) for name in names]
