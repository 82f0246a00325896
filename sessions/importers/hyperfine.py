"""hyperfine's ``--export-json``: a case a command, a step a run of it, with all times in seconds."""

from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.facts import Memory, Reported
from benchtui.sessions.importers.decoding import NotNegative, Whole, typed, whole
from benchtui.sessions.importers.found import Found, Measurement
from benchtui.sessions.sweep import UNKNOWN, Config

LONGEST = 300
"""Characters of a command that stand for it."""


class _Result(msgspec.Struct):
    command: str
    mean: NotNegative
    times: list[NotNegative] | None = None
    memory_usage_byte: list[Whole] | None = None
    exit_codes: list[int | None] = []


class _Export(msgspec.Struct):
    results: Annotated[list[_Result], msgspec.Meta(min_length=1)]


def is_one(value: object) -> bool:
    """Whether it is an object with results of commands."""
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, list) and all(isinstance(each, dict) and "command" in each for each in results)


def found(text: str, path: Path) -> Found:
    """Every command. Raises BenchtuiError with the place of what isn't allowed."""
    export = typed(whole(text, str(path)), _Export, str(path))
    return Found(kind="hyperfine", measurements=tuple(_measurement(result) for result in export.results))


def _measurement(result: _Result) -> Measurement:
    times_s = result.times or []
    failed = sum(code != 0 for code in result.exit_codes)
    peaks = result.memory_usage_byte
    return Measurement(
        config=Config(
            device=UNKNOWN, precision=UNKNOWN, compile=UNKNOWN, padding=UNKNOWN, label=result.command[:LONGEST]
        ),
        wall_ms=[1000 * time_s for time_s in times_s],
        reported=None if times_s else Reported(latency_mean_ms=1000 * result.mean),
        memory=Memory(peak_rss_mb=max(peaks) / 1e6) if peaks else None,
        marks=(f"{failed} of {len(result.exit_codes)} runs failed",) if failed else (),
    )
