"""Importer registry: the supported tools, and detection of the one that wrote a file."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers.decode import parse_json, read_text, try_parse_json
from benchtui.sessions.importers.formats import (
    batch_sweep,
    batch_sweep_tables,
    benchmark_v2,
    hyperfine,
    llama_bench,
    nvbench,
    optimum_benchmark,
    pyperf,
    pytest_benchmark,
    torch_benchmark,
    training_csv,
)
from benchtui.sessions.importers.formats.serving import aiperf, guidellm, vllm_bench
from benchtui.sessions.importers.imported import Imported
from benchtui.sessions.sweep import ranges


class _Kind(msgspec.Struct, frozen=True):
    """One tool's format: how to recognize a file, and how to parse it."""

    matches: Callable[[str, object], bool]
    """Called with the text and its JSON: of the whole, else of the first line, None if neither is JSON."""
    parse: Callable[[str, Path], Imported]
    key_check: Callable[[str, object], tuple[set[str], tuple[str, ...]]]
    """Returns the keys that a file has and the required keys. Same arguments as ``matches``."""


IMPORTERS = {
    "optimum-benchmark": _Kind(
        lambda _, value: optimum_benchmark.matches(value),
        optimum_benchmark.parse,
        lambda _, value: (optimum_benchmark.keys(value), optimum_benchmark.REQUIRED),
    ),
    "llama-bench": _Kind(
        lambda _, value: llama_bench.matches(value),
        llama_bench.parse,
        lambda _, value: (llama_bench.keys(value), llama_bench.REQUIRED),
    ),
    "hyperfine": _Kind(
        lambda _, value: hyperfine.matches(value),
        hyperfine.parse,
        lambda _, value: (hyperfine.keys(value), hyperfine.REQUIRED),
    ),
    "pyperf": _Kind(
        lambda _, value: pyperf.matches(value),
        pyperf.parse,
        lambda _, value: (pyperf.keys(value), pyperf.REQUIRED),
    ),
    "pytest-benchmark": _Kind(
        lambda _, value: pytest_benchmark.matches(value),
        pytest_benchmark.parse,
        lambda _, value: (pytest_benchmark.keys(value), pytest_benchmark.REQUIRED),
    ),
    "torch-benchmark": _Kind(
        lambda _, value: torch_benchmark.matches(value),
        torch_benchmark.parse,
        lambda _, value: (torch_benchmark.keys(value), torch_benchmark.REQUIRED),
    ),
    "benchmark-v2": _Kind(
        lambda _, value: benchmark_v2.matches(value),
        benchmark_v2.parse,
        lambda _, value: (benchmark_v2.keys(value), benchmark_v2.REQUIRED),
    ),
    "nvbench": _Kind(
        lambda _, value: nvbench.matches(value),
        nvbench.parse,
        lambda _, value: (nvbench.keys(value), nvbench.REQUIRED),
    ),
    "vllm-bench": _Kind(
        lambda _, value: vllm_bench.matches(value),
        vllm_bench.parse,
        lambda _, value: (vllm_bench.keys(value), vllm_bench.REQUIRED),
    ),
    "guidellm": _Kind(
        lambda _, value: guidellm.matches(value),
        guidellm.parse,
        lambda _, value: (guidellm.keys(value), guidellm.REQUIRED),
    ),
    "aiperf": _Kind(
        lambda _, value: aiperf.matches(value),
        aiperf.parse,
        lambda _, value: (aiperf.keys(value), aiperf.REQUIRED),
    ),
    "batch-sweep": _Kind(
        lambda text, value: batch_sweep.matches(value) or batch_sweep_tables.matches(text),
        batch_sweep.parse,
        lambda text, value: (
            (batch_sweep_tables.keys(text), batch_sweep_tables.required(text))
            if value is None
            else (batch_sweep.keys(value), batch_sweep.required(value))
        ),
    ),
    "training-csv": _Kind(
        lambda text, _: training_csv.matches(text),
        training_csv.parse,
        lambda text, _: (training_csv.keys(text), training_csv.required(text)),
    ),
}
MIN_KEY_SHARE = 0.5
"""Minimum share of a format's required keys for an error message to name that format."""


def read(path: Path, kind: str | None = None) -> Imported:
    """Read the results in a file of this tool, or of the tool detected from its content.

    Raises:
        BenchtuiError: if it can't be read, its format is unknown, or it has an invalid value or no measurement.
    """
    if kind is not None:
        ranges.one_of(IMPORTERS)(kind, "--from")
    text = read_text(path)
    found = IMPORTERS[kind or _detect_format(text, path)].parse(text, path)
    if not found.measurements:
        raise BenchtuiError(f"{path}: contains no measurements")
    return found


def detect(path: Path) -> str:
    """Return the tool that wrote a file. Raises BenchtuiError if it can't be read or isn't supported."""
    return _detect_format(read_text(path), path)


def _detect_format(text: str, path: Path) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    value = try_parse_json(text)
    value = try_parse_json(first) if value is None else value
    if isinstance(value, list) and value and isinstance(value[0], dict) and "event" in value[0]:
        raise BenchtuiError(f"{path}: already a benchtui session; open it directly")
    for name, kind in IMPORTERS.items():
        if kind.matches(text, value):
            return name
    if value is None and first.lstrip().startswith(("{", "[")):
        parse_json(text, str(path))  # raises with the position of the error
    raise BenchtuiError(f"{path}: {_nearest(text, value)}; supported formats: {', '.join(IMPORTERS)}")


def _nearest(text: str, value: object) -> str:
    """Name the format that a file comes nearest to, with the keys it lacks."""
    shares = {}
    for name, kind in IMPORTERS.items():
        there, needed = kind.key_check(text, value)
        lacking = [key for key in needed if key not in there]
        shares[name] = (1 - len(lacking) / len(needed), lacking)
    nearest = max(shares, key=lambda name: shares[name][0])
    share, lacking = shares[nearest]
    if share < MIN_KEY_SHARE or not lacking:
        return "not a supported format"
    return f"looks like {nearest}, but lacks {', '.join(lacking)}"
