"""Chart data: a metric over axes of a sweep, with one group of cases per combination of the other options."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from benchtui.sessions.metrics.catalogue import CATALOGUE
from benchtui.sessions.metrics.quantity import CaseData, Quantity
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.evidence import computed_metrics, typical_ms
from benchtui.sessions.sweep import Config, task_named
from benchtui.sessions.sweep.options import NUMERIC, SHOWN

AXES = tuple(reversed(NUMERIC))
"""Numeric options, the batch size first."""
_TYPICAL = "latency_typical_ms"
MIB_PER_MB = 10**6 / 2**20
"""Memory is charted in MiB, the unit of nvidia-smi."""


class Value(msgspec.Struct, frozen=True):
    """Value of a metric for one case."""

    middle: float
    low: float | None = None
    high: float | None = None
    """95% interval of a rate or a typical step, if known; it always contains the value."""


class PlotMetric(msgspec.Struct, frozen=True):
    """A metric that can be plotted."""

    name: str
    unit: str
    of: Callable[[CaseState, Metrics], Value | None]

    @property
    def unit_words(self) -> str:
        """Unit to show after a value; the metric's name for rates and metrics without a unit."""
        return self.name if self.unit in ("1/s", "") else self.unit

    @property
    def higher_is_better(self) -> bool:
        """Whether higher is better, as for rates. For times, energy and memory, lower is better."""
        return self.unit == "1/s"


def _plot_metric(row: Quantity) -> PlotMetric:
    unit = "1/s" if row.unit.endswith("/s") else row.unit.partition("/")[0]
    return PlotMetric(row.charted, "MiB" if unit == "MB" else unit, partial(_value, row))


def _value(row: Quantity, case: CaseState, metrics: Metrics) -> Value | None:
    middle = row.figure(CaseData(case, metrics))
    if middle is None and row.key == _TYPICAL:
        middle = typical_ms(case, metrics)
    if middle is None and row.key.endswith("_p50_ms"):  # a source without steps states the mean
        spread: Distribution | None = getattr(metrics, row.key.replace("_p50_ms", "_ms"))
        middle = spread.mean if spread else None
    in_mib = row.unit.startswith("MB")
    return None if middle is None else Value(middle * MIB_PER_MB if in_mib else middle)


BY_QUANTITY = {
    row.key: _plot_metric(row)
    for row in sorted((row for row in CATALOGUE if row.charted), key=lambda row: row.better != "higher")
}
"""Metrics by the key of their quantity, rates first."""
PLOT_METRICS = tuple(BY_QUANTITY.values())
SAMPLES = BY_QUANTITY["samples_per_s"]
LATENCY = BY_QUANTITY[_TYPICAL]

MetricsLookup = Callable[[CaseState], "Metrics | None"]
"""Callable that returns the metrics of a case, or None if there are none (yet)."""


class Point(msgspec.Struct, frozen=True):
    """A case on a line, or in a cell of a heatmap."""

    case: CaseState
    at: tuple[Any, ...]
    """Its value of each axis."""
    value: Value | None
    """None if the case has no such metric: out of memory, failed, or not run yet."""

    @property
    def x(self) -> int:
        """Its place on a line."""
        x: int = self.at[0]
        return x


class Group(msgspec.Struct, frozen=True):
    """Cases that differ only along the axes: a line, smallest first, or a grid of a heatmap. Never empty."""

    key: tuple[object, ...]
    """Options that the cases share."""
    config: Config
    """Configuration of its first case."""
    points: tuple[Point, ...]


class Chart(msgspec.Struct, frozen=True):
    """A metric plotted over an axis."""

    metric: PlotMetric
    axis: str
    lines: tuple[Group, ...]

    @property
    def drawable(self) -> tuple[Point, ...]:
        """Points that have a value."""
        return tuple(point for line in self.lines for point in line.points if point.value)


def axes_of(plan: Iterable[Config]) -> tuple[str, ...]:
    """Return the numeric axes that have several values, or the batch size if none has."""
    configs = tuple(plan)
    varying = tuple(axis for axis in AXES if len({getattr(config, axis) for config in configs}) > 1)
    return varying or ("batch_size",)


def available_metrics(session: Session, lookup: MetricsLookup) -> tuple[PlotMetric, ...]:
    """Return the metrics that any of the cases has. Throughput is always included, and first."""
    first = throughput(session)
    measured = [(case, metrics) for case in session.cases if (metrics := lookup(case))]
    others = (metric for metric in PLOT_METRICS if metric.of is not first.of)
    known_ones = (metric for metric in others if any(metric.of(case, metrics) for case, metrics in measured))
    return first, *known_ones


def throughput(session: Session) -> PlotMetric:
    """Return the rate that describes the session's task, as in reports: new tokens, tokens, or its samples."""
    task = task_named(session.start.sweep.task) if session.started else task_named("")
    if any(case.prepared and case.prepared.new_tokens for case in session.cases):
        return BY_QUANTITY["new_tokens_per_s"]
    if task.headline == "tokens" and any(map(_has_tokens, session.cases)):
        return BY_QUANTITY["tokens_per_s"]
    return replace(SAMPLES, name=task.unit)


def _has_tokens(case: CaseState) -> bool:
    metrics = computed_metrics(case) or (case.finished and case.finished.reported)
    return bool(len(case.measured.tokens) or (metrics and metrics.tokens_per_s))


def chart(cases: Iterable[CaseState], lookup: MetricsLookup, metric: PlotMetric, axis: str) -> Chart:
    """Build the chart of a metric over an axis. The second case of an A/A pair is left out."""
    lines = (
        replace(group, points=tuple(sorted(group.points, key=lambda point: point.x)))
        for group in groups(cases, lookup, metric, (axis,))
    )
    return Chart(metric, axis, tuple(lines))


def groups(
    cases: Iterable[CaseState], lookup: MetricsLookup, metric: PlotMetric, axes: Collection[str]
) -> tuple[Group, ...]:
    """Group cases by all options but the axes. The second case of an A/A pair is left out."""
    found: dict[tuple[object, ...], list[CaseState]] = {}
    for case in cases:
        if not case.config.repeat:
            shared = tuple(getattr(case.config, name) for name in SHOWN if name not in axes)
            found.setdefault(shared, []).append(case)
    return tuple(
        Group(key, members[0].config, _points([_point(case, lookup, metric, axes) for case in members]))
        for key, members in found.items()
    )


def is_charted(case: CaseState) -> bool:
    """Return whether a case is charted by its figures, so far or of its rounds; if not, by its outcome."""
    return case.has_result or case.state in ("running", "queued")


def _point(case: CaseState, lookup: MetricsLookup, metric: PlotMetric, axes: Iterable[str]) -> Point:
    metrics = lookup(case) if is_charted(case) else None
    at = tuple(getattr(case.config, axis) for axis in axes)
    return Point(case, at, metric.of(case, metrics) if metrics else None)


def _points(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return one point per place. For a rerun case, keep the newest point with a value."""
    kept: dict[tuple[Any, ...], Point] = {}
    for point in points:
        if point.at not in kept or point.value or not kept[point.at].value:
            kept[point.at] = point
    return tuple(kept.values())
