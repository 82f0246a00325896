"""Lines of a report for a width in cells: wrapped texts, tables in blocks, bars of the speedups."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.cells import chop_cells

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, line, wrap_spans
from benchtui.tui.report.blocks import Block, Code, Heading, ReportTable, Speedups, Text
from benchtui.tui.report.speedup_bars import bar_lines
from benchtui.tui.report.table_lines import table_lines
from benchtui.tui.report.words import ascii_text, verdict_spans

WIDEST_TEXT = 110
"""Maximum width of a paragraph in cells; longer lines are hard to read."""
_HEADINGS = {1: "strong", 2: "accent"}
"""Color roles of headings by level; of any other, bright."""


class RenderedReport(msgspec.Struct, frozen=True):
    """Lines of a report."""

    lines: list[Line]
    sections: list[int]
    """Lines at which sections begin."""


def report_lines(blocks: Sequence[Block], width: int, symbols: Symbols) -> RenderedReport:
    """Render the blocks of a report, with a blank line between them, except in a list and after a heading."""
    lines: list[Line] = []
    sections: list[int] = []
    before: Block | None = None
    for block in blocks:
        in_list = isinstance(block, Text) and isinstance(before, Text) and block.item and before.item
        lines += [] if before is None or in_list or isinstance(before, Heading) else [BLANK]
        if isinstance(block, Heading) and block.level == 2:
            sections.append(len(lines))
        lines += _block(block, max(width, 1), symbols)
        before = block
    if symbols.about.isascii():
        lines = [tuple((ascii_text(text), role) for text, role in drawn) for drawn in lines]
    return RenderedReport(lines, sections)


def _block(block: Block, width: int, symbols: Symbols) -> Iterator[Line]:
    match block:
        case Heading():
            yield from wrap_spans([(block.text, _HEADINGS.get(block.level, "bright"))], width)
            if block.level == 2:
                yield line((symbols.track * width, "faint"))
        case Text():
            yield from _text(block, min(width, WIDEST_TEXT), symbols)
        case Code():
            yield from (line((part, "soft")) for row in block.lines for part in chop_cells(row, width) or [""])
        case ReportTable():
            yield from table_lines(block, width, symbols)
        case Speedups():
            yield from bar_lines(block.rows, width, symbols)


def _text(block: Text, width: int, symbols: Symbols) -> Iterator[Line]:
    """Wrap a text. The lines of an item hang below its sign."""
    sign: Span = ("", "plain")
    if block.item:
        sign = (f"{symbols.flag} ", "warning") if block.quoted else (f"{symbols.dot} ", "accent")
    spans = [part for text, role in block.spans for part in verdict_spans(text, role)]
    for place, drawn in enumerate(wrap_spans(spans, width - len(sign[0]))):
        yield line(sign if place == 0 else (" " * len(sign[0]), "plain"), *drawn)
