"""Importer for pytest-benchmark's ``--benchmark-json``: one case per test, one step per round.

A time is the mean of a round's iterations, in seconds. A file saved without ``--benchmark-save-data`` has
statistics only. pytest-benchmark compares the tests of a group; a test without one becomes a separate group
here.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    Whole,
    convert,
    ignored_fields_note,
    keys_with_first_item,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import Imported, Measurement, labeled_case, loops_note
from benchtui.sessions.payloads import Host, Reported
from benchtui.sessions.sanitize import LONGEST_VALUE, visible

REQUIRED = ("benchmarks", "stats")
"""Required keys: of the file, and of a test."""

_DERIVED = tuple(
    f"benchmarks.stats.{name}"
    for name in (
        *("min", "max", "median", "stddev", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers"),
        *("outliers", "ld15iqr", "hd15iqr", "ops", "total"),
    )
)
"""Fields that can be computed from the times of the rounds."""
_NO_COMMIT = ("unversioned", "unknown")
"""Commits of a file measured outside a repository."""
_IN_NAME = ("benchmarks.params", "benchmarks.param")
"""Fields that the name of a test includes."""


class _Stats(msgspec.Struct):
    mean: Positive
    median: NotNegative | None = None
    stddev: NotNegative | None = None
    rounds: Whole | None = None
    iterations: Whole = 1
    data: list[NotNegative] = []


class _Test(msgspec.Struct):
    name: str
    stats: _Stats
    fullname: str | None = None
    group: str | None = None


class _Cpu(msgspec.Struct):
    brand_raw: str | None = None
    count: Whole | None = None


class _Machine(msgspec.Struct):
    node: str | None = None
    processor: str | None = None
    system: str | None = None
    release: str | None = None
    machine: str | None = None
    python_version: str | None = None
    cpu: _Cpu = msgspec.field(default_factory=_Cpu)


class _Commit(msgspec.Struct):
    id: str | None = None
    dirty: bool | None = None
    branch: str | None = None


class _File(msgspec.Struct):
    benchmarks: Annotated[list[_Test], msgspec.Meta(min_length=1)]
    machine_info: _Machine = msgspec.field(default_factory=_Machine)
    commit_info: _Commit = msgspec.field(default_factory=_Commit)
    datetime: str | None = None
    version: str | None = None


def keys(value: object) -> set[str]:
    """Return the keys of the file and of its first test."""
    return keys_with_first_item(value, "benchmarks")


def parse(text: str, path: Path) -> Imported:
    """Parse every test. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    file = convert(value, _File, str(path))
    names = Counter(test.name for test in file.benchmarks)
    return Imported(
        kind="pytest-benchmark",
        measurements=tuple(_measurement(test, names[test.name] == 1) for test in file.benchmarks),
        host=_host(file),
        measured=file.datetime,
        notes=(
            *_commit_note(file.commit_info),
            *loops_note(test.stats.iterations for test in file.benchmarks),
            *ignored_fields_note(_ignored_fields(value, file.benchmarks)),
        ),
    )


def _measurement(test: _Test, unique: bool) -> Measurement:
    name = test.name if unique else test.fullname or test.name
    return Measurement(
        config=labeled_case(name, group=test.group or name),
        wall_ms=[1000 * time_s for time_s in test.stats.data],
        reported=None if test.stats.data else _reported(test.stats),
        samples_per_step=0,
    )


def _reported(stats: _Stats) -> Reported:
    return Reported(
        steps=stats.rounds,
        latency_mean_ms=1000 * stats.mean,
        latency_median_ms=None if stats.median is None else 1000 * stats.median,
        latency_std_ms=None if stats.stddev is None else 1000 * stats.stddev,
    )


def _host(file: _File) -> Host:
    machine = file.machine_info
    platform = " ".join(part for part in (machine.system, machine.release, machine.machine) if part)
    return Host(
        hostname=machine.node or None,
        platform=platform or None,
        processor=machine.cpu.brand_raw or machine.processor or None,
        cpu_count=machine.cpu.count,
        python=machine.python_version or None,
        packages={"pytest-benchmark": file.version} if file.version else {},
    )


def _commit_note(commit: _Commit) -> Iterator[str]:
    """Yield a note with the measured commit, if the file states it."""
    if commit.id and commit.id not in _NO_COMMIT:
        named = commit.branch and not commit.branch.startswith("(")
        branch = f" of {visible(commit.branch or '', LONGEST_VALUE)}" if named else ""
        changed = ", with uncommitted changes" if commit.dirty else ""
        yield f"measured at commit {visible(commit.id, LONGEST_VALUE)}{branch}{changed}"


def _ignored_fields(value: object, tests: Sequence[_Test]) -> Iterator[str]:
    """Yield the names of ignored fields, except those derived from the times or included in the name."""
    read = (*_IN_NAME, *(_DERIVED if all(test.stats.data for test in tests) else ()))
    return (place for place in unknown_fields(value, _File) if not _is_one_of(place, read))


def _is_one_of(place: str, fields: Sequence[str]) -> bool:
    return any(place == field or place.startswith(f"{field}.") for field in fields)
