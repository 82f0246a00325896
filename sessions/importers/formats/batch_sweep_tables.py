"""CSV tables that the analysis of the batch-sweep runner writes, as lines in the runner's flat form.

``src/analysis/analyze_nested_metrics.py`` of NayanaChandrika99/distilbert-benchmark writes three: batch sizes,
CPU against GPU, and mixed against regular precision. Its comparison of devices prints a fourth in Markdown,
read from the whole document or as CSV. Each row of the last three describes two cases. None states the measured
sequence length. The runner samples GPU memory only for cases on a GPU, so a table that has it is about a GPU.
"""

import re
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
    "speedup_latency_ms_mean",
    "speedup_throughput_mean",
)
"""Columns that the analysis computes from the others."""


class _Case(msgspec.Struct, frozen=True):
    """A case in a row of a table: the columns of its results, and the options that the column names imply."""

    latency_ms: str
    throughput: str
    options: dict[str, str] = msgspec.field(default_factory=dict)
    others: dict[str, str] = msgspec.field(default_factory=dict)
    """Further columns of this case alone, by the key of the flat form."""


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
    (
        "batch_size",
        "cpu_latency_ms_mean",
        "gpu_latency_ms_mean",
        "cpu_throughput_mean",
        "gpu_throughput_mean",
    ): (
        _Case(
            "cpu_latency_ms_mean",
            "cpu_throughput_mean",
            {"device": "cpu"},
            {"cpu_memory_mb_max": "cpu_cpu_memory_mb_max", "cpu_avg_power_w": "cpu_cpu_avg_power_w"},
        ),
        _Case(
            "gpu_latency_ms_mean",
            "gpu_throughput_mean",
            {"device": "cuda"},
            {
                "cpu_memory_mb_max": "gpu_cpu_memory_mb_max",
                GPU_MEMORY: "gpu_gpu_memory_mb_max",
                "gpu_avg_power_w": "gpu_gpu_avg_power_w",
            },
        ),
    ),
}
"""Cases of a row by the columns that identify the table."""
_PIPE_TABLE = re.compile(
    r"^\|(?P<head>.*\bbatch_size\b.*)\|\n\|[-:| ]+\|\n(?P<rows>(?:\|.*\|(?:\n|$))+)", re.MULTILINE
)
"""Matches a Markdown table with a column of batch sizes."""


def keys(text: str) -> set[str]:
    """Return the column names."""
    return set(csv_columns(_as_csv(text)))


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
    figures = {column for case in cases for column in (case.latency_ms, case.throughput, *case.others.values())}
    for place, row in parse_csv(_as_csv(text), where):
        others = {name: cell for name, cell in row.items() if name not in figures}
        for case in cases:
            columns = {"latency_ms_mean": case.latency_ms, "throughput_mean": case.throughput, **case.others}
            cells = {name: row.get(column) for name, column in columns.items()}
            device = {"device": "cuda" if GPU_MEMORY in row else UNKNOWN}
            filled = {name: cell for name, cell in cells.items() if cell is not None}
            where_case = f"{place}, {case.latency_ms}" if case.options else place
            yield where_case, device | case.options | others | filled


def _as_csv(text: str) -> str:
    """Return the Markdown table of a document as CSV, with whole batch sizes; any other text unchanged."""
    match = _PIPE_TABLE.search(text)
    if match is None:
        return text
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in match["rows"].splitlines()]
    head = [cell.strip() for cell in match["head"].split("|")]
    place = head.index("batch_size")
    for row in rows:
        row[place : place + 1] = [cell.removesuffix(".00") for cell in row[place : place + 1]]
    return "\n".join(",".join(cells) for cells in (head, *rows))
