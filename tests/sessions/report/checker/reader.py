"""A report as a renderer shows it, and the objections that come from comparing it with the results."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf

from ..conftest import parse
from .facts import Facts, Row
from .recording import Recording

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
    return rounds_to(number, mb and mb / {"MiB": 1.048576, "GiB": 1073.741824}[unit])


class Reader:
    """A report, the facts that it must agree with, and where it doesn't."""

    def __init__(self, facts: Facts, parts: list[Part], recording: Recording | None = None) -> None:
        self.facts, self.parts, self.recording = facts, parts, recording
        self.objections: list[str] = []
        self.chosen: dict[tuple[str, int | None], Row] = {}
        """The case that the table of choices recommends, by need and sequence length."""
        self._labels = facts.labels()

    def claim(self, where: str) -> "Claim":
        return Claim(self, where)

    def case(self, name: str) -> Row:
        """Return a case by its name in a table; the first of all if there is none of this name."""
        numbers = self._labels.get(name, [])
        self.claim("a table").require(len(numbers) == 1, f"{name!r} may be any of the cases {numbers}")
        return self.facts.rows[numbers[0] if numbers else 0]

    def named_first(self, text: str) -> tuple[Row, str]:
        """Return the case that a cell begins with, and the rest: its figure."""
        names = [name for name in self._labels if text.startswith(f"{name}, ")]
        name = max(names, key=len, default=text)
        return self.case(name), text.removeprefix(f"{name}, ")

    def length(self, text: str) -> int | None:
        """Return the sequence length in a text such as ``512 tokens``; else the only one there is."""
        lengths = {row["sequence_length"] for row in self.facts.measured}
        named = re.search(rf"({NUMBER}) tokens", text)
        return int(parse_number(named[1])) if named else next(iter(lengths)) if len(lengths) == 1 else None

    def brief(self, shared: str, own: str, length: int | None) -> Row | None:
        """Return the case whose name has these words, and those that all choices share."""
        words = {*shared.split(), *own.split()}
        found = [
            numbers
            for name, numbers in self._labels.items()
            if set(name.split()) in (words, words | {f"seq={length}"})
        ]
        return self.facts.rows[found[0][0]] if found else None


@dataclass
class Claim:
    """A place in a report, and what must hold there."""

    reader: Reader
    where: str

    @property
    def facts(self) -> Facts:
        return self.reader.facts

    def require(self, holds: object, why: str) -> None:
        if not holds:
            self.reader.objections.append(f"{self.where}: {why}")

    def is_chosen(self, best: Row, need: str, length: int | None) -> None:
        """Note the choice for a need, which is the same everywhere in the report."""
        known = self.reader.chosen.setdefault((need, length), best)
        self.require(known is best, f"elsewhere it is {known['name']}")

    def require_value(self, shown: str, value: float | None, what: str) -> None:
        self.require(rounds_to(shown, value), f"{what} is {value}, not {shown}")
