"""A table of training runs as CSV: a row a run, with means over its steps and no steps.

Its ``tokens_per_sec`` counts padding, and ``compile_warmup_time`` is the time of calling ``torch.compile``,
which compiles nothing: that column isn't taken over. The compile mode stands in the run's name, as ``def`` or
``ro``. ``max_vram`` doesn't say which peak it is; it is taken for that of the allocator's tensors.
"""

import csv
import re
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.facts import Memory, Model, Reported
from benchtui.sessions.importers.decoding import Positive, agreed, typed
from benchtui.sessions.importers.found import Found, Measurement
from benchtui.sessions.sweep import LARGEST, UNKNOWN, Config, Size

COLUMNS = ("name", "precision", "compile", "batch_size", "avg_step_time", "tokens_per_sec", "max_length")
"""By these it is recognised."""
DEVICE = "cuda"
"""It has memory of a GPU, and doesn't say of which."""

_MODES = {"def": "default", "ro": "reduce-overhead"}
_MODE = re.compile(r"_[TF]_(\w+?)_")
_PADDINGS = {"max_length": "max", "longest": "longest"}


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


def is_one(text: str) -> bool:
    """Whether the first line names the columns."""
    return set(COLUMNS) <= set(text.partition("\n")[0].strip().split(","))


def found(text: str, path: Path) -> Found:
    """Every run of the table. Raises BenchtuiError with the line of what isn't allowed."""
    runs = _runs(text, path)
    return Found(
        kind="training-csv",
        model=agreed((run.model_name for run in runs), "models", str(path)),
        task="lm-train",
        measurements=tuple(_measurement(run) for run in runs),
        grid=True,
    )


def _runs(text: str, path: Path) -> list[_Run]:
    reader = csv.DictReader(text.splitlines(), restval="")
    runs = []
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row:
                raise BenchtuiError(f"{where}: more values than the {len(reader.fieldnames or ())} columns")
            runs.append(typed({key: value for key, value in row.items() if value}, _Run, where, from_text=True))
    except csv.Error as error:
        raise BenchtuiError(f"{path}, line {reader.line_num}: {error}") from error
    return runs


def _measurement(run: _Run) -> Measurement:
    padding = _PADDINGS.get(run.padding, UNKNOWN)
    step_ms = 1000 * run.avg_step_time
    full = padding == "max"  # every sample then is as long as it may be, so that tokens tell samples
    samples_per_s = run.tokens_per_sec / run.max_length if full else 1000 * run.batch_size / step_ms
    return Measurement(
        config=Config(
            device=DEVICE if run.max_vram else UNKNOWN,
            precision=run.precision,
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
