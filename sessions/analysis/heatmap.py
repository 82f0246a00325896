"""Heatmap data: a metric over two options of a sweep, with one grid per combination of the others."""

from collections.abc import Iterable, Sequence

import msgspec

from benchtui.sessions.analysis.chart_series import Group, MetricsLookup, PlotMetric, groups
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config, Work
from benchtui.sessions.sweep.options import CHOICES, NUMERIC

FIRST_AXES = tuple(dict.fromkeys((*reversed(NUMERIC), *CHOICES)))
"""Options in the order in which they become axes: those with numbers, batch size first, then the others."""


class HeatmapData(msgspec.Struct, frozen=True):
    """A metric over two options."""

    metric: PlotMetric
    columns: tuple[object, ...]
    rows: tuple[object, ...]
    """Values of the two options: numbers in ascending order, names in plan order."""
    grids: tuple[Group, ...]
    """One per combination of the other options; it lacks combinations of the two that weren't planned."""

    @property
    def values(self) -> list[tuple[CaseState, float]]:
        """All cases that have a value, with the value."""
        points = (point for grid in self.grids for point in grid.points)
        return [(point.case, point.value.middle) for point in points if point.value]

    def best(self) -> dict[Work, CaseState]:
        """Return the best case of each kind of work (``Config.work``)."""
        sign = 1 if self.metric.higher_is_better else -1
        best_by_work: dict[Work, tuple[float, CaseState]] = {}
        for case, value in self.values:
            work = case.config.work
            if work not in best_by_work or sign * value > best_by_work[work][0]:
                best_by_work[work] = (sign * value, case)
        return {work: case for work, (_, case) in best_by_work.items()}


def axis_pairs(plan: Iterable[Config]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of options that can be the columns and rows, the most useful first.

    Empty if fewer than two options have several values, or if an imported case has a label instead of options.
    """
    configs = tuple(plan)
    if any(config.label for config in configs):
        return ()
    varying = [name for name in FIRST_AXES if len({getattr(config, name) for config in configs}) > 1]
    pairs = [(x, y) for at, x in enumerate(varying) for y in varying[at + 1 :]]
    return tuple(pairs)


def heatmap_data(
    cases: Iterable[CaseState], lookup: MetricsLookup, metric: PlotMetric, axes: tuple[str, str]
) -> HeatmapData:
    """Arrange cases by two options. The second case of an A/A pair is left out."""
    shown = [case for case in cases if not case.config.repeat]
    columns, rows = (_values([getattr(case.config, name) for case in shown]) for name in axes)
    return HeatmapData(metric, columns, rows, groups(shown, lookup, metric, axes))


def _values(values: Sequence[object]) -> tuple[object, ...]:
    distinct = dict.fromkeys(values)
    numbers = [value for value in distinct if isinstance(value, int)]
    return tuple(sorted(numbers)) if len(numbers) == len(distinct) else tuple(distinct)
