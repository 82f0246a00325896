"""Parse a report's Markdown into headings, items and tables, and compare printed numbers."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Item:
    """A paragraph or list item, with the bold words it begins with."""

    lead: str
    text: str
    quoted: bool = False


@dataclass
class Part:
    """Contents of a heading, up to the next one."""

    section: str
    """Second-level heading."""
    title: str
    """The heading itself: the section's own if it has no subsections."""
    items: list[Item] = field(default_factory=list)
    tables: list[list[dict[str, str]]] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, str]]:
        """Rows of the table. One that was too wide is split into several, which begin with the same column."""
        return [dict(cell for row in rows for cell in row.items()) for rows in zip(*self.tables, strict=True)]


def parse_report(report: str) -> list[Part]:
    """Split a report at its headings."""
    found, fenced = [Part("", "")], False
    lines = report.splitlines()
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if heading := None if fenced else re.fullmatch(r"(#+) (.*)", line):
            title = _unescaped(heading[2])
            found.append(Part(title if len(heading[1]) < 3 else found[-1].section, title))
        elif line.startswith("|"):
            if not lines[place - 1].startswith("|"):
                found[-1].tables.append(list(_parse_rows(lines[place:])))
        elif line and not fenced:
            _add_line(found[-1].items, line, continued=bool(lines[place - 1]))
    return found


def _add_line(items: list[Item], line: str, *, continued: bool) -> None:
    match = re.match(r"(> - |> |- |\d+\. )?(?:\*\*(.*?)\*\*(?:: |$))?(.*)", line)
    if match is None:
        return
    if continued and items and not match[1] and not match[2]:
        items[-1].text += f" {_unescaped(line)}"
    else:
        items.append(Item(_unescaped(match[2] or ""), _unescaped(match[3]), (match[1] or "").startswith(">")))


def _parse_rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Return the rows of a table without empty cells."""
    titles: list[str] = []
    for place, line in enumerate(lines):
        if not line.startswith("|"):
            return
        cells = [_unescaped(each.strip()) for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        if place == 0:
            titles = cells
        elif place > 1:
            yield {title: cell for title, cell in zip(titles, cells, strict=True) if cell != "–"}


def _unescaped(text: str) -> str:
    return html.unescape(re.sub(r"\\(.)", r"\1", text)).strip()


NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?"


def parse_number(shown: str) -> float:
    return float(shown.replace(",", ""))


def half_digit(shown: str) -> float:
    """Return half a unit of the last digit shown: of the third one where zeros follow it."""
    digits, _, exponent = shown.strip("+-").replace(",", "").partition("e")
    whole, _, decimals = digits.partition(".")
    zeros = len(whole) - max(len(whole.rstrip("0")), 3)
    return 0.5 * 10.0 ** (int(exponent or 0) + (-len(decimals) if decimals else max(zeros, 0)))


def rounds_to(shown: str, value: float | None) -> bool:
    """Whether this value may round to the number shown."""
    return value is not None and abs(parse_number(shown) - value) <= half_digit(shown) * 1.000001 + 1e-6 * abs(
        value
    )


def parse_mb(shown: str) -> tuple[str, float]:
    """Return the number of an amount of memory, and how many MB its unit is."""
    number, unit = shown.split(" ")
    return number, {"MB": 1.0, "GB": 1000.0}[unit]
