"""Blocks of a report, read from its Markdown: headings, texts, tables, code, and the speedup figure."""

from collections.abc import Iterator
from functools import cache

import msgspec
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from benchtui.sessions.report.speedup_block import SPEEDUPS, Speedup
from benchtui.tui.drawing.styled_text import Span


class Heading(msgspec.Struct, frozen=True):
    """Heading of the document (level 1), of a section (2), or of a part of one."""

    level: int
    text: str


class Text(msgspec.Struct, frozen=True):
    """Paragraph, or item of a list."""

    spans: tuple[Span, ...]
    item: bool = False
    quoted: bool = False
    """Whether it is in a block quote, as caveats are."""


class Code(msgspec.Struct, frozen=True):
    """Lines to copy, such as a sweep."""

    lines: tuple[str, ...]


class ReportTable(msgspec.Struct, frozen=True):
    """Table with the text of its cells."""

    titles: tuple[str, ...]
    right: tuple[bool, ...]
    """Whether to align each column right."""
    rows: tuple[tuple[str, ...], ...]


class Speedups(msgspec.Struct, frozen=True):
    """The speedup figure."""

    rows: tuple[Speedup, ...]


Block = Heading | Text | Code | ReportTable | Speedups

_ROLES = {"strong": "strong", "em": "muted", "code_inline": "accent", "link": "accent"}
"""Color role of the text inside an element; of any other, plain."""


def read_blocks(markdown: str) -> tuple[Block, ...]:
    """Read the blocks of a report's Markdown, in order."""
    return tuple(_blocks(SyntaxTreeNode(_parser().parse(markdown))))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _blocks(parent: SyntaxTreeNode, *, item: bool = False, quoted: bool = False) -> Iterator[Block]:
    for node in parent.children:
        match node.type:
            case "heading":
                yield Heading(int(node.tag[1:]), _plain_text(node))
            case "paragraph":
                yield Text(tuple(_spans(node)), item=item, quoted=quoted)
            case "fence":
                yield _fence(node)
            case "table":
                yield _table(node)
            case _:
                yield from _blocks(
                    node, item=item or node.type == "list_item", quoted=quoted or node.type == "blockquote"
                )


def _fence(node: SyntaxTreeNode) -> Block:
    if node.info == SPEEDUPS:
        return Speedups(msgspec.json.decode(node.content, type=tuple[Speedup, ...]))
    return Code(tuple(node.content.rstrip("\n").split("\n")))


def _table(node: SyntaxTreeNode) -> ReportTable:
    head, *rows = (row.children for part in node.children for row in part.children)
    return ReportTable(
        titles=tuple(map(_plain_text, head)),
        right=tuple("right" in str(cell.attrs.get("style", "")) for cell in head),
        rows=tuple(tuple(map(_plain_text, row)) for row in rows),
    )


def _plain_text(node: SyntaxTreeNode) -> str:
    return "".join(text for text, _ in _spans(node))


def _spans(node: SyntaxTreeNode, role: str = "plain") -> Iterator[Span]:
    """Yield the text of an element with its roles; a link is followed by its address."""
    role = _ROLES.get(node.type, role)
    if node.type in ("softbreak", "hardbreak"):
        yield " ", role
    elif node.content and not node.children:
        yield node.content, role
    for child in node.children:
        yield from _spans(child, role)
    if node.type == "link":
        yield f" ({node.attrs['href']})", role
