"""Findings of the checks: a file of JSON lines per part, and the markdown summary of all parts."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agreement import Ratio
from checks import CHECKS, Check

SUMMARY = "gpu-first.md"
MACHINE = "machine"
"""Name of the entry that describes the machine of a part."""
AS_EXPECTED, DIFFERS, FIGURES = "as expected", "DIFFERS", "figures only"
NOT_HERE, NOT_RUN = "not measurable here", "not run"


class Log:
    """File of a part. Every line is on the disk before the next thing is tried."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, check: str, **entry: Any) -> None:
        """Append a line about a check."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"check": check, **entry}, default=str) + "\n")


class Findings:
    """Findings of one running check, logged and printed as they come."""

    def __init__(
        self, check: Check, log: Log, *, kept: Path, brief: bool = False, no_numbers: str | None = None
    ) -> None:
        self.kept = kept
        """Folder for files that go into the part's archive."""
        self.brief = brief
        """Whether the numbers don't matter: short runs of small models."""
        self._no_numbers = no_numbers
        """Why times, power and clocks mean nothing here; None on a real GPU at full length."""
        self._name, self._log = check.name, log

    def figure(self, name: str, value: object) -> None:
        """Log a figure or a table (list of dicts)."""
        self._log.add(self._name, figure=name, value=value)

    def expect(self, agrees: bool, sentence: str) -> None:
        """Log and print a finding, and whether it is the expected one."""
        self._log.add(self._name, found=sentence, agrees=agrees)
        print(f"    {'found:  ' if agrees else 'DIFFERS:'}  {sentence}", flush=True)

    def expect_number(self, agrees: bool, sentence: str) -> None:
        """Log a finding about times, power or clocks, which only a real GPU at full length can give."""
        if self._no_numbers:
            self.not_here(sentence, self._no_numbers)
        else:
            self.expect(agrees, sentence)

    def expect_at_length(self, agrees: bool, sentence: str) -> None:
        """Log a finding that a brief run can't show, because its spans are too short or its cases too few."""
        if self.brief:
            self.not_here(sentence, "a brief run")
        else:
            self.expect(agrees, sentence)

    def ratio(self, ratio: Ratio) -> None:
        """Log a ratio of figures that any GPU has."""
        self.expect(ratio.agrees, str(ratio))

    def number(self, ratio: Ratio) -> None:
        """Log a ratio of times, powers or clocks."""
        self.expect_number(ratio.agrees, str(ratio))

    def not_here(self, what: str, reason: str) -> None:
        """Log and print what can't be measured on this machine, with the reason."""
        self._log.add(self._name, absent=what, reason=reason)
        print(f"    not measurable here ({reason}):  {what}", flush=True)


@dataclass(slots=True)
class Outcome:
    """Everything that is known of a check."""

    check: Check
    figures: dict[str, Any] = field(default_factory=dict)
    found: list[tuple[bool, str]] = field(default_factory=list)
    absent: list[tuple[str, str]] = field(default_factory=list)
    """What can't be measured on this machine, with the reason."""
    ended: str | None = None
    """Why the check ended without its last finding: an error, its limit. Empty if it went through."""
    seconds: float | None = None

    @property
    def state(self) -> str:
        """Outcome in a few words."""
        if self.ended is None:
            return "cut off" if self.found or self.figures or self.absent else NOT_RUN
        if self.differing:
            return f"{DIFFERS}; {self.ended}" if self.ended else DIFFERS
        return self.ended or (AS_EXPECTED if self.found else NOT_HERE if self.absent else FIGURES)

    @property
    def differing(self) -> list[str]:
        """Findings that differ from what is expected."""
        return [sentence for agrees, sentence in self.found if not agrees]

    @property
    def fine(self) -> bool:
        """Whether the check ended without a difference."""
        return self.state in (AS_EXPECTED, NOT_HERE, FIGURES)


def read(out: Path) -> list[Outcome]:
    """Return the outcome of every check from the files of all parts. A cut-off last line is left out."""
    outcomes = {check.name: Outcome(check) for check in CHECKS}
    for entry in _entries(out):
        if entry["check"] in outcomes:
            _apply(entry, outcomes[entry["check"]])
    return list(outcomes.values())


def machines(out: Path) -> str:
    """Return the machine of each part that ran, one a line, as its file names it."""
    named = [str(entry["machine"]) for entry in _entries(out) if entry["check"] == MACHINE]
    return "\n".join(dict.fromkeys(named)) or "no part has run"


def _entries(out: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(out.glob("part-*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            with suppress(json.JSONDecodeError):
                yield json.loads(line)


def _apply(entry: dict[str, Any], outcome: Outcome) -> None:
    if "figure" in entry:
        outcome.figures[entry["figure"]] = entry["value"]
    elif "found" in entry:
        outcome.found.append((entry["agrees"], entry["found"]))
    elif "absent" in entry:
        outcome.absent.append((entry["absent"], entry["reason"]))
    elif "ended" in entry:
        outcome.ended, outcome.seconds = entry["ended"], entry["seconds"]


def summary(outcomes: Sequence[Outcome], machine: str) -> str:
    """Return the findings as markdown: what differs first, then all checks in short and in full."""
    ran = [each for each in outcomes if each.state != NOT_RUN]
    lines = ["# First checks on a GPU", "", machine, "", "## What differs from what is promised", ""]
    lines += [line for each in ran for line in _differences(each)] or ["Nothing, in the checks that ran."]
    absent = [f"- {each.check.name}: {what} ({why})" for each in ran for what, why in each.absent]
    lines += ["", "## Not measurable here", "", *absent] if absent else []
    lines += ["", "## All checks", "", "| check | part | outcome | s |", "|---|---|---|---|"]
    for each in outcomes:
        seconds = "" if each.seconds is None else f"{each.seconds:.0f}"
        lines.append(f"| {each.check.name} | {each.check.part} | {_cell(each.state)} | {seconds} |")
    return "\n".join([*lines, *(line for each in ran for line in _section(each)), ""])


def _differences(outcome: Outcome) -> list[str]:
    """Return a line for each finding that differs, and one for a check that didn't go through."""
    found = list(outcome.differing)
    if outcome.ended or outcome.ended is None:
        found.append(outcome.ended or "cut off")
    where = f"Expected: {outcome.check.expected}. Look at: {outcome.check.fix}."
    return [
        f"- **{outcome.check.name}** (part {outcome.check.part}): {each.rstrip('.')}. {where}" for each in found
    ]


def _section(outcome: Outcome) -> list[str]:
    check = outcome.check
    lines = ["", f"## {check.name}: {outcome.state}", "", f"Expected: {check.expected}.", ""]
    lines += [f"- {'' if agrees else f'**{DIFFERS}** '}{sentence}" for agrees, sentence in outcome.found]
    if outcome.differing:
        lines += ["", f"Look at: {check.fix}."]
    for name, value in outcome.figures.items():
        lines += ["", f"{name}:", "", *_table(value)] if _is_table(value) else ["", f"{name}: {_cell(value)}"]
    return lines


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(_cell(row.get(name)) for name in columns) + " |" for row in rows]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return ", ".join(_cell(each) for each in value) or "–"
    return "–" if value is None else str(value).replace("|", "\\|").replace("\n", " ")
