"""The speedup figure as bars around 1, best case first."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from benchtui.sessions.report.content import Speedup
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.labels import without_shared_words
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import LEAST_WIDEST, RatioRange, ratio_bar
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, line, wrap_spans
from benchtui.tui.report.words import verdict_spans

MOST_BARS = 8
"""Number of cases with a bar; a figure of more would push the report's answer off the screen."""
LEAST_BAR, MOST_BAR = 17, 41
"""Width of a bar in cells."""


def bar_lines(rows: Sequence[Speedup], width: int, symbols: Symbols) -> Iterator[Line]:
    """Render the first cases with bar, ratio, interval and verdict. The interval gives way to the names."""
    shown = [row for row in rows if row.value > 0][:MOST_BARS]
    shared, names = without_shared_words([row.case for row in shown])
    texts, verdict = [row.text for row in shown], max((len(row.verdict) for row in shown), default=0)
    short = [text.partition(" (")[0] for text in texts]
    longest = max(map(cell_len, names), default=0)
    if longest + max(map(len, texts), default=0) + verdict + LEAST_BAR + 6 > width:
        texts = short
    figure = max(map(len, texts), default=0)
    room = width - figure - verdict - 6
    size = max(LEAST_BAR, min(MOST_BAR, room - longest))
    most = max((LEAST_WIDEST, *(_extent(row) for row in shown)))
    for row, name, text in zip(shown, names, texts, strict=True):
        spans: list[Span] = [(f"{fit(name, min(longest, max(8, room - size)), symbols)}  ", "plain")]
        low, high = _bounds(row)
        bar = ratio_bar(RatioRange(low, high, most), size, symbols, _role(row.verdict))
        yield line(*spans, *bar, (f"  {text:<{figure}}  ", "bright"), *verdict_spans(row.verdict))
    yield from _notes(len(rows) - len(shown), shared, width)


def _notes(hidden: int, shared: str, width: int) -> Iterator[Line]:
    parts = [f"all: {shared}" if shared else "", count(hidden, "more case") if hidden else ""]
    if note := "; ".join(filter(None, parts)):
        yield from wrap_spans([(note, "muted")], width)


def _bounds(row: Speedup) -> tuple[float, float]:
    """Return the interval; without one, 1 and the ratio, between which the whole bar is light."""
    if row.low is None or row.high is None or not row.low > 0:
        return min(1.0, row.value), max(1.0, row.value)
    return row.low, row.high


def _extent(row: Speedup) -> float:
    """Return how far a bar reaches from 1, in either direction, as a ratio above 1."""
    return max(max(bound, 1 / bound) for bound in _bounds(row))


def _role(verdict: str) -> str:
    return next(role for _, role in verdict_spans(verdict) if _)
