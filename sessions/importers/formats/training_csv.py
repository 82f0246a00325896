"""Importer for CSV tables of training runs: one row per run, with means over its steps but no individual steps.

Two scripts of MiladKetabGhale/LLM_Cybersecurity_Summarizer write them (``Performance_Engineering``), without a
warm-up: a mean includes the first step, in which ``torch.compile`` compiles. In both, a precision of fp16 is
autocast with a GradScaler (``amp-fp16`` here), ``tokens_per_sec`` includes padding, ``max_vram`` is the peak
allocated by tensors, in 10**6 bytes, and ``compile_warmup_time`` is the time of the call to ``torch.compile``,
which doesn't compile yet.

- ``benchmark_performance_gpt2_v2.py`` times every step (``avg_step_time``). The compile mode is part of the
  run's name: ``def``, ``ro`` or ``ma``.
- ``Optimizations/Optimizer_Optimization/profile_performance_gpt2.py`` compares optimizers. It has only the
  time of the whole loop (``total_time``), with loading of data and torch's profiler. It writes -1 for what it
  couldn't sample. Custom ``layers`` and ``heads`` mean random weights. Without a GPU, whose ``max_vram`` is 0,
  it neither compiles nor uses autocast.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    common_value,
    convert,
    csv_columns,
    ignored_fields_note,
    parse_csv,
)
from benchtui.sessions.importers.imported import Imported, Measurement
from benchtui.sessions.payloads import Count, Memory, Model, Reported
from benchtui.sessions.sweep import LARGEST, UNKNOWN, Config, Size

_SHARED = ("name", "precision", "compile", "batch_size", "steps", "tokens_per_sec", "max_length")
COLUMNS = (*_SHARED, "avg_step_time")
"""Columns that identify a table with step times."""
LOOP_COLUMNS = (*_SHARED, "total_time")
"""Columns that identify a table with times of the whole loop."""
DEVICE = "cuda"
"""The table has GPU memory, but doesn't say which GPU."""
RANDOM_WEIGHTS = "random weights"

_AMP = {"fp16": "amp-fp16"}
_MODES = {"def": "default", "ro": "reduce-overhead", "ma": "max-autotune"}
_MODE = re.compile(r"_[TF]_(\w+?)_")
_PADDINGS = {"max_length": "max", "longest": "longest"}
_SAMPLED = ("max_cpu_ram", "gpu_utilization_avg")
_NOT_SAMPLED = "-1"
_REMARKS = {"collator_time": "of all steps together"}
_AMP_NOTE = "precision: fp16 in the script is autocast with a GradScaler, imported as amp-fp16"
_MEANS_NOTE = (
    "step time: mean over all steps, including the first one, in which torch.compile"
    " compiles; without single steps there are no percentiles, jitter, compile cost or break-even"
)
_LOOP_NOTE = "step time: total_time over steps, which includes loading of data and torch's profiler"
_COMPILE_NOTE = (
    "compile_warmup_time: {range} s for the call of torch.compile, which doesn't compile yet;"
    " recorded with each case, but not as compile cost"
)
_UTILIZATION_NOTE = "gpu_utilization_avg: {range} %, read by nvidia-smi after steps; recorded with each case"


_LoopSeconds = Annotated[float, msgspec.Meta(ge=1e-6, le=LARGEST)]
"""Time of a loop in seconds. A shorter one could make the time of a step underflow to 0."""


class _Run(msgspec.Struct):
    name: str
    precision: str
    compile: bool
    batch_size: Size
    tokens_per_sec: Positive
    max_length: Size
    steps: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    avg_step_time: Positive | None = None
    total_time: _LoopSeconds | None = None
    model_name: str = UNKNOWN
    attn_backend: str = UNKNOWN
    compile_mode: str | None = None
    optimizer: str | None = None
    layers: Count | None = None
    heads: Count | None = None
    max_vram: NotNegative | None = None
    max_cpu_ram: Positive | None = None
    gpu_utilization_avg: NotNegative | None = None
    compile_warmup_time: NotNegative | None = None
    padding: str = UNKNOWN

    @property
    def step_ms(self) -> float:
        """Mean step time in milliseconds."""
        return 1000 * (self.avg_step_time or (self.total_time or 0.0) / self.steps)

    @property
    def is_padded_to_max(self) -> bool:
        """Whether every sample has ``max_length`` tokens, so that tokens determine samples."""
        return _PADDINGS.get(self.padding) == "max"

    @property
    def samples_per_s(self) -> float:
        """Samples per second: from the tokens if they determine samples, else batch size over step time."""
        return self.tokens_per_sec / self.max_length if self.is_padded_to_max else self.samples_per_step_time

    @property
    def samples_per_step_time(self) -> float:
        """Batch size over step time, in samples per second. Too high if last batches are short."""
        return 1000 * self.batch_size / self.step_ms


def keys(text: str) -> set[str]:
    """Return the column names."""
    return set(csv_columns(text))


def required(text: str) -> tuple[str, ...]:
    """Return the required columns of a table's form."""
    return LOOP_COLUMNS if "total_time" in keys(text) else COLUMNS


def matches(text: str) -> bool:
    """Return whether the first line names the required columns."""
    return keys(text) >= set(required(text))


def parse(text: str, path: Path) -> Imported:
    """Parse every run. Raises BenchtuiError naming the line with an invalid value."""
    rows = [(where, _sampled(row)) for where, row in parse_csv(text, str(path))]
    needs = _LoopRun if required(text) == LOOP_COLUMNS else _TimedRun
    runs: list[_Run] = [convert(row, needs, where, from_text=True) for where, row in rows]
    shared = _shared_options(runs)
    return Imported(
        kind="training-csv",
        model=common_value((run.model_name for run in runs), "models", str(path)),
        task="lm-train",
        measurements=tuple(_measurement(run, shared) for run in runs),
        grid=not any(run.optimizer for run in runs),
        notes=(*_notes(runs), *_shared_note(shared), *_ignored_note([row for _, row in rows])),
    )


