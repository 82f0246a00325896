"""Parse a report as a renderer would."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session


@dataclass
class Section:
    """Contents of a heading, up to the next one."""

    title: str
    paragraphs: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    """Rows of cells, the header first."""

    @property
    def text(self) -> str:
        return "\n".join(self.paragraphs)

    def columns(self, *titles: str) -> list[list[str]]:
        """The body of the first table, in these columns."""
        header, *rows = self.tables[0]
        places = [header.index(title) for title in titles]
        return [[row[place] for place in places] for row in rows]


@dataclass
class Document:
    """A rendered report."""

    sections: list[Section]
    tokens: list[Token]

    def __getitem__(self, title: str) -> Section:
        return next(section for section in self.sections if section.title == title)

    def under(self, title: str) -> list[Section]:
        """The subsections of a section of the second level."""
        levels = [(token.tag, place) for place, token in enumerate(self.headings)]
        start = next(place for _, place in levels if self.sections[place + 1].title == title)
        found = []
        for tag, place in levels[start + 1 :]:
            if tag != "h3":
                break
            found.append(self.sections[place + 1])
        return found

    def need(self, title: str, section: str = "Choices") -> dict[str, str]:
        """The row of a need in the table of choices, by column."""
        header, *rows = self[section].tables[0]
        return next(dict(zip(header, row, strict=True)) for row in rows if row[0] == title)

    @property
    def text(self) -> str:
        return "\n".join(section.text for section in self.sections)

    @property
    def headings(self) -> list[Token]:
        return [token for token in self.tokens if token.type == "heading_open"]

    @property
    def titles(self) -> list[str]:
        return [section.title for section in self.sections]

    @property
    def kinds(self) -> set[str]:
        """Every kind of token, inline ones included."""
        return {child.type for token in self.tokens for child in (token, *(token.children or ()))}


def full_report(session: Session, per_hour: float | None = None) -> str:
    return markdown(session, per_hour, full=True)


def parse(text: str) -> Document:
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    document = Document([Section("")], tokens)
    row: list[str] | None = None
    heading = False
    for token in tokens:
        match token.type:
            case "heading_open":
                heading = True
            case "table_open":
                document.sections[-1].tables.append([])
            case "tr_open":
                row = []
            case "tr_close":
                assert row is not None
                document.sections[-1].tables[-1].append(row)
                row = None
            case "inline" if heading:
                document.sections.append(Section(shown(token)))
                heading = False
            case "inline" if row is not None:
                row.append(shown(token))
            case "inline":
                document.sections[-1].paragraphs.append(shown(token))
    for section in document.sections:
        section.tables = joined(section.tables)
    return document


def joined(tables: list[list[list[str]]]) -> list[list[list[str]]]:
    """Join the parts of a table that was too wide: they have the same first column, or a single row."""
    whole: list[list[list[str]]] = []
    for table in tables:
        if whole and [row[0] for row in whole[-1]] == [row[0] for row in table]:
            whole[-1] = [[*one, *other[1:]] for one, other in zip(whole[-1], table, strict=True)]
        elif whole and len(whole[-1]) == len(table) == 2:
            whole[-1] = [[*one, *other] for one, other in zip(whole[-1], table, strict=True)]
        else:
            whole.append(table)
    return whole


def shown(token: Token) -> str:
    """The text a reader sees."""
    return "".join(" " if child.type == "softbreak" else child.content for child in token.children or ())


@pytest.fixture
def read() -> Any:
    """Parse Markdown into sections, tables and tokens."""
    return parse
