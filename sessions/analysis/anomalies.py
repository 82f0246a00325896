"""Anomaly detection: off-trend batch sizes, drift, two modes, and steps bound by tokenizing or the host.

Every rule uses only metrics and returns the size of the effect with its bounds. An effect within the noise is
not an anomaly.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import expm1, inf, log, nan
from typing import Literal

import msgspec

from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.analysis.roofline import limit, sound_peaks
from benchtui.sessions.events import Peaks
from benchtui.sessions.state.judging import SAME_WITHIN
from benchtui.sessions.stats.distribution import Bounds, is_significant
from benchtui.sessions.stats.disturbance import estimate_slowdown, undisturbed
from benchtui.sessions.stats.evidence import bounds_ms
from benchtui.sessions.stats.ratios import latency_ratio, matched
from benchtui.sessions.stats.results import Result, series, series_key
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Verdict

Kind = Literal["off the trend", "shorter step", "drift", "two modes", "tokenizing", "host-bound", "no effect"]
COUNTED = ("tokenizing", "host-bound", "no effect")
"""Kinds that other load on the machine doesn't cause."""
Pair = tuple[Result, Result]
"""A base and the case compared with it."""
Point = tuple[int, float, Bounds | None]
"""Batch size, typical step and its interval, in milliseconds."""

LEAST_WITHOUT_BOUNDS = 0.1
"""Smallest relative difference worth reporting without bounds, that is, if a source kept no steps."""

EQUAL_MB = 0.01
"""Largest difference in peak memory, in MB, that counts as equal. An applied precision changes it by more."""
LEAST_PAIRS = 2
"""Minimum number of batch sizes at which a precision must have no effect to be reported."""
LEAST_SHORTER = 1 + MIN_EFFECT / 2
"""Ratio of two steps up to which the verdict is never FASTER, with room for rounding."""
MOST_ODD = 8
"""Maximum number of off-trend batch sizes in a series. With more, the series has no trend."""


class Anomaly(msgspec.Struct, frozen=True):
    """An anomaly of a case."""

    kind: Kind
    result: Result
    share: float
    """Size of the effect. Off the trend: the step over the one that its neighbors predict, minus 1. Shorter
    step: the step over that of the next smaller batch size, minus 1. Drift and two modes: see ``Unsteady``.
    Tokenizing: its share of a step. Host-bound: the share of a step in which the device is busy. No effect: the
    largest relative change in step time due to the precision, over all batch sizes."""
    bounds: Bounds | None = None
    """Bounds of ``share``; None without an interval, and for the kinds in ``COUNTED``."""
    others: tuple[Result, ...] = ()
    """Cases it was compared with."""

    @property
    def causes(self) -> tuple[str, ...]:
        """Disturbances of these cases that may explain the anomaly."""
        if self.kind in COUNTED:
            return ()
        causes_by_result = (
            estimate_slowdown(result.case, throughout=False).why for result in (self.result, *self.others)
        )
        return tuple(dict.fromkeys(why for causes in causes_by_result for why in causes))


def anomalies(results: Sequence[Result], peaks: Sequence[Peaks]) -> tuple[Anomaly, ...]:
    """Return all anomalies of the measured cases, by kind and then in case order."""
    checked_peaks = sound_peaks([result.case for result in results], peaks)
    sizes = [list({row.config.batch_size: row for row in rows}.values()) for rows in series(results)]
    return (
        *(anomaly for rows in sizes for anomaly in _off_the_trend(rows)),
        *(anomaly for rows in sizes for anomaly in _shorter_steps(rows)),
        *(anomaly for result in results if (anomaly := _unsteady(result))),
        *(anomaly for result in results if (anomaly := _tokenizing(result))),
        *(anomaly for result in results if (anomaly := _host_bound(result, checked_peaks))),
        *_without_effect(results),
    )


def _off_the_trend(rows: Sequence[Result]) -> list[Anomaly]:
    """Find batch sizes whose step differs from every prediction by its neighbors.

    A disturbed size predicts nothing: it would blame the sizes next to it. It is compared with the others.
    """
    sound = [row for row in rows if undisturbed(row.case, row.rounds) is not None]
    odd_sizes = _odd_among(sound)
    others = [row for row in sound if all(row is not odd.result for odd in odd_sizes)]
    for row in rows:
        if all(row is not other for other in sound):
            among = sorted((*others, row), key=lambda result: result.config.batch_size)
            place = next(place for place, other in enumerate(among) if other is row)
            odd = _odd_size(among, [_point(result) for result in among], place)
            odd_sizes += [odd] if odd else []
    return sorted(odd_sizes, key=lambda anomaly: anomaly.result.config.batch_size)


def _odd_among(rows: Sequence[Result]) -> list[Anomaly]:
    """Return the odd sizes among several; none if there are too many.

    The worst one is removed before the others are checked again, because it affects their predictions.
    """
    odd_sizes: list[Anomaly] = []
    points = [_point(row) for row in rows]
    while len(odd_sizes) <= MOST_ODD:
        judged = [odd for place in range(1, len(rows) - 1) if (odd := _odd_size(rows, points, place))]
        if not judged:
            return odd_sizes
        worst = max(judged, key=lambda anomaly: abs(anomaly.share))
        kept = [(row, point) for row, point in zip(rows, points, strict=True) if row is not worst.result]
        rows, points = [row for row, _ in kept], [point for _, point in kept]
        odd_sizes.append(worst)
    return []


