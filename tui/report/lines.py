"""Lines of a report for a width in cells: wrapped texts, tables in blocks, bars of the speedups."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.cells import cell_len, chop_cells

from benchtui.sessions.report.content import TITLE, Code, Content, Items, Note, Section, Speedup, Speedups
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.labels import without_shared_words
from benchtui.sessions.text.markdown import in_one_line
from benchtui.sessions.text.tables import Table
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import LEAST_WIDEST, ratio_bar, ratio_bounds
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, line, width_of, wrap_spans
from benchtui.tui.report.table_lines import table_lines, verdict_spans

WIDEST_TEXT = 110
"""Maximum width of a paragraph in cells; longer lines are hard to read."""
FIRST_SCREEN, LEAST_BARS, AROUND_BARS = 24, 4, 2
"""Lines of a small terminal that the figure shall end in, its smallest number of bars, and its other lines."""
_HEADINGS = {1: "strong", 2: "accent"}
"""Color roles of headings by level; of any other, bright."""


class RenderedReport(msgspec.Struct, frozen=True):
    """Lines of a report."""

    lines: list[Line]
    sections: list[int]
    """Lines at which sections begin."""


def report_lines(report: Section, width: int, symbols: Symbols) -> RenderedReport:
    """Render a report, with a blank line between its parts, except after a heading or a note."""
    lines: list[Line] = []
    sections: list[int] = []
    after_heading = True
    for part, level in _parts(report, 1):
        bars = max(LEAST_BARS, FIRST_SCREEN - len(lines) - AROUND_BARS)
        lines += [] if after_heading else [BLANK]
        after_heading = isinstance(part, Section | Note)
        if isinstance(part, Section) and level == 2:
            sections.append(len(lines))
        lines += _part(part, level, max(width, 1), symbols, bars)
    if symbols.about.isascii():
        lines = [tuple((format.ascii_text(text), role) for text, role in drawn) for drawn in lines]
    return RenderedReport(lines, sections)


def _parts(shown: Section, level: int) -> Iterator[tuple[Content, int]]:
    """Yield a section before what it contains, each with the level of the section's heading."""
    yield shown, level
    for part in shown.content:
        yield from _parts(part, level + 1) if isinstance(part, Section) else [(part, level)]


def _part(part: Content, level: int, width: int, symbols: Symbols, bars: int) -> Iterator[Line]:
    match part:
        case Section():
            title = in_one_line(part.title.removeprefix(TITLE))
            *above, last = wrap_spans([(title, _HEADINGS.get(level, "bright"))], width)
            rule = symbols.track * (width - width_of(last) - 1) if level == 2 else ""
            yield from above
            yield line(*last, (f" {rule}", "faint")) if rule else last
        case Items():
            sign = (f"{symbols.flag} ", "warning") if part.quoted else (f"{symbols.dot} ", "accent")
            for subject, text in part.items:
                lead = [(in_one_line(subject), "strong"), (": ", "plain")] if subject else []
                yield from _text([*lead, *verdict_spans(in_one_line(text))], width, sign)
        case Code():
            yield from (line((piece, "soft")) for row in part.lines for piece in chop_cells(row, width) or [""])
        case Table():
            yield from table_lines(part, width, symbols)
        case Speedups():
            yield from bar_lines(part.rows, width, symbols, bars)
        case Note():
            yield from _text([(in_one_line(part.text), "muted")], width)
        case str():
            yield from _text(verdict_spans(in_one_line(part)), width)


def _text(spans: Iterable[Span], width: int, sign: Span = ("", "plain")) -> Iterator[Line]:
    """Wrap a text. The lines of an item hang below its sign."""
    for place, drawn in enumerate(wrap_spans(spans, min(width, WIDEST_TEXT) - len(sign[0]))):
        yield line(sign if place == 0 else (" " * len(sign[0]), "plain"), *drawn)


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
