"""Compare the fields of a report's tables with the results: an independent computation from the JSON export.

A session's JSON compares each case with one baseline. Verdicts on other pairs are in the JSON of the same
session with other baselines (``benchtui export --baseline``), which is the argument ``others``. No JSON has a
verdict on some metrics, such as memory and energy: there, it has to agree with the interval beside it.
"""

import re
from collections.abc import Callable, Sequence

from .choices import check_choices, check_decision
from .columns import TITLES, check_rows
from .facts import OPTIONS, Facts, Row
from .pairs import check_leaderboard, check_option_pairs, check_options
from .reader import Part, Reader, Rows, parse_number, parse_report
from .recording import Recording, objections_to_results

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
    results: Row, report: str, others: Sequence[Row] = (), *, recording: Recording | None = None
) -> list[str]:
    """Return what is wrong with a report; empty if each field of its tables agrees with the results.

    With the recording, the results themselves have to follow from its steps.
    """
    unit = next(filter(None, (row["sample"] for row in results["cases"])), "sample")
    report = re.sub(rf"(\bper |/){unit}\b", r"\1sample", report)
    report = report.replace(f"{unit}s/", "samples/").replace(f"{unit.capitalize()}s/", "Samples/")
    facts = Facts(results, others, by_turns="of cases by turns" in report)
    reader = Reader(facts, list(parse_report(report)), recording)
    if recording:
        reader.objections += objections_to_results(recording, reader.facts.rows)
    for part in sorted(reader.parts, key=lambda part: part.section != "Choices"):  # which the others agree with
        if part.section not in WITHOUT_NUMBERS and (part.tables or part.section == "Decision"):
            reader.claim(part.section).require(len(part.tables) < 2, "parts of a wide table name other rows")
            rows = part.tables[0] if part.tables else []
            CHECKS.get(part.section, check_rows)(reader, part, rows)
    return reader.objections


def _check_results(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the results, whose equal columns are below the table, with their units after the value."""
    line = next((text for text in part.texts if text.startswith("All rows: ")), "")
    equal = re.findall(r"(?:^|, )([^,=]+?) = ((?:[^,=]|,\d)+?)(?=, [^,=]+ = |\.(?: |$))", line[10:])
    whole = {}
    for name, value in equal:
        number, _, unit = value.rpartition(" ")
        with_unit = TITLES.get(f"{name} ({unit})".lower())
        whole[with_unit or TITLES.get(name.lower(), name)] = number if with_unit else value
    check_rows(reader, part, [row | whole for row in rows])


def _check_parts(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the mean time and share of each part of a step."""
    for row in rows:
        case, claim = reader.case(row["Case"]), reader.claim(f"{part.section}, {row}")
        for title, shown in row.items():
            if match := re.fullmatch(r"(.+) \((ms|%)\)", title):
                mean = case["parts_ms"][match[1]]["mean"]
                value = mean if match[2] == "ms" else 100 * mean / case["latency_mean_ms"]
                claim.require_value(shown, value, title)


def _check_tried(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the gain of each remedy. The prediction is the profile's, which the results don't contain."""
    for row in rows:
        claim, base = reader.claim(f"{part.section}, {row}"), reader.case(row["Case"])
        options = dict(option.split("=", 1) for option in row["Remedy"].split(" "))
        names = (*OPTIONS, "batch_size")
        wanted = [options.get(name, str(base[name])) for name in names]
        tried = [case for case in reader.facts.measured if [str(case[name]) for name in names] == wanted]
        claim.require(len(tried) == 1, f"{len(tried)} cases have these options")
        if tried and row.get("Measured (×)"):
            pair = reader.facts.throughput(base, tried[0])
            claim.require_value(row["Measured (×)"], pair.value, "the gain")
            claim.require(row["Verdict"].partition(":")[0] == pair.verdict, f"the verdict is {pair.verdict}")
        bound, predicted = (parse_number(row[title] or "1") for title in ("At most (×)", "Predicted (×)"))
        claim.require(1 <= predicted <= max(bound, 1.0), "a prediction below 1 or above its bound")


CHECKS: dict[str, Callable[[Reader, Part, Rows], None]] = {
    "Decision": check_decision,
    "Other objectives": check_choices,
    "Choices": check_choices,
    "Results": _check_results,
    "What each option brings": check_options,
    "Leaderboard": check_leaderboard,
    "Pairs of options": check_option_pairs,
    "Step breakdown": _check_parts,
    "Tried": _check_tried,
}
"""Checks of sections; any other has a row for each case."""
