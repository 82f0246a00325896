"""The speedup figure as bars around 1, best case first."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from benchtui.sessions.report.content import Speedup
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.labels import without_shared_words
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import LEAST_WIDEST, ratio_bar, ratio_bounds
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, line, wrap_spans
from benchtui.tui.report.table_lines import verdict_spans

MOST_BARS = 8
"""Number of cases with a bar; a figure of more would push the report's answer off the screen."""
LEAST_BAR, MOST_BAR = 17, 41
"""Width of a bar in cells."""


def bar_lines(rows: Sequence[Speedup], width: int, symbols: Symbols, most: int = MOST_BARS) -> Iterator[Line]:
    """Render the first cases with bar, ratio, interval and verdict. The interval gives way to the names."""
    shown = _first([row for row in rows if row.value > 0], min(most, MOST_BARS))
    shared, names = without_shared_words([row.case for row in shown])
    texts, verdict = [row.text for row in shown], max((len(row.verdict) for row in shown), default=0)
    short = [text.partition(" (")[0] for text in texts]
    longest = max(map(cell_len, names), default=0)
    if longest + max(map(len, texts), default=0) + verdict + LEAST_BAR + 6 > width:
        texts = short
    figure = max(map(len, texts), default=0)
    room = width - figure - verdict - 6
    size = max(LEAST_BAR, min(MOST_BAR, room - longest))
    ranges = [ratio_bounds(row.value, row.low, row.high) for row in shown]
    widest = max((LEAST_WIDEST, *(max(end, 1 / end) for bounds in ranges for end in bounds)))
    for row, bounds, name, text in zip(shown, ranges, names, texts, strict=True):
        spans: list[Span] = [(f"{fit(name, min(longest, max(8, room - size)), symbols)}  ", "plain")]
        role = next(role for word, role in verdict_spans(row.verdict) if word)
        bar = ratio_bar(bounds, widest, size, symbols, role)
        yield line(*spans, *bar, (f"  {text:<{figure}}  ", "bright"), *verdict_spans(row.verdict))
    yield from _notes(len(rows) - len(shown), shared, width)


def _first(rows: Sequence[Speedup], most: int) -> list[Speedup]:
    """Return the first rows of each work, in their order."""
    of_works = Counter[str]()
    ranks = []
    for place, row in enumerate(rows):
        of_works[row.work] += 1
        ranks.append((of_works[row.work], place))
    return [rows[place] for place in sorted(place for _, place in sorted(ranks)[:most])]


def _notes(hidden: int, shared: str, width: int) -> Iterator[Line]:
    parts = [f"all: {shared}" if shared else "", count(hidden, "more case") if hidden else ""]
    if note := "; ".join(filter(None, parts)):
        yield from wrap_spans([(note, "muted")], width)
