"""Bars and sparklines at sub-cell resolution, independent of Textual."""

from collections.abc import Sequence
from itertools import pairwise
from math import nan

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span


def bar(fraction: float | None, width: int, symbols: Symbols, role: str = "accent") -> list[Span]:
    """Draw a bar of ``width`` cells, filled to a fraction (0 to 1) in half cells; None leaves it empty."""
    halves = round(min(max(fraction or 0.0, 0.0), 1.0) * 2 * max(width, 0))
    fill = symbols.bar * (halves // 2) + symbols.half * (halves % 2)
    return [(fill, role), (symbols.track * (width - len(fill)), "faint")]


def history(values: Sequence[float], most: float, width: int, symbols: Symbols) -> str:
    """Draw a one-line sparkline on a scale from 0 to ``most``, newest value at the right; NaN leaves a gap."""
    shown = values[-width:]
    return "".join(_column(value, most, symbols.up) for value in shown).rjust(width)


def buckets(at_s: Sequence[float], values: Sequence[float], width: int, bucket_s: float) -> list[float]:
    """Return mean readings per ``bucket_s`` seconds for the newest ``width`` buckets; NaN if there were none.

    A single empty bucket repeats the one before, because the sampler was late. Buckets start at multiples of
    their length, so that a plot moves only when one is complete.
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
