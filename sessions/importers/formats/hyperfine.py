"""Importer for hyperfine's ``--export-json``: one case per command, one step per run, times in seconds.

The file doesn't state a command's samples, tokens or device. User plus system time over wall time is the number
of processors that it used.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    Whole,
    convert,
    ignored_fields_note,
    keys_with_first_item,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import Imported, Measurement, labeled_case
from benchtui.sessions.payloads import Environment, Memory, Reported

REQUIRED = ("command", "mean")
"""Required keys of a result."""

_DERIVED = {f"results.{name}" for name in ("median", "stddev", "min", "max")}
"""Fields that can be computed from the times of the runs."""


class _Result(msgspec.Struct):
    command: str
    mean: NotNegative
    user: NotNegative | None = None
    system: NotNegative | None = None
    times: list[NotNegative] | None = None
    memory_usage_byte: list[Whole] | None = None
    exit_codes: list[int | None] = []
    parameters: dict[str, str] = {}


class _Export(msgspec.Struct):
    results: Annotated[list[_Result], msgspec.Meta(min_length=1)]


def keys(value: object) -> set[str]:
    """Return the keys of the file and of its first result."""
    return keys_with_first_item(value, "results")


def matches(value: object) -> bool:
    """Return whether the value is an object with results of commands."""
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, list) and all(
        isinstance(command, dict) and "command" in command for command in results
    )


def parse(text: str, path: Path) -> Imported:
    """Parse every command. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    export = convert(value, _Export, str(path))
    without_runs = any(not result.times for result in export.results)
    places = (place for place in unknown_fields(value, _Export) if without_runs or place not in _DERIVED)
    return Imported(
        kind="hyperfine",
        measurements=tuple(_measurement(result) for result in export.results),
        notes=ignored_fields_note(places),
    )


def _measurement(result: _Result) -> Measurement:
    times_s = result.times or []
    peaks = result.memory_usage_byte
    codes = result.exit_codes
    failed = sum(code != 0 for code in codes)
    return Measurement(
        config=labeled_case(" ".join(_words(result))),
        wall_ms=[1000 * time_s for time_s in times_s],
        reported=None if times_s else Reported(latency_mean_ms=1000 * result.mean),
        memory=Memory(peak_rss_mb=max(peaks) / 1e6) if peaks else None,
        environment=_environment(result),
        samples_per_step=0,
        marks=(f"{failed} of {len(codes)} runs failed",) if 0 < failed < len(codes) else (),
        failure=_failure(codes) if codes and failed == len(codes) else None,
        exit_code=codes[0] if codes and len(set(codes)) == 1 else None,
    )


def _words(result: _Result) -> Iterator[str]:
    """Yield the command and its parameters, because a custom command name may not include them."""
    yield result.command
    yield from (f"{name}={value}" for name, value in result.parameters.items())


def _failure(codes: list[int | None]) -> str:
    """Describe how all runs failed. A run without an exit code was ended by a signal."""
    ends = ["a signal" if code is None else f"exit code {code}" for code in dict.fromkeys(codes)]
    return f"every run failed: {', '.join(ends)}"


def _environment(result: _Result) -> Environment | None:
    if result.user is None or result.system is None:
        return None
    return Environment(
        worker_cpu=(result.user + result.system) / result.mean if result.mean else None,
        user_ms=1000 * result.user,
        system_ms=1000 * result.system,
    )
