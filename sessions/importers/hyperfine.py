"""hyperfine's ``--export-json``: a case a command, a step a run of it, with all times in seconds.

A command has no samples, tokens or device that anything is said of. User and system time over wall time are
the processors it used.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.importers.decode import NotNegative, Whole, left_out, typed, untaken, whole
from benchtui.sessions.importers.imported import Found, Measurement
from benchtui.sessions.payloads import Environment, Memory, Reported
from benchtui.sessions.sweep import UNKNOWN, Config

REQUIRED = ("command", "mean")
"""Keys of a result."""
LONGEST = 300
"""Characters of a command that stand for it."""

_DERIVED = {f"results.{name}" for name in ("median", "stddev", "min", "max")}
"""What follows from the time of each run."""


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
    """Keys of the first result."""
    results = value.get("results") if isinstance(value, dict) else None
    first = results[0] if isinstance(results, list) and results else None
    return set(first) if isinstance(first, dict) else set()


def is_one(value: object) -> bool:
    """Whether it is an object with results of commands."""
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, list) and all(isinstance(each, dict) and "command" in each for each in results)


def found(text: str, path: Path) -> Found:
    """Every command. Raises BenchtuiError with the place of what isn't allowed."""
    value = whole(text, str(path))
    export = typed(value, _Export, str(path))
    without_runs = any(not result.times for result in export.results)
    places = (place for place in untaken(value, _Export) if without_runs or place not in _DERIVED)
    return Found(
        kind="hyperfine",
        measurements=tuple(_measurement(result) for result in export.results),
        notes=left_out(places),
    )


def _measurement(result: _Result) -> Measurement:
    times_s = result.times or []
    peaks = result.memory_usage_byte
    codes = result.exit_codes
    failed = sum(code != 0 for code in codes)
    return Measurement(
        config=Config(
            device=UNKNOWN,
            precision=UNKNOWN,
            compile=UNKNOWN,
            padding=UNKNOWN,
            label=" ".join(_words(result))[:LONGEST],
        ),
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
    """The command, and its parameters, which a name given to it need not tell."""
    yield result.command
    yield from (f"{name}={value}" for name, value in result.parameters.items())


def _failure(codes: list[int | None]) -> str:
    """That all runs failed, and how; a run without a code was ended by a signal."""
    ends = ["a signal" if code is None else f"exit code {code}" for code in dict.fromkeys(codes)]
    return f"every run failed: {', '.join(ends)}"


def _environment(result: _Result) -> Environment | None:
    if result.user is None or result.system is None or not result.mean:
        return None
    return Environment(worker_cpu=(result.user + result.system) / result.mean)
