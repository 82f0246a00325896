"""Bars and sparklines at sub-cell resolution, independent of Textual."""

from collections.abc import Sequence
from itertools import pairwise
from math import log, nan

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span

HEAT = tuple(f"heat{step}" for step in range(5))
"""Roles of the cells of a heatmap, from the lowest value to the highest."""


def bar(fraction: float | None, width: int, symbols: Symbols, role: str = "accent") -> list[Span]:
    """Draw a bar of ``width`` cells, filled to a fraction (0 to 1) in half cells; None leaves it empty."""
    halves = round(min(max(fraction or 0.0, 0.0), 1.0) * 2 * max(width, 0))
    fill = symbols.bar * (halves // 2) + symbols.half * (halves % 2)
    return [(fill, role), (symbols.track * (width - len(fill)), "faint")]


def gauge_bar(fraction: float | None, width: int, symbols: Symbols, role: str) -> list[Span]:
    """Draw a bar of ``width`` cells with its ends, filled to a fraction (0 to 1) in eighths of a cell."""
    before, after = symbols.ends[0], symbols.ends[1]
    inside = max(0, width - 2)
    fill = partial_cells(min(max(fraction or 0.0, 0.0), 1.0) * inside, symbols)
    rest = symbols.empty * (inside - len(fill))
    return [(before, "faint"), (fill, role), (rest + after, "faint")]


def partial_cells(cells: float, symbols: Symbols) -> str:
    """Draw a run of ``cells`` filled cells, the last one partly filled."""
    return _levels(cells, symbols.eighths)


def _levels(cells: float, levels: str) -> str:
    most = len(levels) - 1
    whole, part = divmod(round(cells * most), most)
    return levels[-1] * whole + (levels[part] if part else "")


LEAST_WIDEST = 1.25
"""Smallest ratio at the end of bars around 1, so that small differences look small."""


def ratio_bounds(value: float, low: float | None, high: float | None) -> tuple[float, float]:
    """Return the interval of a ratio, whose bar is light; without one, 1 and the ratio itself."""
    if low is None or high is None or not low > 0:
        return min(1.0, value), max(1.0, value)
    return low, high


def ratio_bar(bounds: tuple[float, float], most: float, width: int, symbols: Symbols, role: str) -> list[Span]:
    """Draw a ratio as a bar from 1 on a logarithmic scale: to the right above 1, its interval lighter.

    ``most`` is the ratio at the right end, above 1; its reciprocal is at the left end.
    """
    before, after = symbols.ends[0], symbols.ends[1]
    side = max(0, (width - 3) // 2)
    low, high = (log(bound) / log(most) * side for bound in bounds)
    left_half = _half_bar(-high, -low, side, symbols, symbols.from_right)
    right = _half_bar(low, high, side, symbols, symbols.eighths)
    return [
        (before, "faint"),
        (left_half[::-1].rjust(side), role),
        (symbols.axis, "faint"),
        (right.ljust(side), role),
        (after, "faint"),
    ]


def _half_bar(near: float, far: float, side: int, symbols: Symbols, levels: str) -> str:
    """Draw one side of a diverging bar from its center: solid up to ``near``, light up to ``far``, in cells."""
    solid = _levels(min(max(near, 0.0), side), levels)
    reached = min(max(far, 0.0), side)
    return solid + symbols.light * (round(reached) - len(solid))


def severity(fraction: float | None, warning: float, critical: float) -> str:
    """Return the role of a reading by its fraction of the limit; ``muted`` if unknown."""
    if fraction is None:
        return "muted"
    return "bad" if fraction >= critical else "warning" if fraction >= warning else "good"


def history(values: Sequence[float], most: float, width: int, symbols: Symbols) -> str:
    """Draw a one-line sparkline on a scale from 0 to ``most``, newest value at the right; NaN leaves a gap."""
    shown = values[-width:]
    return "".join(_column(value, most, symbols.up) for value in shown).rjust(width)


def buckets(at_s: Sequence[float], values: Sequence[float], width: int, bucket_s: float) -> list[float]:
    """Return mean readings per ``bucket_s`` seconds for the newest ``width`` buckets; NaN if there were none.

    A single empty bucket repeats the previous one, because the sampler was late. Buckets start at multiples of
    their length, so a plot moves only when one is complete.
    """
    if not at_s:
        return []
    last = int(at_s[-1] // bucket_s)
    sums, counts = [0.0] * width, [0] * width
    for at, value in zip(reversed(at_s), reversed(values), strict=False):
        place = width - 1 - (last - int(at // bucket_s))
        if place < 0:
            break
        if value == value and place < width:
            sums[place] += value
            counts[place] += 1
    means = [total / count if count else nan for total, count in zip(sums, counts, strict=True)]
    return [before if now != now else now for before, now in pairwise([nan, *means])]


def _column(value: float, most: float, steps: str) -> str:
    if value != value or most <= 0:
        return " "
    level = round(min(max(value / most, 0.0), 1.0) * (len(steps) - 1))
    return steps[max(level, 1)] if value > 0 else " "
