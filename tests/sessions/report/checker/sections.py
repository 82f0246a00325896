"""Compare the fields of a report's tables with the results: an independent computation from the JSON export.

A session's JSON compares each case with one baseline. Verdicts on other pairs are in the JSON of the same
session with other baselines (``benchtui export --baseline``), which is the argument ``others``. No JSON has a
verdict on some metrics, such as memory and energy. Only what follows from the metrics is checked there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

from .cases import OPTIONS, SAME_WITHIN, Row, disturbed
from .choices import check_choices, check_decision, check_others
from .columns import BY_CASE, COLUMNS, Cell, check_of
from .facts import Facts
from .pairs import check_leaderboard, check_option_pairs, check_options
from .reader import Reader
from .recording import Recording, objections_to_results
from .report_text import Part, parse_number, parse_report

KEYS = {name.replace("_", " ").capitalize(): name for name in (*OPTIONS, "batch_size")} | {
    "Tokens": "sequence_length"
}
"""Columns that name a case by its options."""
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
    reader = Reader(Facts(results, others, same_within), parse_report(report), recording)
    if recording:
        reader.objections += objections_to_results(recording, reader.facts.rows)
    for part in sorted(reader.parts, key=lambda part: part.section != "Choices"):  # which the others agree with
        if part.tables or part.section == "Decision":
            _check_part(reader, part)
    return reader.objections


def _check_part(reader: Reader, part: Part) -> None:
    section = part.section
    if section not in WITHOUT_NUMBERS:
        first = [[next(iter(row.items()), None) for row in table] for table in part.tables]
        same = all(column == first[0] for column in first)
        reader.claim(section).require(same, "the parts of a wide table name other rows")
    if section in CHECKS:
        CHECKS[section](reader, part)
    elif section in BY_CASE:
        _check_rows(reader, part, lambda row: reader.case(row["Case"]), ("Case",))
    elif section not in WITHOUT_NUMBERS:
        reader.objections.append(f"{section}: a table that no check knows")


Find = Callable[[dict[str, str]], Row | None]


def _check_rows(reader: Reader, part: Part, find: Find, keys: Sequence[str]) -> None:
    for row in part.rows:
        case, claim = find(row), reader.claim(f"{part.section}, {row}")
        for title, shown in row.items():
            check = check_of(part.section, title)
            if check and case:
                check(claim, Cell(reader.facts, case, reader.recording), shown)
            else:
                claim.require(title in keys, f"unknown column: {title}")


def _only(reader: Reader, part: Part, cases: Sequence[Row], row: dict[str, str]) -> Row | None:
    if len(cases) != 1:
        reader.objections.append(f"{part.section}, {part.title}: {len(cases)} cases for {row}")
        return None
    return cases[0]


def _check_results(reader: Reader, part: Part) -> None:
    """Check the results, whose equal columns are in the line below the table."""
    line = next((item.text for item in part.items if item.text.startswith("All rows: ")), "")
    equal = dict(re.findall(r"(?:^|, )([^,=]+?) = ((?:[^,=]|,\d)+?)(?=, [^,=]+ = |\.(?: |$))", line[10:]))
    titles = {title.lower(): title for title in (*KEYS, *COLUMNS)}
    for row in part.rows:
        whole = row | dict(_with_title(titles, name, value) for name, value in equal.items())
        options = {KEYS[title]: cell for title, cell in whole.items() if title in KEYS}
        find = partial(_by_options, reader, part, options)
        _check_rows(reader, Part("Results", "Results", [], [[whole]]), find, ("Case", *KEYS))


def _with_title(titles: Mapping[str, str], name: str, value: str) -> tuple[str, str]:
    """Return the title of a column that is equal in all rows, whose unit follows the value, and the value."""
    number, _, unit = value.rpartition(" ")
    title = f"{name} ({unit})".lower()
    return (titles[title], number) if title in titles else (titles.get(name.lower(), name), value)


def _by_options(reader: Reader, part: Part, options: dict[str, str], row: dict[str, str]) -> Row | None:
    if "Case" in row:
        return reader.case(row["Case"])
    cases = [
        case
        for case in reader.facts.measured
        if all(
            (f"{case[name]:,}" if isinstance(case[name], int) else str(case[name])) == cell
            for name, cell in options.items()
        )
    ]
    return _only(reader, part, cases, row)


def _check_parts(reader: Reader, part: Part) -> None:
    """Check the mean time and share of each part of a step."""
    for row in part.rows:
        case, claim = reader.case(row["Case"]), reader.claim(f"{part.section}, {row}")
        for title, shown in row.items():
            if match := re.fullmatch(r"(.+) \((ms|%)\)", title):
                mean = case["parts_ms"][match[1]]["mean"]
                value = mean if match[2] == "ms" else 100 * mean / case["latency_mean_ms"]
                claim.require_value(shown, value, title)
        for name, spread in case["parts_ms"].items() if reader.recording else ():
            times = reader.recording.column(case["case"], f"part_{name}_ms") if reader.recording else []
            claim.require(abs(spread["mean"] / fmean(times) - 1) < 1e-6, f"{name} is {fmean(times)}")


def _check_disturbed(reader: Reader, part: Part) -> None:
    rows = [row["name"] for row in reader.facts.rows if disturbed(row)]
    reader.claim(part.section).require([row["Case"] for row in part.rows] == rows, f"disturbed are {rows}")


def _check_tried(reader: Reader, part: Part) -> None:
    """Check the gain of each remedy. The prediction is the profile's, which the results don't contain."""
    for row in part.rows:
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


CHECKS: dict[str, Callable[[Reader, Part], None]] = {
    "Decision": check_decision,
    "Other objectives": check_others,
    "Choices": check_choices,
    "Results": _check_results,
    "What each option brings": check_options,
    "Leaderboard": check_leaderboard,
    "Pairs of options": check_option_pairs,
    "Step breakdown": _check_parts,
    "Tried": _check_tried,
    "Disturbed cases": _check_disturbed,
}