def _odd_size(rows: Sequence[Result], points: Sequence[Point], place: int) -> Anomaly | None:
    """Compare a batch size with power laws through two neighbors: around it, before it and after it.

    A bend in the curve, such as where the device becomes saturated, agrees with one side. An odd size agrees
    with none.
    """
    sides = ((place - 2, place - 1), (place - 1, place + 1), (place + 1, place + 2))
    asked = [pair for pair in sides if pair[0] >= 0 and pair[1] < len(rows)]
    if len(asked) < 2:
        return None
    differences = [_against(*(points[at] for at in (place, *pair))) for pair in asked]
    share, bounds = min(differences, key=lambda difference: abs(difference[0]))
    shares = [difference[0] for difference in differences]
    alike = all(share > 0 for share in shares) or all(share < 0 for share in shares)
    if not alike or not all(_sure(*difference) for difference in differences):
        return None
    return Anomaly("off the trend", rows[place], share, bounds, (rows[place - 1], rows[place + 1]))


def _point(row: Result) -> Point:
    bounds = bounds_ms(row)
    return row.config.batch_size, row.typical_ms, (bounds.low, bounds.high) if bounds else None


def _against(point: Point, first: Point, second: Point) -> tuple[float, Bounds | None]:
    """Return the step over a power law through two other points, minus 1, with its bounds."""
    size, time, own = point
    expected = _power_law(size, (first[0], first[1]), (second[0], second[1]))
    if own is None or first[2] is None or second[2] is None:
        return _over(time, expected), None
    corners = [_power_law(size, (first[0], a), (second[0], b)) for a in first[2] for b in second[2]]
    return _over(time, expected), (_over(own[0], max(corners)), _over(own[1], min(corners)))


def _power_law(size: int, first: tuple[int, float], second: tuple[int, float]) -> float:
    """Evaluate the curve ``a * size**b`` through two points at a batch size; NaN if there is none."""
    if first[1] <= 0 or second[1] <= 0:
        return nan
    slope = (log(second[1]) - log(first[1])) / (log(second[0]) - log(first[0]))
    try:
        return float(first[1] * (size / first[0]) ** slope)
    except OverflowError:  # a file may contain impossible times
        return inf


def _over(time: float, expected: float) -> float:
    return time / expected - 1 if expected > 0 else nan


def _sure(share: float, bounds: Bounds | None) -> bool:
    return LEAST_WITHOUT_BOUNDS <= abs(share) < inf if bounds is None else is_significant(share, bounds)


def _shorter_steps(rows: Sequence[Result]) -> Iterator[Anomaly]:
    """Find batch sizes whose step is significantly shorter than that of the next smaller one."""
    for before, row in pairwise(rows):
        kept = before.case.steps_measured and row.case.steps_measured
        if kept and before.typical_ms <= LEAST_SHORTER * row.typical_ms:
            continue  # rules out most sizes without computing the ratio, which is a hundred times as slow
        ratio = latency_ratio(before, row)
        if ratio and ratio.bounds and ratio.verdict is Verdict.FASTER:
            times = ratio.bounds.over()
            yield Anomaly("shorter step", row, times.value - 1, (times.low - 1, times.high - 1), (before,))


def _unsteady(result: Result) -> Anomaly | None:
    """Return the unsteadiness of a case if it exceeds the difference of the session's A/A pair."""
    unsteady = result.metrics.unsteady
    if unsteady is None or abs(unsteady.share) <= expm1(result.noise.floor or 0.0):
        return None
    return Anomaly(unsteady.kind, result, unsteady.share, unsteady.bounds)


def _tokenizing(result: Result) -> Anomaly | None:
    """Return an anomaly if no part of a step takes longer than tokenizing."""
    parts = {name: spread.mean for name, spread in result.metrics.parts_ms.items()}
    whole = result.metrics.latency_ms.mean
    if len(parts) < 2 or whole <= 0 or max(parts, key=lambda name: parts[name]) != "tokenize":
        return None
    return Anomaly("tokenizing", result, parts["tokenize"] / whole)


def _host_bound(result: Result, peaks: Sequence[Peaks]) -> Anomaly | None:
    case_limit = limit(result.case, peaks)
    if case_limit is None or case_limit.bound != "host" or case_limit.shares.busy is None:
        return None
    return Anomaly("host-bound", result, case_limit.shares.busy)


def _without_effect(results: Sequence[Result]) -> Iterator[Anomaly]:
    """Find precisions with the memory and time of fp32 at every batch size: they probably weren't applied."""
    groups: dict[tuple[object, ...], list[Pair]] = {}
    for pair in matched(results, "precision", "fp32"):
        groups.setdefault(series_key(pair[1].config), []).append(pair)
    for group in groups.values():
        changes = [abs(new.typical_ms / base.typical_ms - 1) for base, new in group]
        if len(group) >= LEAST_PAIRS and all(map(_unmoved, group)) and max(changes) <= SAME_WITHIN:
            others = tuple(new for _, new in group[1:])
            yield Anomaly("no effect", group[0][1], max(changes), others=others)


def _unmoved(pair: Pair) -> bool:
    """Return whether both cases use the same device memory and the precision isn't verified as applied."""
    base, new = pair
    one, other = base.case.device_memory_mb, new.case.device_memory_mb
    verified = was_applied(new.case, "precision")
    return bool(one and other and abs(one - other) <= EQUAL_MB and base.typical_ms > 0 and not verified)
