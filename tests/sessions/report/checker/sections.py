"""Compare the fields of a report's tables with the results: an independent computation from the JSON export.

A session's JSON compares each case with one baseline. Verdicts on other pairs are in the JSON of the same
session with other baselines (``benchtui export --baseline``), which is the argument ``others``. No JSON has a
verdict on some metrics, such as memory and energy. Only what follows from the metrics is checked there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from .cases import OPTIONS, SAME_WITHIN, Row
from .choices import check_choices, check_decision, check_others
from .columns import BY_CASE, COLUMNS, Cell, check_of
from .facts import Facts
from .pairs import check_leaderboard, check_option_pairs, check_options
from .reader import Reader
from .recording import Recording, objections_to_results
from .report_text import Part, Rows, parse_number, parse_report

WITHOUT_NUMBERS = (
    "Method",
    "System information",
    "Warnings",
    "Out of memory",
    "Anomalies",
    "Where a step's time goes",
)
"""Sections whose tables quote facts that no JSON has."""


def objections(
    results: Row,
    report: str,
    others: Sequence[Row] = (),
    *,
    same_within: float = SAME_WITHIN,
    recording: Recording | None = None,
) -> list[str]:
    """Return what is wrong with a report; empty if each field of its tables agrees with the results.

    With the recording, the results themselves have to follow from its steps.
    """
    reader = Reader(Facts(results, others, same_within), list(parse_report(report)), recording)
    if recording:
        reader.objections += objections_to_results(recording, reader.facts.rows)
    for part in sorted(reader.parts, key=lambda part: part.section != "Choices"):  # which the others agree with
        if part.tables or part.section == "Decision":
            _check_part(reader, part)
    return reader.objections


def _check_part(reader: Reader, part: Part) -> None:
    section = part.section
    if section in WITHOUT_NUMBERS:
        return
    reader.claim(section).require(len(part.tables) < 2, "the parts of a wide table name other rows")
    rows = part.tables[0] if part.tables else []
    if section in CHECKS:
        CHECKS[section](reader, part, rows)
    elif section in BY_CASE:
        _check_rows(reader, part, rows)
    else:
        reader.objections.append(f"{section}: a table that no check knows")


def _check_rows(reader: Reader, part: Part, rows: Rows) -> None:
    """Check rows that begin with the number of their case, or its name."""
    for row in rows:
        claim = reader.claim(f"{part.section}, {row}")
        numbered = [case for case in reader.facts.rows if str(case["case"] + 1) == row.get("No.")]
        case = numbered[0] if numbered else reader.case(row.get("Case", f"number {row.get('No.')}"))
        claim.require("Case" not in row or reader.case(row["Case"]) is case, "the number is another case's")
        for title, shown in row.items():
            if check := check_of(part.section, title):
                check(claim, Cell(reader.facts, case, reader.recording), shown)
            else:
                claim.require(False, f"unknown column: {title}")


def _check_results(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the results, whose equal columns are in the line below the table."""
    line = next((text for text in part.texts if text.startswith("All rows: ")), "")
    equal = re.findall(r"(?:^|, )([^,=]+?) = ((?:[^,=]|,\d)+?)(?=, [^,=]+ = |\.(?: |$))", line[10:])
    titles = {title.lower(): title for title in COLUMNS}
    same = dict(_with_title(titles, name, value) for name, value in equal)
    _check_rows(reader, part, [row | same for row in rows])


def _with_title(titles: Mapping[str, str], name: str, value: str) -> tuple[str, str]:
    """Return the title of a column that is equal in all rows, whose unit follows the value, and the value."""
    number, _, unit = value.rpartition(" ")
    title = f"{name} ({unit})".lower()
    return (titles[title], number) if title in titles else (titles.get(name.lower(), name), value)


def _check_parts(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the mean time and share of each part of a step."""
    for row in rows:
        case, claim = reader.case(row["Case"]), reader.claim(f"{part.section}, {row}")
        for title, shown in row.items():
            if match := re.fullmatch(r"(.+) \((ms|%)\)", title):
                mean = case["parts_ms"][match[1]]["mean"]
                value = mean if match[2] == "ms" else 100 * mean / case["latency_mean_ms"]
                claim.require_value(shown, value, title)
        for name, spread in case["parts_ms"].items() if reader.recording else ():
            times = reader.recording.column(case["case"], f"part_{name}_ms") if reader.recording else []
            claim.require(abs(spread["mean"] / fmean(times) - 1) < 1e-6, f"{name} is {fmean(times)}")


def _check_tried(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the gain of each remedy. The prediction is the profile's, which the results don't contain."""
    for row in rows:
        claim, base = reader.claim(f"{part.section}, {row}"), reader.case(row["Case"])
        options = dict(option.split("=", 1) for option in row["Remedy"].split(" "))
        names = (*OPTIONS, "batch_size", "sequence_length")
        wanted = {name: options.get(name, str(base[name])) for name in names}
        tried = [
            case
            for case in reader.facts.measured
            if all(str(case[name]) == value for name, value in wanted.items())
        ]
        claim.require(len(tried) == 1, f"{len(tried)} cases have these options")
        if tried and row["Measured (×)"]:
            pair = reader.facts.throughput(base, tried[0])
            claim.require_value(row["Measured (×)"], pair.value, "the gain")
            verdict = row["Verdict"].partition(":")[0]
            claim.require(verdict == pair.verdict, f"the verdict is {pair.verdict}")
        claim.require(parse_number(row["Predicted at most (×)"] or "1") >= 1, "a bound below 1")


CHECKS: dict[str, Callable[[Reader, Part, Rows], None]] = {
    "Decision": check_decision,
    "Other objectives": check_others,
    "Choices": check_choices,
    "Results": _check_results,
    "What each option brings": check_options,
    "Leaderboard": check_leaderboard,
    "Pairs of options": check_option_pairs,
    "Step breakdown": _check_parts,
    "Tried": _check_tried,
}
