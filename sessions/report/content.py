"""Content of a report, which a terminal, a page and Markdown render: sections of texts, tables and pictures."""

from collections.abc import Iterable, Iterator

import msgspec

from benchtui.sessions.text.markdown import plain, wrapped
from benchtui.sessions.text.tables import Table, markdown

TITLE = "Benchmark report: "
"""First words of a report of one session, which a terminal leaves out."""


class Note(msgspec.Struct, frozen=True, tag=True):
    """Text about the document, such as when its session was measured."""

    text: str


class Code(msgspec.Struct, frozen=True, tag=True):
    """Lines to copy, such as a sweep. Nothing in them can end a block of code or look like a tag."""

    language: str
    lines: tuple[str, ...]


class Items(msgspec.Struct, frozen=True, tag=True):
    """List of texts, each after the words that name its subject. Sentences that need none have an empty one."""

    items: tuple[tuple[str, str], ...]
    quoted: bool = False
    """Whether it is in a block quote, as caveats are."""


class Picture(msgspec.Struct, frozen=True, tag=True):
    """Plot, which Markdown links and a page inlines."""

    title: str
    caption: str
    source: str
    """Path of its file, quoted for a link."""


class Speedup(msgspec.Struct, frozen=True):
    """A case with its speed relative to the baseline, or to the base of a comparison."""

    case: str
    value: float
    low: float | None
    high: float | None
    """95% interval."""
    verdict: str
    text: str
    """The ratio with its interval, as the report prints it."""
    work: str = ""
    """What cases have to share to be compared, such as ``512 tokens``."""


class Speedups(msgspec.Struct, frozen=True, tag=True):
    """The speedup figure of a terminal, which draws it as bars."""

    rows: tuple[Speedup, ...]


class Section(msgspec.Struct, frozen=True, tag=True):
    """Heading with its content. A whole report is a section that contains the others."""

    title: str
    content: "tuple[Content, ...]"


Content = str | Note | Items | Table | Code | Picture | Speedups | Section


def section(title: str, *content: Content | None, lead: str = "") -> Section | None:
    """Return a section after its lead; None without any content."""
    present = tuple(part for part in content if part)
    return Section(title, (lead, *present) if lead else present) if present else None


def items(texts: Iterable[tuple[str, str]], *, quoted: bool = False) -> Items | None:
    """Return a list of texts; None without any."""
    listed = tuple(texts)
    return Items(listed, quoted) if listed else None


def render(document: Section) -> str:
    """Render a document in GitHub's Markdown. All text is escaped."""
    return wrapped("\n\n".join(_blocks(document, "#")) + "\n")


def _blocks(shown: Section, level: str) -> Iterator[str]:
    yield f"{level} {plain(shown.title)}"
    for part in shown.content:
        match part:
            case Section():
                yield from _blocks(part, f"{level}#")
            case Note():
                yield f"*{plain(part.text)}*"
            case Code():
                yield "\n".join([f"```{part.language}", *part.lines, "```"])
            case Items():
                yield "\n".join(_item(*item, "> - " if part.quoted else "- ") for item in part.items)
            case Table():
                yield markdown(part)
            case Picture():
                yield f"![{plain(f'{part.title}. {part.caption}')}]({part.source})"
            case str():
                yield plain(part)


def _item(subject: str, text: str, sign: str) -> str:
    return f"{sign}**{plain(subject)}**: {plain(text)}" if subject else f"{sign}{plain(text)}"
