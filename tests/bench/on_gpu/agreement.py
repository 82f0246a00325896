"""Agreement of recorded figures with figures from elsewhere: pure functions, which need no GPU."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log
from statistics import fmean

Limits = tuple[float, float]
"""Smallest and largest ratio that agrees."""
Point = tuple[float, float]
"""A time in seconds, and a value."""
EXACT, CLOSE, NEAR = (0.98, 1.02), (0.95, 1.05), (0.9, 1.1)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A recorded figure over the same figure from another source."""

    what: str
    recorded: float | None
    other: float | None
    limits: Limits
    unit: str

    @property
    def value(self) -> float | None:
        """Return the ratio; None if either figure is missing or the other one is zero."""
        return None if self.recorded is None or not self.other else self.recorded / self.other

    @property
    def agrees(self) -> bool:
        """Return whether the ratio is within its limits. A missing figure doesn't agree."""
        return self.value is not None and self.limits[0] <= self.value <= self.limits[1]

    def __str__(self) -> str:
        """Return the figures, the ratio and its limits as a sentence."""
        low, high = self.limits
        ratio = "no ratio" if self.value is None else f"{self.value:.3f} times"
        figures = f"{self._figure(self.recorded)} of {self._figure(self.other)}"
        return f"{self.what}: {figures}, {ratio} ({low:g} to {high:g})"

    def _figure(self, value: float | None) -> str:
        return "no reading" if value is None else f"{value:.4g} {self.unit}"


def within(points: Iterable[Point], begin_s: float, end_s: float) -> list[Point]:
    """Return the points of a span."""
    return [point for point in points if begin_s <= point[0] <= end_s]


def mean(points: Iterable[Point]) -> float | None:
    """Return the mean value; None without points."""
    values = [value for _, value in points]
    return fmean(values) if values else None


def integral(points: Sequence[Point], begin_s: float, end_s: float) -> float | None:
    """Integrate a reading over a span by trapezoids. None unless readings cover the whole span."""
    ordered = sorted(points)
    if not ordered or ordered[0][0] > begin_s or ordered[-1][0] < end_s:
        return None
    edges = [(at_s, _interpolated(ordered, at_s)) for at_s in (begin_s, end_s)]
    inner = [point for point in ordered if begin_s < point[0] < end_s]
    span = [edges[0], *inner, edges[1]]
    return sum((after[0] - before[0]) * (before[1] + after[1]) / 2 for before, after in pairwise(span))


def _interpolated(ordered: Sequence[Point], at_s: float) -> float:
    for before, after in pairwise(ordered):
        if before[0] <= at_s <= after[0]:
            share = (at_s - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 0.0
            return before[1] + share * (after[1] - before[1])
    return ordered[0][1]


def worst_second(recorded: Iterable[Point], other: Iterable[Point]) -> tuple[int, float, float] | None:
    """Return the second whose means differ most as a ratio, with both; None if no second has both."""
    one, two = _by_second(recorded), _by_second(other)
    shared = [second for second in one if one[second] > 0 and two.get(second, 0.0) > 0]
    if not shared:
        return None
    worst = max(shared, key=lambda second: abs(log(one[second] / two[second])))
    return worst, one[worst], two[worst]


def _by_second(points: Iterable[Point]) -> dict[int, float]:
    values: dict[int, list[float]] = {}
    for at_s, value in points:
        values.setdefault(floor(at_s), []).append(value)
    return {second: fmean(found) for second, found in values.items()}


def throttle_differences(recorded: Iterable[str], shares: Mapping[str, float], least: float) -> list[str]:
    """Return the words that only one side has. ``shares``: how much of the time the other side saw each word.

    A word that the other side saw for less than ``least`` of the time may be missing in the record.
    """
    known = set(recorded)
    missing = [word for word, share in shares.items() if share >= least and word not in known]
    return [
        *(f"{word} isn't recorded, and was seen {shares[word]:.0%} of the time" for word in sorted(missing)),
        *(f"{word} is recorded, and was never seen" for word in sorted(known) if not shares.get(word)),
    ]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Runs of a kernel in a step, and their time."""

    count: float
    ms: float


def kernel_differences(
    recorded: Mapping[str, Kernel], by_hand: Mapping[str, Kernel], *, share: float
) -> tuple[list[str], list[Ratio]]:
    """Compare kernels that take at least this share of a step's kernel time on either side.

    Return differences in names and counts, which any GPU can show, and the ratio of each kernel's time.
    """
    expensive = _expensive(recorded, share) | _expensive(by_hand, share)
    differences, ratios = [], []
    for name in sorted(expensive):
        one, two = recorded.get(name), by_hand.get(name)
        if one is None or two is None:
            differences.append(f"{name[:70]}: only {'recorded' if two is None else 'by hand'}")
            continue
        if abs(one.count - two.count) >= 0.5:
            differences.append(f"{name[:70]}: {one.count:g} runs a step recorded, {two.count:g} by hand")
        ratios.append(Ratio(name[:70], one.ms, two.ms, NEAR, "ms"))
    return differences, ratios


def _expensive(kernels: Mapping[str, Kernel], share: float) -> set[str]:
    whole_ms = sum(kernel.ms for kernel in kernels.values())
    return {name for name, kernel in kernels.items() if kernel.ms >= share * whole_ms}


def missing_sections(report: str, wanted: Iterable[str]) -> list[str]:
    """Return the headings that a report lacks, or that have no text below them."""
    bodies: dict[str, str] = {}
    for section in report.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        bodies[heading.strip()] = body.strip()
    return [heading for heading in wanted if not bodies.get(heading)]


def empty_columns(report: str) -> list[str]:
    """Return the columns of a report's tables in which no row has a value."""
    found = []
    for table in _tables(report):
        header, rows = table[0], table[2:]
        found += [name for at, name in enumerate(header) if rows and all(row[at] == "–" for row in rows)]
    return list(dict.fromkeys(found))


def _tables(report: str) -> list[list[list[str]]]:
    tables: list[list[list[str]]] = []
    before = ""
    for line in report.splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                tables.append([])
            cells = [cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")]
            tables[-1].append(cells)
        before = line
    return [table for table in tables if len({len(row) for row in table}) == 1 and len(table) > 1]
