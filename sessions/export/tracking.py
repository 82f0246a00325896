"""Results for programs that track benchmarks over commits: Bencher and github-action-benchmark.

Formats: https://bencher.dev/docs/reference/bencher-metric-format and the custom tools in
https://github.com/benchmark-action/github-action-benchmark. Cases without a measured result are left out.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.files import visible_json
from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled

NS_PER_MS = 1e6


class Metric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Value of a measure in Bencher's format, with its 95% interval."""

    value: float
    lower_value: float | None = None
    upper_value: float | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Benchmark of github-action-benchmark."""

    name: str
    unit: str
    value: float
    range: str | None = None
    """Half the width of the 95% interval, after a plus-minus sign."""
    extra: str | None = None
    """Details that the chart shows."""


def as_bmf(session: Session) -> str:
    """Return the results in Bencher's format: latency in nanoseconds, throughput in samples per second."""
    measures_by_name: dict[str, dict[str, Metric]] = {}
    for name, row in _measured(session):
        measures = {
            "latency": _metric(row, "latency_typical_ms", NS_PER_MS),
            "throughput": _metric(row, "samples_per_s"),
        }
        measures_by_name[name] = {measure: metric for measure, metric in measures.items() if metric}
    return visible_json.document({name: measures for name, measures in measures_by_name.items() if measures})


def as_gab(session: Session) -> str:
    """Return the typical steps for ``customSmallerIsBetter`` of github-action-benchmark."""
    return _entries(session, "latency_typical_ms", "ms")


def as_gab_throughput(session: Session) -> str:
    """Return the throughput for ``customBiggerIsBetter`` of github-action-benchmark."""
    return _entries(session, "samples_per_s", "samples/s")


def _measured(session: Session) -> Iterator[tuple[str, CaseRow]]:
    """Yield the measured cases, each with a unique name that stays the same across sessions."""
    seen = Counter[str]()
    for row, metrics in rows(session):
        if metrics is not None:
            seen[row.name] += 1
            number = f" #{seen[row.name]}" if seen[row.name] > 1 else ""
            yield labeled(f"{row.name}{number}", session.start), row


def _metric(row: CaseRow, key: str, factor: float = 1.0) -> Metric | None:
    value, low, high = _figure(row, key)
    if value is None:
        return None
    return Metric(
        value=value * factor,
        lower_value=None if low is None else low * factor,
        upper_value=None if high is None else high * factor,
    )


def _entries(session: Session, key: str, unit: str) -> str:
    entries = (_entry(name, row, key, unit) for name, row in _measured(session))
    return visible_json.document(list(filter(None, entries)))


def _entry(name: str, row: CaseRow, key: str, unit: str) -> Entry | None:
    value, low, high = _figure(row, key)
    if value is None:
        return None
    bounded = low is not None and high is not None
    facts = (
        f"n = {row.n}" if row.n else None,
        f"95% interval {low:.6g} to {high:.6g} {unit}" if bounded else None,
        "; ".join(row.marks) or None,
    )
    return Entry(
        name=name,
        unit=unit,
        value=value,
        range=f"± {(high - low) / 2:.3g}" if low is not None and high is not None else None,
        extra="\n".join(filter(None, facts)) or None,
    )


def _figure(row: CaseRow, key: str) -> tuple[float | None, float | None, float | None]:
    """Return a figure and its interval: none if it is unknown, or that of another statistic."""
    value = getattr(row, key)
    low, high = (getattr(row, end) for end in quantity(key).interval or ())
    inside = None not in (value, low, high) and low <= value <= high
    return value, low if inside else None, high if inside else None
