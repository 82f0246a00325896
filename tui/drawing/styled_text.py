"""Lines of styled text, and the diff between two versions of a line; independent of Textual."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len, chop_cells, split_graphemes

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit

Span = tuple[str, str]
"""Text and its role."""
Line = tuple[Span, ...]

BLANK: Line = ()
GAP = "   "
"""Separator between the facts of a line."""
LEAST_TEXT = 20
"""Minimum width of a wrapped text in cells."""
_PIECES = re.compile(r"\s+|\S+")
_COLUMN = re.compile(r"(?:^ +|  +)(?=\S)")
MAX_REWRITTEN_GAP = 12
"""Longest unchanged run, in cells, that is rewritten because jumping over it could cost more bytes."""

RECENT_LINES = 64
KNOWN_CHARACTERS = 4096
"""Sizes of caches."""


def line(*pieces: Span) -> Line:
    """Build a line: drop empty spans and join neighbors of the same role."""
    joined: list[Span] = []
    for text, role in pieces:
        if text and joined and joined[-1][1] == role:
            joined[-1] = (joined[-1][0] + text, role)
        elif text:
            joined.append((text, role))
    return tuple(joined)


def width_of(pieces: Iterable[Span]) -> int:
    """Return the width of the spans in cells."""
    return sum(cell_len(text) for text, _ in pieces)


def crop(pieces: Iterable[Span], width: int, symbols: Symbols) -> Line:
    """Cut the spans to a width in cells, with an ellipsis if shortened."""
    kept: list[Span] = []
    room = width
    for text, role in pieces:
        size = cell_len(text)
        if size > room:
            return line(*kept, (fit(text, room, symbols), role))
        kept.append((text, role))
        room -= size
    return line(*kept)


def wrap_facts(facts: Sequence[Sequence[Span]], width: int) -> list[Line]:
    """Wrap facts into lines without splitting any of them."""
    lines: list[list[Span]] = [[]]
    for fact in facts:
        beside = [(GAP, "plain"), *fact]
        if not lines[-1]:
            lines[-1] += fact
        elif width_of([*lines[-1], *beside]) <= width:
            lines[-1] += beside
        else:
            lines.append([*fact])
    return [line(*pieces) for pieces in lines]


def hanging(head: Span, text: str, width: int, role: str = "plain") -> list[Line]:
    """Render a text behind its head, and wrapped below itself."""
    size = len(head[0])
    parts = wrap(text, max(width - size, LEAST_TEXT), break_on_hyphens=False) or [""]
    heads = (head, *[(" " * size, "plain")] * (len(parts) - 1))
    return [line(front, (part, role)) for front, part in zip(heads, parts, strict=True)]


def labeled(rows: Sequence[tuple[str, str]], width: int, role: str = "muted") -> list[Line]:
    """Render labels and texts, one per row. Long texts are wrapped, never truncated."""
    size = max((len(label) for label, _ in rows), default=0)
    return [part for label, text in rows for part in hanging((f"  {label:<{size}}   ", role), text, width)]


def wrap_spans(spans: Iterable[Span], width: int) -> list[Line]:
    """Wrap spans at spaces. A word longer than a line is split; spaces between words become one."""
    lines: list[list[Span]] = [[]]
    for word in _words(spans, width):
        role = word[0][1]
        gap = [(" ", role if lines[-1][-1][1] == role else "plain")] if lines[-1] else []
        if width_of([*lines[-1], *gap, *word]) <= width or not lines[-1]:
            lines[-1] += [*gap, *word]
        else:
            lines.append(word)
    return [line(*pieces) for pieces in lines]


def wrap_line(drawn: Sequence[Span], width: int) -> list[Line]:
    """Wrap a line at spaces, under the last of its columns that begins in the first third of the width."""
    if width_of(drawn) <= width:
        return [line(*drawn)]
    text = "".join(part for part, _ in drawn)
    indent = max((end for gap in _COLUMN.finditer(text) if 3 * (end := gap.end()) <= width), default=0)
    head, rest = _split(drawn, indent)
    first, *others = wrap_spans(rest, width - indent)
    return [line(*head, *first), *(line((" " * indent, "plain"), *part) for part in others)]


def _split(spans: Iterable[Span], at: int) -> tuple[list[Span], list[Span]]:
    """Split spans at a number of characters."""
    head: list[Span] = []
    rest: list[Span] = []
    for text, role in spans:
        head.append((text[:at], role))
        rest.append((text[at:], role))
        at = max(at - len(text), 0)
    return head, rest


def _words(spans: Iterable[Span], width: int) -> Iterator[list[Span]]:
    """Yield the words, each as spans, because its role may change within it."""
    word: list[Span] = []
    for text, role in spans:
        for piece in _PIECES.findall(text):
            if piece.isspace() or width_of([*word, (piece, role)]) > width:
                yield from [word] if word else []
                word = []
            *whole, piece = chop_cells(piece, max(width, 1)) if not piece.isspace() else [""]
            yield from ([(part, role)] for part in whole)
            word += [(piece, role)] if piece else []
    yield from [word] if word else []


def fitting_facts(facts: Sequence[Sequence[Span]], width: int) -> Line:
    """Put as many facts in one line as fit, in order, without splitting any of them."""
    kept: list[Span] = []
    for fact in facts:
        beside = [(GAP if kept and fact else "", "plain"), *fact]
        if width_of([*kept, *beside]) <= width:
            kept += beside
    return line(*kept)


def justify(left: Sequence[Span], right: Sequence[Span], width: int, symbols: Symbols) -> Line:
    """Align spans to both ends of a line. The left ones are shortened if space is short."""
    room = width - width_of(right)
    head = crop(left, max(0, room - 1), symbols)
    return line(*head, (" " * (room - width_of(head)), "plain"), *right)


def side_by_side(columns: Sequence[Sequence[Line]], width: int) -> list[Line]:
    """Lay out columns of lines side by side, all but the last padded to ``width`` cells."""
    return [
        line(*(piece for drawn in beside[:-1] for piece in _filled(drawn, width)), *beside[-1])
        for beside in zip_longest(*columns, fillvalue=BLANK)
    ]


def _filled(drawn: Line, width: int) -> Line:
    return (*drawn, (" " * (width - width_of(drawn)), "plain"))


def changes(old: Line, new: Line, width: int) -> list[tuple[int, int]]:
    """Return the cell ranges (start, stop) in which a line differs from its previous version."""
    if old == new:
        return []
    spans: list[tuple[int, int]] = []
    (before, roles_before), (after, roles_after) = _cells(old, width), _cells(new, width)
    for at in range(width):
        if before[at] == after[at] and roles_before[at] == roles_after[at]:
            continue
        if spans and at - spans[-1][1] <= MAX_REWRITTEN_GAP:
            spans[-1] = (spans[-1][0], at + 1)
        else:
            spans.append((at, at + 1))
    return spans


@lru_cache(maxsize=RECENT_LINES)
def _cells(pieces: Line, width: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return character and role of each cell. Marks join their character; a wide one fills two cells.

    Cached, because each line is first drawn and then compared with the next version. A tuple per cell would
    take six times the memory.
    """
    text = "".join(part for part, _ in pieces)
    roles = [role for part, role in pieces for _ in part]
    if all(map(_fills_one_cell, text)):  # four times as fast
        return f"{text[:width]:{width}}", [*roles, *["plain"] * width][:width]
    # graphemes may span pieces, such as a mark that follows its character in another role
    cells = [(start, end) for start, end, size in split_graphemes(text)[0] for _ in range(size)]
    shown = [*(text[start:end] for start, end in cells), *" " * width]
    return shown[:width], [*(roles[start] for start, _ in cells), *["plain"] * width][:width]


@lru_cache(maxsize=KNOWN_CHARACTERS)
def _fills_one_cell(character: str) -> bool:
    return cell_len(character) == 1
