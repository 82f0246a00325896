"""Importer registry: the supported tools, and detection of the tool that wrote a file."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import structs

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
    """Called with the text and its JSON: of the whole text, or of its first line; None if neither is JSON."""
    parse: Callable[[str, Path], Imported]
    key_check: Callable[[str, object], tuple[set[str], tuple[str, ...]]]
    """Returns the keys that a file has and the required keys. Same arguments as ``matches``."""


def _json(
    keys: Callable[[object], set[str]],
    required: tuple[str, ...],
    parse: Callable[[str, Path], Imported],
    matches: Callable[[object], bool] | None = None,
) -> _Kind:
    """Return a JSON format. A file matches it by a check or, without one, by the required keys."""
    return _Kind(
        lambda _, value: matches(value) if matches else keys(value) >= set(required),
        parse,
        lambda _, value: (keys(value), required),
    )


IMPORTERS = {
    "optimum-benchmark": _json(
        optimum_benchmark.keys, optimum_benchmark.REQUIRED, optimum_benchmark.parse, optimum_benchmark.matches
    ),
    "llama-bench": _json(llama_bench.keys, llama_bench.REQUIRED, llama_bench.parse),
    "hyperfine": _json(hyperfine.keys, hyperfine.REQUIRED, hyperfine.parse, hyperfine.matches),
    "pyperf": _json(pyperf.keys, pyperf.REQUIRED, pyperf.parse),
    "pytest-benchmark": _json(pytest_benchmark.keys, pytest_benchmark.REQUIRED, pytest_benchmark.parse),
    "torch-benchmark": _json(torch_benchmark.keys, torch_benchmark.REQUIRED, torch_benchmark.parse),
    "benchmark-v2": _json(benchmark_v2.keys, benchmark_v2.REQUIRED, benchmark_v2.parse),
    "nvbench": _json(nvbench.keys, nvbench.REQUIRED, nvbench.parse),
    "vllm-bench": _json(vllm_bench.keys, vllm_bench.REQUIRED, vllm_bench.parse),
    "guidellm": _json(guidellm.keys, guidellm.REQUIRED, guidellm.parse),
    "aiperf": _json(aiperf.keys, aiperf.REQUIRED, aiperf.parse),
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
    """Read the results in a file written by a tool, which is detected from the content unless specified.

    Raises:
        BenchtuiError: if it can't be read, its format is unknown, or it has an invalid value or no measurement.
    """
    if kind is not None:
        ranges.one_of(IMPORTERS)(kind, "--from")
    text = read_text(path)
    imported = IMPORTERS[kind or _detect_format(text, path)].parse(text, path)
    if not imported.measurements:
        raise BenchtuiError(f"{path}: contains no measurements")
    return structs.replace(imported, file=path.name)


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
    """Name the format that a file resembles most, with the keys that it lacks."""
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
