"""The tools whose results are read, and which of them wrote a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchtui.sessions import axis
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers import batch_sweep, hyperfine, llama_bench, optimum_benchmark, training_csv
from benchtui.sessions.importers.decoding import parsed, read_text
from benchtui.sessions.importers.found import Found


@dataclass(frozen=True, slots=True)
class _Kind:
    """One tool's format: whether a file is of it, and how it is read."""

    fits: Callable[[str, object], bool]
    """By the text, and by the JSON of the whole or of the first line, None where it is none."""
    found: Callable[[str, Path], Found]


KINDS = {
    "optimum-benchmark": _Kind(lambda _, value: optimum_benchmark.is_one(value), optimum_benchmark.found),
    "llama-bench": _Kind(lambda _, value: llama_bench.is_one(value), llama_bench.found),
    "hyperfine": _Kind(lambda _, value: hyperfine.is_one(value), hyperfine.found),
    "batch-sweep": _Kind(lambda _, value: batch_sweep.is_one(value), batch_sweep.found),
    "training-csv": _Kind(lambda text, _: training_csv.is_one(text), training_csv.found),
}


def read(path: Path, kind: str | None = None) -> Found:
    """The results in a file of this tool's, or of the one that its content tells.

    Raises:
        BenchtuiError: where it can't be read, is of no known kind, or something in it isn't allowed.
    """
    if kind is not None:
        axis.one_of(KINDS)(kind, "--from")
    text = read_text(path)
    found = KINDS[kind or _recognised(text, path)].found(text, path)
    if not found.measurements:
        raise BenchtuiError(f"{path}: no measurement in it")
    return found


def _recognised(text: str, path: Path) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    value = parsed(text)
    value = parsed(first) if value is None else value
    if isinstance(value, list) and value and isinstance(value[0], dict) and "event" in value[0]:
        raise BenchtuiError(f"{path}: a session already, which needs no importing")
    for name, kind in KINDS.items():
        if kind.fits(text, value):
            return name
    raise BenchtuiError(f"{path}: not results of a known tool; known are {', '.join(KINDS)}")
