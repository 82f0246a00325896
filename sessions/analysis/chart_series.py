"""Figures of a sweep's cases over one of its axes, a line for each combination of the other options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config

if TYPE_CHECKING:  # a screen waits for no numpy before its first picture
    from benchtui.sessions.stats.case_metrics import Distribution, Metrics

Axis = Literal["batch_size", "sequence_length", "threads"]
AXES: tuple[Axis, ...] = ("batch_size", "sequence_length", "threads")
"""The options that are numbers."""

WORDS = {
    "machine": "",
    "device": "",
    "precision": "",
    "compile": "compile=",
    "attention": "attn=",
    "threads": "threads=",
    "padding": "pad=",
    "batch_size": "bs=",
    "sequence_length": "seq=",
}
"""The options in the order in which a case names them, each with the word before it."""


@dataclass(frozen=True, slots=True)
class Value:
    """A figure of a case."""

    middle: float
    low: float | None = None
    high: float | None = None
    """95% interval, where steps say; it holds the figure itself."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What can be drawn of a case."""

    name: str
    unit: str
    of: Callable[[CaseState, Metrics], Value | None]


def _rate(name: Literal["samples_per_s", "tokens_per_s", "new_tokens_per_s"]) -> Figure:
    """A rate, total over total, with the interval of the throughput."""

    def of(_case: CaseState, metrics: Metrics) -> Value | None:
        rate, samples = getattr(metrics, name), metrics.samples_per_s
        low, high = metrics.samples_per_s_low, metrics.samples_per_s_high
        if rate is None or not samples or low is None or high is None:
            return None if rate is None else Value(rate)
        return Value(rate, rate * low / samples, rate * high / samples)

    return Figure(name.removesuffix("_per_s").replace("_", " ") + "/s", "1/s", of)


def _median(spread: Distribution | None) -> Value | None:
    if spread is None:
        return None
    return Value(spread.mean if spread.median is None else spread.median, spread.low, spread.high)


def _known(value: float | None) -> Value | None:
    return None if value is None else Value(value)


SAMPLES = _rate("samples_per_s")
LATENCY = Figure("latency p50", "ms", lambda case, metrics: _median(metrics.latency_ms))
MEMORY = Figure("peak memory", "MB", lambda case, metrics: _known(case.peak_memory_mb))
ENERGY = Figure("energy per sample", "J", lambda case, metrics: _known(metrics.energy_per_sample_j))
FIGURES = (
    SAMPLES,
    _rate("tokens_per_s"),
    _rate("new_tokens_per_s"),
    LATENCY,
    Figure("latency p99", "ms", lambda case, metrics: _known(metrics.latency_ms.p99)),
    Figure("time to first token", "ms", lambda case, metrics: _median(metrics.time_to_first_token_ms)),
    Figure("time per output token", "ms", lambda case, metrics: _median(metrics.time_per_output_token_ms)),
    MEMORY,
    ENERGY,
)

SOUND = ("ok", "running", "queued")
"""States in which a case's steps count; between two rounds a case is queued again. The others are marked."""

Known = Callable[[CaseState], "Metrics | None"]
"""Gives the metrics of a case, or None where there are none, or none yet."""


@dataclass(frozen=True, slots=True)
class Point:
    """A case on a line."""

    case: CaseState
    x: int
    value: Value | None
    """None where the case has no such figure: it ran out of memory, failed, or didn't run yet."""


@dataclass(frozen=True, slots=True)
class Line:
    """The cases that differ in one axis alone, the smallest first; never empty."""

    key: tuple[object, ...]
    """The options they have in common."""
    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure over an axis."""

    figure: Figure
    axis: Axis
    lines: tuple[Line, ...]

    @property
    def drawable(self) -> tuple[Point, ...]:
        """The points that have a value."""
        return tuple(point for line in self.lines for point in line.points if point.value)


def axes_of(plan: Iterable[Config]) -> tuple[Axis, ...]:
    """The axes of numbers that have several values; the batch size where none has."""
    configs = tuple(plan)
    found = tuple(axis for axis in AXES if len({getattr(config, axis) for config in configs}) > 1)
    return found or ("batch_size",)


def figures_of(cases: Sequence[CaseState], known: Known) -> tuple[Figure, ...]:
    """The figures that any of the cases has; samples/s in any case."""
    measured = [(case, metrics) for case in cases if (metrics := known(case))]
    return tuple(
        figure
        for figure in FIGURES
        if figure is SAMPLES or any(figure.of(case, metrics) for case, metrics in measured)
    )


def chart(cases: Iterable[CaseState], known: Known, figure: Figure, axis: Axis) -> Chart:
    """A figure of these cases over an axis; the second case of an A/A pair is left out."""
    groups: dict[tuple[object, ...], list[CaseState]] = {}
    for case in cases:
        if not case.config.repeat:
            groups.setdefault(_others(case.config, axis), []).append(case)
    labels = line_labels(tuple(members[0].config for members in groups.values()), axis)
    lines = (
        Line(key, label, _points([_point(case, known, figure, axis) for case in members]))
        for (key, members), label in zip(groups.items(), labels, strict=True)
    )
    return Chart(figure, axis, tuple(lines))


def line_labels(configs: Sequence[Config], axis: Axis | None = None) -> list[str]:
    """Each by the options in which they differ, the axis aside; by device and precision where they don't."""
    names = [name for name in WORDS if name != axis]
    shown = [name for name in names if len({getattr(config, name) for config in configs}) > 1]
    shown = shown or ["device", "precision"]
    return [" ".join(_words(config, shown)) for config in configs]


def _words(config: Config, shown: Iterable[str]) -> Iterator[str]:
    """The values of these options, each behind its word; one that is empty says nothing."""
    values = ((WORDS[name], getattr(config, name)) for name in shown)
    return (f"{word}{value}" for word, value in values if value != "")


def _others(config: Config, axis: Axis) -> tuple[object, ...]:
    return tuple(getattr(config, name) for name in WORDS if name != axis)


def _point(case: CaseState, known: Known, figure: Figure, axis: Axis) -> Point:
    metrics = known(case) if case.state in SOUND else None
    return Point(case, getattr(case.config, axis), figure.of(case, metrics) if metrics else None)


def _points(found: Iterable[Point]) -> tuple[Point, ...]:
    """One for each place, the smallest first: of a case that was run again the newest with a value."""
    kept: dict[int, Point] = {}
    for point in found:
        if point.x not in kept or point.value or not kept[point.x].value:
            kept[point.x] = point
    return tuple(kept[x] for x in sorted(kept))
