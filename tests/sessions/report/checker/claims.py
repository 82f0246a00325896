"""A claim: a text under check, with the cases and the ratio it refers to."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .cases import Groups, Row
from .facts import Facts, Pair
from .profile import Profile
from .recording import Recording
from .report_text import Part, rounds_to, shape

Check = Callable[..., None]
"""Checks a sentence from the groups that its shape matched."""
Shapes = list[tuple[re.Pattern[str], Check]]


@dataclass
class Claim:
    """A text under check, with the cases and the ratio it is known to refer to so far."""

    reader: "Reader"
    where: str
    text: str
    need: str = ""
    length: int | None = None
    best: Row = field(default_factory=dict)
    """The chosen case."""
    base: Row = field(default_factory=dict)
    new: Row = field(default_factory=dict)
    """The two cases of the ratio that the rest of the text refers to."""
    ratio: float = 1.0
    """That ratio as printed."""
    option: str = ""
    option_groups: Groups = field(default_factory=dict)
    """Groups matched so far in a sentence about an option."""

    @property
    def facts(self) -> Facts:
        return self.reader.facts

    @property
    def fit(self) -> list[Row]:
        """Cases to choose from, the best first."""
        return self.facts.fit(self.need, self.length)

    @property
    def others(self) -> list[Row]:
        return [row for row in self.fit if row is not self.best]

    @property
    def leads(self) -> bool:
        """Whether no case has a better metric than the chosen one."""
        costs = [self.facts.costs(self.need, row, self.fit) for row in self.fit]
        return self.facts.costs(self.need, self.best, self.fit) <= min(costs) * (1 + 1e-12)

    def row(self, number: str) -> Row:
        return self.facts.rows[int(number)]

    def pair(self, base: Row | None = None, new: Row | None = None) -> Pair:
        """Return how many times as good the new case is as the base: those of this claim by default."""
        return self.facts.pair(self.need, base or self.base, new or self.new, self.fit)

    def set_pair(self, base: Row, new: Row) -> None:
        """Set the two cases of the ratio."""
        self.base, self.new = base, new

    def add_objection(self, why: str) -> None:
        text = re.sub(r"⟦(\d+)⟧", lambda match: self.row(match[1])["name"], self.text)
        self.reader.objections.append(f"{self.where}: {text!r}: {why}")

    def require(self, holds: object, why: str) -> None:
        if not holds:
            self.add_objection(why)

    def require_value(self, shown: str, value: float | None, what: str) -> None:
        self.require(rounds_to(shown, value), f"{what} is {value}, not {shown}")

    def require_half_width(self, shown: str, value: float | None, what: str) -> None:
        """Check half the width of an interval in percent: above 100 there is no number."""
        wide = value is not None and value > 100
        self.require(
            shown == "over 100" if wide else rounds_to(shown, value), f"{what} is {value}, not {shown}"
        )

    def check_sentences(self, known: Shapes, *more: Any) -> None:
        """Check a text sentence by sentence: each as a whole, or else clause by clause."""
        for sentence in re.split(r"(?<=\.) ", self.text):
            self.require(sentence.endswith("."), "no full stop")
            whole = sentence.removesuffix(".")
            if not self._matches(whole, known, *more):
                for clause in whole.split("; "):
                    self.check_clause(clause, known, *more)

    def check_clause(self, text: str, known: Shapes, *more: Any) -> None:
        self.require(self._matches(text, known, *more), f"unknown words: {text!r}")

    def _matches(self, text: str, known: Shapes, *more: Any) -> bool:
        """Check a text by the first shape that matches; return whether one does."""
        for pattern, check in known:
            if match := pattern.fullmatch(text):
                try:
                    check(self, match.groupdict(), *more)
                except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                    self.add_objection(f"no result to compare it with: {error!r}")
                return True
        return False


class Reader:
    """A report being read: its sections, and what was found in them so far."""

    def __init__(self, facts: Facts, parts: list[Part], recording: Recording | None = None) -> None:
        self.facts, self.parts, self.recording = facts, parts, recording
        self.objections: list[str] = []
        self.profiles: dict[int, Profile] = {}
        """Profile of each explained case, or why there is none."""
        self.chosen: dict[tuple[str, int | None], set[int]] = {}
        """Numbers of the recommended cases by need and sequence length."""
        self.confidences: dict[tuple[str, int | None], str] = {}
        """How sure the table is of each of them."""
        self.limits: list[dict[str, str]] = []
        """What the results say of each case's limits."""
        self.advice: list[tuple[str, str, str, str]] = []
        """Advice on option values: verdict, option, value and device."""
        self._labels = facts.labels()
        longest = sorted(self._labels, key=len, reverse=True)
        self._label = re.compile("|".join(rf"(?<![\w:]){re.escape(each)}(?![\w=])" for each in longest) or "$^")

    def claim(self, where: str, text: str) -> Claim:
        """Return a text as a claim, with the names of cases replaced by their numbers."""
        claim = Claim(self, where, text)

        def number(match: re.Match[str]) -> str:
            numbers = self._labels[match[0]]
            claim.require(len(numbers) == 1, f"{match[0]!r} may be any of the cases {numbers}")
            return f"⟦{numbers[0]}⟧"

        claim.text = self._label.sub(number, text)
        return claim

    def case(self, name: str) -> Row:
        """Return a case by its name in a table."""
        return self.facts.rows[int(self.claim("a table", name).text.strip("⟦⟧"))]


def shapes(*known: tuple[Check, *tuple[str, ...]]) -> Shapes:
    """Compile sentence shapes with their checks, in the order in which they are tried."""
    return [(shape(template), check) for check, *templates in known for template in templates]
