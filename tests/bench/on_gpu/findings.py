"""Findings of the checks: a file of JSON lines per part, and the markdown summary of all parts."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks import CHECKS, Check

SUMMARY = "gpu-first.md"
AS_EXPECTED, DIFFERS, FIGURES = "as expected", "DIFFERS", "figures only"


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

    def __init__(self, check: Check, log: Log, out: Path, brief: bool) -> None:
        self.out = out
        """Folder for session files that are to be kept."""
        self.brief = brief
        """Whether the numbers don't matter: short runs of small models."""
        self._name, self._log = check.name, log

    def figure(self, name: str, value: object) -> None:
        """Log a figure or a table (list of dicts)."""
        self._log.add(self._name, figure=name, value=value)

    def expect(self, agrees: bool, sentence: str) -> None:
        """Log and print a finding, and whether it is the expected one."""
        self._log.add(self._name, found=sentence, agrees=agrees)
        print(f"    {'found:  ' if agrees else 'DIFFERS:'}  {sentence}", flush=True)


@dataclass(slots=True)
class Outcome:
    """Everything that is known of a check."""

    check: Check
    figures: dict[str, Any] = field(default_factory=dict)
    found: list[tuple[bool, str]] = field(default_factory=list)
    ended: str | None = None
    """Why the check ended without its last finding: an error, its limit. Empty if it went through."""
    seconds: float | None = None

    @property
    def state(self) -> str:
        """Outcome in a few words."""
        if self.ended is None:
            return "cut off" if self.found or self.figures else "not run"
        if any(not agrees for agrees, _ in self.found):
            return f"{DIFFERS}; {self.ended}" if self.ended else DIFFERS
        return self.ended or (AS_EXPECTED if self.found else FIGURES)


def read(out: Path) -> list[Outcome]:
    """Return the outcome of every check from the files of all parts. A cut-off last line is left out."""
    outcomes = {check.name: Outcome(check) for check in CHECKS}
    for path in sorted(out.glob("part-*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            try:
                _apply(json.loads(line), outcomes)
            except json.JSONDecodeError:
                continue
    return list(outcomes.values())


def _apply(entry: dict[str, Any], outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[entry["check"]]
    if "figure" in entry:
        outcome.figures[entry["figure"]] = entry["value"]
    elif "found" in entry:
        outcome.found.append((entry["agrees"], entry["found"]))
    elif "ended" in entry:
        outcome.ended, outcome.seconds = entry["ended"], entry["seconds"]


def summary(outcomes: Iterable[Outcome], machine: str) -> str:
    """Return the findings as markdown: a table of all checks, then each check that ran."""
    outcomes = sorted(outcomes, key=lambda each: (each.check.number, each.check.part))
    lines = ["# First checks on a GPU", "", machine, "", "| check | part | outcome | s |", "|---|---|---|---|"]
    for each in outcomes:
        seconds = "" if each.seconds is None else f"{each.seconds:.0f}"
        lines.append(f"| {_title(each)} | {each.check.part} | {_cell(each.state)} | {seconds} |")
    ran = (each for each in outcomes if each.state != "not run")
    return "\n".join([*lines, *(line for each in ran for line in _section(each)), ""])


def _title(outcome: Outcome) -> str:
    return f"{outcome.check.number} {outcome.check.name}"


def _section(outcome: Outcome) -> list[str]:
    check = outcome.check
    lines = ["", f"## {_title(outcome)}: {outcome.state}", "", f"Expected: {check.expected}.", ""]
    lines += [f"- {'' if agrees else f'**{DIFFERS}** '}{sentence}" for agrees, sentence in outcome.found]
    if not all(agrees for agrees, _ in outcome.found):
        lines += ["", f"Fix: {check.fix}."]
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
