"""Parts of a report as a renderer shows them, and comparisons of printed numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf

from ..conftest import parse

Rows = list[dict[str, str]]
"""Rows of a table by column, without their empty cells."""


@dataclass
class Part:
    """Contents of a heading, up to the next one."""

    section: str
    """Second-level heading."""
    title: str
    """The heading itself: the section's own if it has no subsections."""
    texts: list[str]
    """Paragraphs and items."""
    tables: list[Rows]
    """Tables, of which the parts of one that was too wide are joined."""


def parse_report(report: str) -> Iterator[Part]:
    """Split a report at its headings."""
    document, section = parse(report), ""
    for heading, content in zip(document.headings, document.sections[1:], strict=True):
        section = section if heading.tag == "h3" else content.title
        tables = [
            [{title: cell for title, cell in zip(titles, row, strict=True) if cell != "–"} for row in rows]
            for titles, *rows in content.tables
        ]
        yield Part(section, content.title, content.paragraphs, tables)


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
    """Whether this value may round to the number shown, or is above the shown limit."""
    if shown in ("over 100", "> 100", "not finite"):
        return value is None if shown == "not finite" else value is not None and value > 100
    if value is None or isinf(value) or not re.fullmatch(NUMBER, shown):
        return False
    return abs(parse_number(shown) - value) <= half_digit(shown) * 1.000001 + 1e-6 * abs(value)


def memory_rounds_to(shown: str, mb: float | None) -> bool:
    """Whether an amount in MB may round to one shown with its unit."""
    number, unit = shown.split(" ")
    return rounds_to(number, mb and mb / {"MB": 1.0, "GB": 1000.0}[unit])
