"""JSON lines of a batch-sweep runner: a case a line, with the means of its steps.

``device``, ``batch_size`` and ``latency_ms_mean`` must be there. ``throughput_mean`` is in samples/s,
``cpu_memory_mb_max`` the worker's peak, ``gpu_memory_mb_max`` taken for that of the allocator's tensors.
A ``mixed_precision`` of true is autocast to fp16, torch's default on CUDA; whether it was in force isn't known.
"""

from pathlib import Path

import msgspec

from benchtui.sessions.facts import Memory, Model, Reported
from benchtui.sessions.importers.decoding import Positive, agreed, lines, typed
from benchtui.sessions.importers.found import Found, Measurement
from benchtui.sessions.sweep import UNKNOWN, Config, Size


class _Line(msgspec.Struct):
    device: str
    batch_size: Size
    latency_ms_mean: Positive
    throughput_mean: Positive | None = None
    cpu_memory_mb_max: Positive | None = None
    gpu_memory_mb_max: Positive | None = None
    gpu_avg_power_w: Positive | None = None
    mixed_precision: bool | None = None
    precision: str | None = None
    sequence_length: Size | None = None
    iterations: Size | None = None
    model: str = UNKNOWN


REQUIRED = {"device", "batch_size", "latency_ms_mean"}


def is_one(value: object) -> bool:
    """Whether the first line's object is such a case."""
    return isinstance(value, dict) and set(value) >= REQUIRED


def found(text: str, path: Path) -> Found:
    """Every line. Raises BenchtuiError with the line of what isn't allowed."""
    rows = [typed(value, _Line, where) for where, value in lines(text, str(path))]
    return Found(
        kind="batch-sweep",
        model=agreed((row.model for row in rows), "models", str(path)),
        task="classify",
        measurements=tuple(_measurement(row) for row in rows),
        grid=True,
    )


def _measurement(row: _Line) -> Measurement:
    rate = row.throughput_mean
    return Measurement(
        config=Config(
            device=row.device,
            precision=_precision(row),
            compile="off",
            batch_size=row.batch_size,
            sequence_length=row.sequence_length or Config(device=row.device).sequence_length,
        ),
        reported=Reported(
            steps=row.iterations,
            latency_mean_ms=row.latency_ms_mean,
            samples_per_s=1000 * row.batch_size / row.latency_ms_mean if rate is None else rate,
            mean_power_w=row.gpu_avg_power_w,
        ),
        memory=Memory(peak_rss_mb=row.cpu_memory_mb_max, peak_allocated_mb=row.gpu_memory_mb_max),
        model=Model(name=row.model),
        marks=() if row.sequence_length else ("its sequence length isn't known",),
    )


def _precision(row: _Line) -> str:
    if row.precision is not None:
        return row.precision
    return {True: "amp-fp16", False: "fp32", None: UNKNOWN}[row.mixed_precision]