class _TimedRun(_Run, kw_only=True):
    avg_step_time: Positive


class _LoopRun(_Run, kw_only=True):
    total_time: _LoopSeconds


def _sampled(row: dict[str, str]) -> dict[str, str]:
    """Return a row without the readings that the script couldn't sample."""
    return {name: cell for name, cell in row.items() if name not in _SAMPLED or cell != _NOT_SAMPLED}


def _notes(runs: Sequence[_Run]) -> Iterator[str]:
    """Yield caveats about the table as a whole."""
    if any(_precision(run) in _AMP.values() for run in runs):
        yield _AMP_NOTE
    padded = [run for run in runs if run.is_padded_to_max]
    if padded:
        apart = max(abs(run.samples_per_s / run.samples_per_step_time - 1) for run in padded)
        yield (
            "samples/s: tokens_per_sec over max_length, which differs from batch size over step time"
            f" by up to {100 * apart:.2g} %; last batches are short"
        )
    yield _MEANS_NOTE
    if any(run.avg_step_time is None for run in runs):
        yield _LOOP_NOTE
    if calls_s := [run.compile_warmup_time for run in runs if run.compile_warmup_time]:
        yield _COMPILE_NOTE.format(range=_range(calls_s))
    if percents := [run.gpu_utilization_avg for run in runs if run.gpu_utilization_avg is not None]:
        yield _UTILIZATION_NOTE.format(range=_range(percents))


def _ignored_note(rows: Sequence[dict[str, str]]) -> tuple[str, ...]:
    """Name the ignored columns, with the range of their numbers and a remark."""
    columns = dict.fromkeys(name for row in rows for name in row if name not in _Run.__struct_fields__)
    parts_by_name = {
        name: [_range_of_cells([row[name] for row in rows if name in row]), _REMARKS.get(name)]
        for name in columns
    }
    remarks = {name: "; ".join(part for part in parts if part) for name, parts in parts_by_name.items()}
    return ignored_fields_note(columns, {name: remark for name, remark in remarks.items() if remark})


def _range_of_cells(cells: Sequence[str]) -> str | None:
    """Format the minimum and maximum of numbers. None if a cell isn't a number."""
    try:
        return _range([float(cell) for cell in cells])
    except ValueError:
        return None


def _range(numbers: Sequence[float]) -> str:
    return f"{min(numbers):.4g} to {max(numbers):.4g}"


def _measurement(run: _Run, shared: Collection[str]) -> Measurement:
    memory = Memory(peak_allocated_mb=run.max_vram or None, peak_rss_mb=run.max_cpu_ram)
    custom = run.layers is not None or run.heads is not None
    return Measurement(
        config=_options(run, shared),
        reported=Reported(
            steps=run.steps,
            latency_mean_ms=run.step_ms,
            samples_per_s=run.samples_per_s,
            padded_tokens_per_s=run.tokens_per_sec,
            gpu_utilization_percent=run.gpu_utilization_avg,
            compile_call_s=run.compile_warmup_time if _compile(run) != "off" else None,
        ),
        memory=None if memory == Memory() else memory,
        model=Model(
            name=run.model_name,
            hidden_layers=run.layers,
            attention_heads=run.heads,
            weights="random" if custom else None,
        ),
        marks=(RANDOM_WEIGHTS,) if custom else (),
    )


def _named_options(run: _Run) -> list[str]:
    """Return the options of a run in a table with optimizers, as a label has them."""
    return [
        _precision(run),
        f"compile={_compile(run)}",
        f"optimizer={run.optimizer}",
        f"bs={run.batch_size}",
        f"seq={run.max_length}",
    ]


def _shared_options(runs: Sequence[_Run]) -> tuple[str, ...]:
    """Return the options that no label repeats, because all runs of a table with optimizers have them.

    Every name has its precision, as elsewhere, and its optimizer.
    """
    if len(runs) < 2 or not all(run.optimizer for run in runs):
        return ()
    columns = zip(*map(_named_options, runs), strict=True)
    same = [cells[0] for cells in columns if len(set(cells)) == 1]
    return tuple(option for option in same if option.startswith(("compile=", "bs=", "seq=")))


def _shared_note(shared: Sequence[str]) -> Iterator[str]:
    if shared:
        yield f"options shared by all runs: {', '.join(shared)}"


def _options(run: _Run, shared: Collection[str]) -> Config:
    """Return the options of a run, with its optimizer in a label.

    The option ``optimizer`` names one implementation; a table with ``adamw`` leaves it open.
    """
    device = UNKNOWN if run.max_vram is None else DEVICE if run.max_vram else "cpu"
    precision, mode = _precision(run), _compile(run)
    named = " ".join(option for option in _named_options(run) if option not in shared)
    return Config(
        device=device,
        precision=precision,
        compile=mode,
        attention="auto" if run.attn_backend == "default" else run.attn_backend,
        batch_size=run.batch_size,
        sequence_length=run.max_length,
        padding=_PADDINGS.get(run.padding, UNKNOWN),
        label=named if run.optimizer else "",
    )


def _precision(run: _Run) -> str:
    return "fp32" if run.max_vram == 0 else _AMP.get(run.precision, run.precision)


def _compile(run: _Run) -> str:
    if not run.compile or run.max_vram == 0:
        return "off"
    match = _MODE.search(run.name)
    return run.compile_mode or (_MODES.get(match[1]) if match else None) or UNKNOWN
