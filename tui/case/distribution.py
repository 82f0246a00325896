"""Step time distribution of a case: histogram and percentiles. Independent of Textual."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from math import cbrt, ceil, floor, log10

import msgspec

from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.stats.distribution import Distribution, in_order
from benchtui.sessions.stats.quantiles import LEAST_FOR_OUTLIERS
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.axis_scale import round_step
from benchtui.tui.drawing.bars import partial_cells
from benchtui.tui.drawing.format import half_width, percent, significant
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, line, wrap_facts
from benchtui.tui.shell.keymap import key

MOST_BINS = 24
LEAST_STEPS = 6
"""Minimum number of steps, outliers excluded."""
PERCENTILE_NAMES = ("p50", "p90", "p95", "p99")
EDGE_TOLERANCE = 1e-6
"""Tolerance for rounding at both ends of the histogram, in bin widths."""
BESIDE_BARS = 27
"""Cells beside the bars, next to numbers: the words of the label, and the names of all percentiles."""


class Bins(msgspec.Struct, frozen=True):
    """Histogram of step times with bins of equal width, outliers excluded."""

    low_ms: float
    width_ms: float
    counts: tuple[int, ...]

    def place(self, time_ms: float) -> int | None:
        """Return the index of the bin that contains a time; None if it is out of range."""
        place = (time_ms - self.low_ms) / self.width_ms
        if not -EDGE_TOLERANCE <= place <= len(self.counts) + EDGE_TOLERANCE:
            return None
        return min(max(int(place), 0), len(self.counts) - 1)


def bin_step_times(times_ms: Sequence[float], outliers: Sequence[int]) -> Bins | None:
    """Bin the step times, except outliers given by index. None if there are too few or all are equal."""
    outlying = set(outliers)
    kept = in_order([time_ms for step, time_ms in enumerate(times_ms) if step not in outlying])
    if len(kept) < LEAST_STEPS or kept[0] == kept[-1]:
        return None
    width = round_step((kept[-1] - kept[0]) / bin_count(len(kept)))
    first, last = floor(kept[0] / width), ceil(kept[-1] / width)
    # the last bin also holds times at its upper edge
    edges = [
        0,
        *(bisect_left(kept, place * width) for place in range(first + 1, max(last, first + 1))),
        len(kept),
    ]
    return Bins(first * width, width, tuple(end - start for start, end in pairwise(edges)))


def bin_count(steps: int) -> int:
    """Return the number of bins for a number of steps, about as many as the data can fill.

    Rice rule (Lane, Introduction to Statistics, Histograms): twice the cube root.
    """
    return min(MOST_BINS, ceil(2 * cbrt(steps)))


def distribution_lines(metrics: Metrics, bins: Bins | None, width: int, symbols: Symbols) -> list[Line]:
    """Render the metrics, the histogram, and a note on outliers."""
    lines = [drawn for facts in _figures(metrics, symbols) for drawn in wrap_facts(facts, width)]
    if bins is None:
        return [*lines, BLANK, line(("too few different steps for a histogram", "muted"))]
    return [*lines, BLANK, *_histogram(metrics, bins, width, symbols), *_outside(metrics, symbols)]


def percentiles(spread: Distribution) -> dict[str, float]:
    """Return the percentiles that have enough steps, in milliseconds."""
    values = (spread.median, spread.p90, spread.p95, spread.p99)
    return {name: value for name, value in zip(PERCENTILE_NAMES, values, strict=True) if value is not None}


def _figures(metrics: Metrics, symbols: Symbols) -> list[list[tuple[Span, Span]]]:
    spread = metrics.latency_ms
    marks = [(name, significant(value, symbols)) for name, value in percentiles(spread).items()]
    least, most = (significant(end, symbols) for end in (spread.least, spread.most))
    interval = f"{significant(spread.low, symbols)} to {significant(spread.high, symbols)}"
    rows = [
        [("n", f"{spread.n:,}"), ("min", least), *marks, ("max", most)],
        [
            ("mean", significant(spread.known_mean, symbols)),
            ("std", significant(spread.std, symbols)),
            ("jitter", f"{percent(spread.jitter_percent, symbols)} %"),
            ("95 % interval of p50", f"{interval}, {half_width(spread.interval_percent, symbols)}"),
        ],
        [("p50 of each round", "  ".join(significant(median, symbols) for median in metrics.rounds_ms))],
    ]
    return [[((f"{label} ", "muted"), (value, "plain")) for label, value in row] for row in rows if row[0][1]]


def _histogram(metrics: Metrics, bins: Bins, width: int, symbols: Symbols) -> list[Line]:
    marks: dict[int, list[str]] = {}
    for name, value in percentiles(metrics.latency_ms).items():
        if (place := bins.place(value)) is not None:
            marks.setdefault(place, []).append(name)
    decimals = max(0, -floor(log10(bins.width_ms) + 1e-9))
    ends = [f"{bins.low_ms + bins.width_ms * at:,.{decimals}f}" for at in range(len(bins.counts) + 1)]
    longest, most = max(map(len, ends)), max(bins.counts)
    digits = len(f"{most:,}")
    room = max(10, width - 2 * longest - digits - BESIDE_BARS)
    rows = []
    for place, count in enumerate(bins.counts):
        label = f"{ends[place]:>{longest}} to {ends[place + 1]:>{longest}} ms   {count:>{digits},} "
        fill = partial_cells(count / most * room, symbols)
        named = " ".join(marks.get(place, ()))
        rows.append(line((label, "muted"), (fill.ljust(room), "accent"), (f" {named}", "bright")))
    return rows


def _outside(metrics: Metrics, symbols: Symbols) -> list[Line]:
    """Render a note on the outliers. Only the histogram excludes them; all metrics include them."""
    count = len(metrics.outliers)
    if metrics.latency_ms.n < LEAST_FOR_OUTLIERS:
        return [line((f"outliers are flagged from {LEAST_FOR_OUTLIERS} steps on", "muted"))]
    if not count:
        return [line(("no outliers", "muted"))]
    outliers = f"{symbols.above} {count:,} outlier{'s' if count > 1 else ''}"
    where = f" off scale, still included in every statistic; {key('case.outlier')}: next outlier"
    return [line((outliers, "warning"), (where, "muted"))]
