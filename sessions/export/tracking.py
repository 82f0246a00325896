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
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled

NS_PER_MS = 1e6
Bounds = tuple[float | None, float | None]


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
        latency = row.latency_typical_low_ms, row.latency_typical_high_ms
        measures = {
            "latency": _metric(row.latency_typical_ms, latency, NS_PER_MS),
            "throughput": _metric(row.samples_per_s, (row.samples_per_s_low, row.samples_per_s_high)),
        }
        measures_by_name[name] = {measure: metric for measure, metric in measures.items() if metric}
    return _json({name: measures for name, measures in measures_by_name.items() if measures})


def as_gab(session: Session) -> str:
    """Return the typical steps for ``customSmallerIsBetter`` of github-action-benchmark."""
    entries = [
        _entry(
            (name, "ms", row.latency_typical_ms),
            (row.latency_typical_low_ms, row.latency_typical_high_ms),
            row,
        )
        for name, row in _measured(session)
    ]
    return _json([entry for entry in entries if entry])


def as_gab_throughput(session: Session) -> str:
    """Return the throughput for ``customBiggerIsBetter`` of github-action-benchmark."""
    entries = [
        _entry((name, "samples/s", row.samples_per_s), (row.samples_per_s_low, row.samples_per_s_high), row)
        for name, row in _measured(session)
    ]
    return _json([entry for entry in entries if entry])


def _measured(session: Session) -> Iterator[tuple[str, CaseRow]]:
    """Yield the measured cases, each with a unique name that stays the same across sessions."""
    seen = Counter[str]()
    for row, metrics in rows(session):
        if metrics is not None:
            seen[row.name] += 1
            number = f" #{seen[row.name]}" if seen[row.name] > 1 else ""
            yield labeled(f"{row.name}{number}", session.start), row


def _metric(value: float | None, bounds: Bounds, factor: float = 1.0) -> Metric | None:
    if value is None:
        return None
    low, high = _interval(value, bounds)
    return Metric(
        value=value * factor,
        lower_value=None if low is None else low * factor,
        upper_value=None if high is None else high * factor,
    )


def _entry(figure: tuple[str, str, float | None], bounds: Bounds, row: CaseRow) -> Entry | None:
    name, unit, value = figure
    if value is None:
        return None
    low, high = _interval(value, bounds)
    has_interval = low is not None and high is not None
    facts = (
        f"n = {row.n}" if row.n else None,
        f"95% interval {low:.6g} to {high:.6g} {unit}" if has_interval else None,
        "; ".join(row.marks) or None,
    )
    return Entry(
        name=name,
        unit=unit,
        value=value,
        range=f"± {(high - low) / 2:.3g}" if low is not None and high is not None else None,
        extra="\n".join(fact for fact in facts if fact) or None,
    )


def _interval(value: float, bounds: Bounds) -> Bounds:
    """Return an interval that contains the value; none if unknown, or if it is that of another statistic."""
    low, high = bounds
    return bounds if low is not None and high is not None and low <= value <= high else (None, None)


def _json(document: object) -> str:
    return msgspec.json.format(visible_json.encode(document), indent=2).decode() + "\n"
