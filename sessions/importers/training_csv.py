"""Importer for a CSV table of training runs: one row per run, with means over its steps but no steps.

In the script that wrote it (``Performance_Engineering/benchmark_performance_gpt2_v2.py`` of
MiladKetabGhale/LLM_Cybersecurity_Summarizer), a precision of fp16 is autocast with a GradScaler: ``amp-fp16``
here. ``tokens_per_sec`` includes padding, and ``max_vram`` is the peak that tensors allocated, in 10**6 bytes.
``compile_warmup_time`` is the time of calling ``torch.compile``, which compiles nothing, so it is ignored. The
compile mode is part of the run's name: ``def``, ``ro`` or ``ma``.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers.decode import Positive, common_value, convert, ignored_fields_note
from benchtui.sessions.importers.imported import Imported, Measurement
from benchtui.sessions.payloads import Memory, Model, Reported
from benchtui.sessions.sweep import LARGEST, UNKNOWN, Config, Size

COLUMNS = ("name", "precision", "compile", "batch_size", "avg_step_time", "tokens_per_sec", "max_length")
"""Columns that identify the format."""
DEVICE = "cuda"
"""The table has GPU memory, but doesn't say which GPU."""

_AMP = {"fp16": "amp-fp16"}
_MODES = {"def": "default", "ro": "reduce-overhead", "ma": "max-autotune"}
_MODE = re.compile(r"_[TF]_(\w+?)_")
_PADDINGS = {"max_length": "max", "longest": "longest"}
_REMARKS = {
    "compile_warmup_time": "time of calling torch.compile, which compiles nothing yet",
    "gpu_utilization_avg": "read by nvidia-smi once after each step",
}
_AMP_NOTE = "precision: fp16 in the script is autocast with a GradScaler, imported as amp-fp16"
_RATES_NOTE = (
    "samples/s: tokens_per_sec over max_length; short last batches lower it below batch size over step time"
)


class _Run(msgspec.Struct):
    name: str
    precision: str
    compile: bool
    batch_size: Size
    avg_step_time: Positive
    tokens_per_sec: Positive
    max_length: Size
    steps: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    model_name: str = UNKNOWN
    attn_backend: str = "default"
    max_vram: Positive | None = None
    padding: str = UNKNOWN


def keys(text: str) -> set[str]:
    """Return the column names."""
    return set(text.partition("\n")[0].strip().split(","))


def matches(text: str) -> bool:
    """Return whether the first line names the required columns."""
    return keys(text) >= set(COLUMNS)


def parse(text: str, path: Path) -> Imported:
    """Parse every run. Raises BenchtuiError naming the line with an invalid value."""
    rows = _rows(text, path)
    runs = [convert(row, _Run, where, from_text=True) for where, row in rows]
    return Imported(
        kind="training-csv",
        model=common_value((run.model_name for run in runs), "models", str(path)),
        task="lm-train",
        measurements=tuple(_measurement(run) for run in runs),
        grid=True,
        notes=(*_notes(runs), *_ignored_note([row for _, row in rows])),
    )


def _rows(text: str, path: Path) -> list[tuple[str, dict[str, str]]]:
    """Return the non-empty cells of each row by column, with the row's place for messages."""
    reader = csv.DictReader(text.splitlines(), restval="")
    rows = []
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row:
                raise BenchtuiError(f"{where}: more values than columns ({len(reader.fieldnames or ())})")
            rows.append((where, {key: value for key, value in row.items() if value}))
    except csv.Error as error:
        raise BenchtuiError(f"{path}, line {reader.line_num}: {error}") from error
    return rows


def _notes(runs: Sequence[_Run]) -> Iterator[str]:
    """Yield caveats about the table as a whole."""
    if any(run.precision in _AMP for run in runs):
        yield _AMP_NOTE
    if any(_is_padded_to_max(run) for run in runs):
        yield _RATES_NOTE


def _ignored_note(rows: Sequence[dict[str, str]]) -> tuple[str, ...]:
    """Name the ignored columns, with the range of their numbers and a remark."""
    columns = dict.fromkeys(name for row in rows for name in row if name not in _Run.__struct_fields__)
    parts_by_name = {
        name: [_range([row[name] for row in rows if name in row]), _REMARKS.get(name)] for name in columns
    }
    remarks = {name: "; ".join(part for part in parts if part) for name, parts in parts_by_name.items()}
    return ignored_fields_note(columns, {name: remark for name, remark in remarks.items() if remark})


def _range(cells: Sequence[str]) -> str | None:
    """Format the minimum and maximum of numbers. None if a cell isn't a number."""
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return None
    return f"{min(numbers):.4g} to {max(numbers):.4g}"


def _is_padded_to_max(run: _Run) -> bool:
    """Return whether every sample is padded to ``max_length``, so that tokens determine samples."""
    return _PADDINGS.get(run.padding) == "max"


def _measurement(run: _Run) -> Measurement:
    padding = _PADDINGS.get(run.padding, UNKNOWN)
    step_ms = 1000 * run.avg_step_time
    samples_per_s = (
        run.tokens_per_sec / run.max_length if _is_padded_to_max(run) else 1000 * run.batch_size / step_ms
    )
    return Measurement(
        config=Config(
            device=DEVICE if run.max_vram else UNKNOWN,
            precision=_AMP.get(run.precision, run.precision),
            compile=_compile(run),
            attention="auto" if run.attn_backend == "default" else run.attn_backend,
            batch_size=run.batch_size,
            sequence_length=run.max_length,
            padding=padding,
        ),
        reported=Reported(
            steps=run.steps,
            latency_mean_ms=step_ms,
            samples_per_s=samples_per_s,
            padded_tokens_per_s=run.tokens_per_sec,
        ),
        memory=Memory(peak_allocated_mb=run.max_vram) if run.max_vram else None,
        model=Model(name=run.model_name),
    )


def _compile(run: _Run) -> str:
    match = _MODE.search(run.name)
    mode = _MODES.get(match[1]) if match else None
    return (mode or UNKNOWN) if run.compile else "off"
