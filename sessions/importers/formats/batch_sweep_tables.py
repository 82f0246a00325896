"""CSV tables that the analysis of the batch-sweep runner writes, as lines in the runner's flat form.

``src/analysis/analyze_nested_metrics.py`` of NayanaChandrika99/distilbert-benchmark writes three: batch sizes,
CPU against GPU, and mixed against regular precision. Each row of the last two describes two cases. None states
the measured sequence length. The runner samples GPU memory only for cases on a GPU, so a table with GPU memory
is about a GPU.
"""

from collections.abc import Iterator

import msgspec

from benchtui.sessions.importers.decode import csv_columns, parse_csv
from benchtui.sessions.sweep import UNKNOWN

GPU_MEMORY = "gpu_memory_mb_max"
DERIVED = (
    "per_sample_latency_ms",
    "scaling_efficiency",
    "memory_per_sample_MB",
    "speedup_factor",
    "latency_reduction",
    "throughput_improvement",
)
"""Columns that the analysis computes from the others."""


class _Case(msgspec.Struct, frozen=True):
    """A case in a row of a table: the columns of its results, and the options that the column names imply."""

    latency_ms: str
    throughput: str
    options: dict[str, str] = msgspec.field(default_factory=dict)


_TABLES: dict[tuple[str, ...], tuple[_Case, ...]] = {
    ("batch_size", "latency_ms_mean", "throughput_mean", "per_sample_latency_ms", "scaling_efficiency"): (
        _Case("latency_ms_mean", "throughput_mean"),
    ),
    ("batch_size", "cpu_latency_ms", "gpu_latency_ms", "cpu_throughput_sps", "gpu_throughput_sps"): (
        _Case("cpu_latency_ms", "cpu_throughput_sps", {"device": "cpu"}),
        _Case("gpu_latency_ms", "gpu_throughput_sps", {"device": "cuda"}),
    ),
    (
        "batch_size",
        "mixed_precision_latency_ms",
        "regular_precision_latency_ms",
        "mixed_precision_throughput",
        "regular_precision_throughput",
    ): (
        _Case("mixed_precision_latency_ms", "mixed_precision_throughput", {"mixed_precision": "true"}),
        _Case("regular_precision_latency_ms", "regular_precision_throughput", {"mixed_precision": "false"}),
    ),
}
"""Cases of a row by the columns that identify the table."""


def keys(text: str) -> set[str]:
    """Return the column names."""
    return set(csv_columns(text))


def required(text: str) -> tuple[str, ...]:
    """Return the required columns of the table that a text resembles most."""
    there = keys(text)
    return max(_TABLES, key=lambda columns: len(there.intersection(columns)))


def matches(text: str) -> bool:
    """Return whether the first line names the columns of one of the tables."""
    return keys(text) >= set(required(text))


def lines(text: str, where: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each case in the keys of the runner's flat form, with its place for messages.

    Raises:
        BenchtuiError: naming the line that isn't CSV.
    """
    cases = _TABLES[required(text)]
    figures = {column for case in cases for column in (case.latency_ms, case.throughput)}
    for place, row in parse_csv(text, where):
        others = {name: cell for name, cell in row.items() if name not in figures}
        for case in cases:
            cells = {"latency_ms_mean": row.get(case.latency_ms), "throughput_mean": row.get(case.throughput)}
            device = {"device": "cuda" if GPU_MEMORY in row else UNKNOWN}
            filled = {name: cell for name, cell in cells.items() if cell is not None}
            where_case = f"{place}, {case.latency_ms}" if case.options else place
            yield where_case, device | case.options | others | filled
