"""Step-time histogram: step counts over a time scale. Independent of Textual."""

from collections.abc import Sequence
from math import ceil

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.array_ops import count_between
from benchtui.tui.drawing.axis_scale import tick_text
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.panels.step_axis import Scale
from benchtui.tui.panels.step_band import caption_lines

LABEL_WIDTH = 10
CELLS = 2
"""Cells per column."""


class Histogram(msgspec.Struct, frozen=True):
    """Snapshot of a case's measured steps."""

    scale: Scale | None
    """Time range; None while there are no steps."""
    times_ms: Sequence[float] = ()
    median: float | None = None
    p99: float | None = None
    caption: str = ""
    """Caption for steps that aren't the current case's."""


def histogram_lines(histogram: Histogram, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the columns. The largest count is at the left; times, p50, and p99 are below."""
    room = width - LABEL_WIDTH
    if height < 4 or room < 20:
        return []
    if histogram.scale is None:
        return caption_lines(histogram.caption, width, symbols)
    counts, beyond = _counts(histogram, histogram.scale, room // CELLS)
    rows = height - 2
    most = max(counts)
    drawn = [_row(counts, most, rows - 1 - row, rows, symbols) for row in range(rows)]
    labels = {
        0: f"{most:>{LABEL_WIDTH - 2},} {symbols.tick}",
        rows - 1: f"{'steps':>{LABEL_WIDTH - 2}} {symbols.tick}",
    }
    blank = " " * (LABEL_WIDTH - 1) + symbols.axis
    lines = [line((labels.get(row, blank), "muted"), (text, "accent")) for row, text in enumerate(drawn)]
    return [*lines, _times(histogram, histogram.scale, room, symbols), _words(histogram, beyond, room, symbols)]


def _counts(histogram: Histogram, scale: Scale, columns: int) -> tuple[list[int], int]:
    """Count the steps per time bin, and those beyond the scale, which go into the last bin."""
    size = (scale.high - scale.low) / columns
    edges = [scale.low + place * size for place in range(1, columns)]
    *counts, last, beyond = count_between(histogram.times_ms, [*edges, scale.high])
    return [*counts, last + beyond], beyond


def _row(counts: list[int], most: int, base: int, rows: int, symbols: Symbols) -> str:
    steps = len(symbols.up) - 1
    heights = (rows * count / max(most, 1) - base for count in counts)
    return "".join(symbols.up[ceil(min(max(height, 0.0), 1.0) * steps)] * CELLS for height in heights)


def _times(histogram: Histogram, scale: Scale, room: int, symbols: Symbols) -> Line:
    """Render the ends of the scale, with p50 and p99 between them if they fit."""
    low, high = tick_text(scale.low), tick_text(scale.high)
    text = f"{low}{high:>{room - len(low)}}"
    for name, value in (("p50", histogram.median), ("p99", histogram.p99)):
        if value is None:
            continue
        word = f"{symbols.upward}{name}"
        at = min(max(0, int(scale.level(value) * room)), room - len(word))
        if text[max(0, at - 1) : at + len(word) + 1].isspace():
            text = text[:at] + word + text[at + len(word) :]
    return line((" " * LABEL_WIDTH, "plain"), (text, "muted"))


def _words(histogram: Histogram, beyond: int, room: int, symbols: Symbols) -> Line:
    words = [histogram.caption, "ms per step"]
    if beyond:
        words.append(f"{beyond} beyond {symbols.above}")
    words_text = f" {symbols.dot} ".join(word for word in words if word)
    fitted = fit(words_text, room, symbols).rstrip()
    return line((" " * LABEL_WIDTH, "plain"), (f"{fitted:>{room}}", "muted"))
