"""Importer for pyperf's JSON: one case per benchmark, one round per process, one step per value.

A value is the mean of all loops of a run, in seconds. Runs without values only calibrate the number of loops.
Metadata may belong to the file, a benchmark or a run. pyperf compares a benchmark only with that of the same
name in another file, so each is a separate group.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers.decode import (
    NotNegative,
    Whole,
    convert,
    ignored_fields_note,
    keys_with_first_item,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import Imported, Measurement, labeled_case, loops_note
from benchtui.sessions.payloads import Host, Memory
from benchtui.sessions.sanitize import LONGEST_VALUE, visible

REQUIRED = ("benchmarks", "runs")
"""Required keys: of the file, and of a benchmark."""
SECOND = "second"
"""Unit of times; pyperf also measures bytes and counts."""


class _Metadata(msgspec.Struct):
    name: str | None = None
    unit: str = SECOND
    date: str | None = None
    loops: Whole | None = None
    inner_loops: Whole | None = None
    mem_max_rss: Whole | None = None
    hostname: str | None = None
    platform: str | None = None
    cpu_model_name: str | None = None
    cpu_count: Whole | None = None
    python_version: str | None = None
    perf_version: str | None = None


class _Run(msgspec.Struct):
    values: list[NotNegative] = []
    warmups: list[tuple[Whole, NotNegative]] = []
    """Number of loops, and the mean of a loop."""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Benchmark(msgspec.Struct):
    runs: list[_Run]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Suite(msgspec.Struct):
    benchmarks: Annotated[list[_Benchmark], msgspec.Meta(min_length=1)]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    version: str | None = None


def keys(value: object) -> set[str]:
    """Return the keys of the file and of its first benchmark."""
    return keys_with_first_item(value, "benchmarks")


def parse(text: str, path: Path) -> Imported:
    """Parse every benchmark. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    suite = convert(value, _Suite, str(path))
    timed = [benchmark for benchmark in suite.benchmarks if _unit(suite, benchmark) == SECOND]
    if not timed:
        units = ", ".join(dict.fromkeys(_unit(suite, benchmark) for benchmark in suite.benchmarks))
        raise BenchtuiError(f"{path}: no benchmark of times; its unit is {visible(units, LONGEST_VALUE)}")
    runs = [run for benchmark in timed for run in benchmark.runs if run.values]
    levels = [suite.metadata, *(benchmark.metadata for benchmark in timed), *(run.metadata for run in runs)]
    return Imported(
        kind="pyperf",
        measurements=tuple(row for benchmark in timed for row in _measurements(suite, benchmark)),
        host=_host(levels),
        measured=min((benchmark.date for benchmark in levels if benchmark.date), key=_moment, default=None),
        notes=(
            *loops_note(
                _loops(suite, benchmark, run) for benchmark in timed for run in benchmark.runs if run.values
            ),
            *_other_units(suite),
            *ignored_fields_note(unknown_fields(value, _Suite)),
        ),
    )


def _measurements(suite: _Suite, benchmark: _Benchmark) -> Iterator[Measurement]:
    """Yield a measurement for each process with values."""
    name = _name(suite, benchmark)
    shared = benchmark.metadata.mem_max_rss
    for run in benchmark.runs:
        peak = run.metadata.mem_max_rss or shared
        if run.values:
            yield Measurement(
                config=labeled_case(name, group=name),
                wall_ms=[1000 * value for value in run.values],
                warmup_ms=[1000 * time_s for _, time_s in run.warmups],
                memory=Memory(peak_rss_mb=peak / 1e6) if peak else None,
                samples_per_step=0,
            )


def _name(suite: _Suite, benchmark: _Benchmark) -> str:
    return benchmark.metadata.name or suite.metadata.name or "benchmark"


def _unit(suite: _Suite, benchmark: _Benchmark) -> str:
    return suite.metadata.unit if benchmark.metadata.unit == SECOND else benchmark.metadata.unit


def _other_units(suite: _Suite) -> tuple[str, ...]:
    others = [
        f"{visible(_name(suite, benchmark), LONGEST_VALUE)} ({visible(_unit(suite, benchmark), LONGEST_VALUE)})"
        for benchmark in suite.benchmarks
        if _unit(suite, benchmark) != SECOND
    ]
    return (f"ignored benchmarks that aren't times: {', '.join(others)}",) if others else ()


def _loops(suite: _Suite, benchmark: _Benchmark, run: _Run) -> int:
    """Return the number of times that the benchmark's code ran per value."""
    levels = (run.metadata, benchmark.metadata, suite.metadata)
    outer = next((metadata.loops for metadata in levels if metadata.loops), 1)
    return outer * next((metadata.inner_loops for metadata in levels if metadata.inner_loops), 1)


def _moment(date: str) -> tuple[bool, str]:
    """Return a sort key that puts text other than dates last."""
    try:
        return False, datetime.fromisoformat(date).isoformat()
    except ValueError:
        return True, date


def _host(levels: Iterable[_Metadata]) -> Host:
    """Return the machine, with each fact from the first metadata that has it."""
    described = list(levels)

    def first(field: str) -> str | None:
        return next((value for metadata in described if (value := getattr(metadata, field))), None)

    version = first("perf_version")
    return Host(
        hostname=first("hostname"),
        platform=first("platform"),
        processor=first("cpu_model_name"),
        cpu_count=next((metadata.cpu_count for metadata in described if metadata.cpu_count), None),
        python=first("python_version"),
        packages={"pyperf": version} if version else {},
    )
