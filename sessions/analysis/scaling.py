"""Batch-size scaling: throughput per item, relative to linear scaling, and gain per doubling."""

from functools import cached_property
from itertools import pairwise
from math import log2

from benchtui.sessions.stats.disturbance import estimate_slowdown
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, Series
from benchtui.sessions.stats.verdicts import Ratio

LEAST_DOUBLINGS = 0.25
"""Minimum distance between two batch sizes, in doublings. Closer ones would amplify their noise."""


class Step:
    """One batch size of a series, compared with the first and the previous one."""

    def __init__(self, first: Result | None, before: Result | None, result: Result) -> None:
        self.result = result
        self.per_item = _per_item(result)
        """Samples per second divided by the batch size."""
        self.per_item_relative = self.per_item / _per_item(first) if first else None
        """Throughput per item over that of the first batch size, also called scaling efficiency."""
        self.against_linear = _rate(result) / _rate(first) if first else None
        """Throughput over that of the first batch size; 1 if step time is proportional to batch size."""
        self._before = before

    @cached_property
    def gain(self) -> Ratio | None:
        """Throughput over that of the previous batch size, computed on demand: reports show only a few."""
        return throughput_ratio(self._before, self.result) if self._before else None

    @property
    def gain_per_doubling(self) -> float | None:
        """``gain`` per doubling of the batch size, minus 1; None if the two sizes are too close."""
        if self._before is None or self.gain is None:
            return None
        doublings = log2(self.result.config.batch_size / self._before.config.batch_size)
        try:
            return self.gain.value ** (1 / doublings) - 1 if doublings >= LEAST_DOUBLINGS else None
        except OverflowError:  # a file may contain impossible rates
            return None


def scaling(series: Series) -> tuple[Step, ...]:
    """Compute how throughput scales with batch size; empty if fewer than two sizes have a rate.

    A size that was only measured next to a neighbor has no relative figures, and no other is compared with it,
    unless each was.
    """
    rated: dict[int, Result] = {}
    for result in series:
        if _per_item(result) > 0:
            rated.setdefault(result.config.batch_size, result)
    rows = list(rated.values())
    if len(rows) < 2:
        return ()
    sound = [row for row in rows if not estimate_slowdown(row.case, throughout=True).unbounded] or rows
    before = {id(row): earlier for earlier, row in pairwise([None, *sound])}
    return tuple(Step(sound[0] if id(row) in before else None, before.get(id(row)), row) for row in rows)


def _rate(result: Result) -> float:
    return result.metrics.samples_per_s or 0.0


def _per_item(result: Result) -> float:
    return _rate(result) / result.config.batch_size
