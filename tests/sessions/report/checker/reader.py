"""A report being compared with the results: its parts, and the objections so far."""

import re
from dataclasses import dataclass

from .cases import Row
from .facts import Facts
from .recording import Recording
from .report_text import NUMBER, Part, parse_number, rounds_to


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
