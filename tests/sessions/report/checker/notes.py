"""Check the head, the notes and the noise floor."""

import re
from math import log

from .cases import (
    MAX_MARGIN,
    UNEVEN_RATIO,
    VERIFIED,
    Groups,
    Row,
    applied_states,
    diverged,
    mark_kind,
    named_option,
    step_ms,
    typical,
)
from .claims import Claim, Reader, shapes
from .report_text import NUMBER, Part, parse_number, split_list
from .summary import check_counts

SIMULATED = "SIMULATED"
"""Lead of the note of a simulated session, and mark of all its cases."""
PINNING = ("classify", "embed", "generate", "image", "lm-forward", "lm-train", "speech")
"""Tasks that copy through pinned memory in throughput mode on a GPU."""


def check_caveats(reader: Reader, part: Part) -> None:
    for item in part.items:
        _check_note(reader.claim(f"the caveat {item.lead!r}", item.text), item.lead)


def check_head(reader: Reader, part: Part) -> None:
    imported = any(item.lead == "Imported from" for each in reader.parts for item in each.items)
    for item in part.items:
        claim = reader.claim("the head", item.text)
        if imported:
            day = str(claim.facts.session["created"])[:10]
            claim.require(f"Measured on {day}" not in item.text, "that was the import")


def _check_note(claim: Claim, lead: str) -> None:
    marks = {mark_kind(mark) for row in claim.facts.rows for mark in row["marks"]}
    mark = next((each for each in marks if each[:1].upper() + each[1:] == lead), None)
    simulated = claim.facts.session.get("simulated")
    if lead == SIMULATED:
        claim.require(f"{lead}: {claim.text}" == f"{simulated}.", f"the session: {simulated}")
    elif mark is not None:
        _check_mark_count(claim, mark)
    elif lead in NOTES:
        known = NOTES[lead]
        whole = [each for each in known if each[0].fullmatch(claim.text)]
        claim.require(whole, "unknown words")
        if whole:
            claim.check_clause(claim.text, whole, lead)
    else:
        claim.require(lead in FACTS_IN_NOTES, "unknown note")


def _check_session_note(claim: Claim, shown: Groups, _: str) -> None:
    if "n" in shown:
        check_counts(claim, shown)


def _check_mark_count(claim: Claim, name: str) -> None:
    """Check how many cases have a mark."""
    bearing = sum(name in map(mark_kind, row["marks"]) for row in claim.facts.rows)
    text = claim.text.replace("both cases", "all 2 cases")
    match = re.search(rf"(?:all ({NUMBER}) cases?|({NUMBER}) of ({NUMBER}) cases?|the only case)", text)
    if match is None:
        claim.add_objection("no number of cases")
        return
    claim.require_value(match[1] or match[2] or "1", bearing, "number of cases that bear it")
    of = parse_number(match[1] or match[3] or "1")
    claim.require(max(len(claim.facts.ok), bearing) <= of <= len(claim.facts.rows), "number of cases that ran")
    if used := re.search(rf"up to ({NUMBER}) CPU cores", claim.text):
        marks = [
            re.search(r"other processes used (\d+)%", mark) for row in claim.facts.rows for mark in row["marks"]
        ]
        most = [float(mark[1]) for mark in marks if mark]
        claim.require_value(
            used[1], max(most + [row["others_cpu_percent"] or 0.0 for row in claim.facts.rows]) / 100, "it"
        )


def _check_unverified_counts(claim: Claim, shown: Groups, lead: str) -> None:
    """Check in how many cases options weren't applied, or weren't verified."""
    state = {"Not verified": None, "Not applied": False}[lead]
    for each in split_list(shown["values"]):
        match = re.fullmatch(rf"(.+) in ({NUMBER}) cases?", each)
        if match is None:
            claim.add_objection(f"unknown words: {each!r}")
            continue
        rows = [
            (row, option)
            for option in VERIFIED
            for row in claim.facts.measured
            if named_option(row, option) == match[1]
        ]
        found = [applied_states(*row) for row in rows]
        if re.fullmatch(r"\d+ (?:tokenizer )?threads?", match[1]):
            continue  # the JSON of a case with a label lacks them
        least, most = found.count({state}), sum(state in states for states in found)
        claim.require(least <= parse_number(match[2]) <= most, f"{least} to {most}")


def _check_uneven(claim: Claim, shown: Groups, _: str) -> None:
    found = [row for row in claim.facts.measured if row["latency_mean_ms"] > UNEVEN_RATIO * step_ms(row)]
    _check_named(claim, shown, found)


def _check_diverged(claim: Claim, shown: Groups, _: str) -> None:
    task = claim.facts.session["task"]
    _check_named(claim, shown, [row for row in claim.facts.measured if diverged(task, row)])


def _check_unanswered(claim: Claim, shown: Groups, _: str) -> None:
    rows = claim.facts.measured
    claim.require(not any(row["answer"] for row in rows), "an answer was compared")
    claim.require(any(row["answer_absent"] == shown["why"] for row in rows), "another reason")


def _check_named(claim: Claim, shown: Groups, found: list[Row]) -> None:
    """Check a count of cases, and that those named are among them."""
    claim.require_value(shown["k"] or "1", len(found), "number of such cases")
    named = [claim.row(number) for number in re.findall(r"⟦(\d+)⟧", shown["such"])]
    claim.require(named and all(row in found for row in named), "another case is named")


def check_method(reader: Reader, part: Part) -> None:
    for item in part.items:
        if item.lead == "Noise floor":
            claim = reader.claim("Method, Noise floor", item.text)
            claim.check_clause(claim.text, NOISE_FLOOR)
        elif item.lead == "Timing" and "synchronized" in item.text:
            _check_pinned(reader.claim("Method, Timing", item.text))
        elif item.lead == "Memory":
            _check_reserved(reader.claim("Method, Memory", item.text))


def _check_pinned(claim: Claim) -> None:
    task, rows = claim.facts.session["task"], claim.facts.rows
    pins = claim.text.startswith("throughput mode") and task in PINNING
    pins = pins and any(row["device"] != "cpu" and row["n"] for row in rows)
    claim.require(("pinned memory" in claim.text) == pins, f"pinned memory: {pins}")


def _check_reserved(claim: Claim) -> None:
    known = any(row["peak_reserved_mb"] is not None and row["n"] for row in claim.facts.rows)
    claim.require(("reserved memory includes" in claim.text) == known, f"reserved memory is known: {known}")


def _check_noise_floor(claim: Claim, shown: Groups) -> None:
    first, again = claim.facts.aa_pair() or ({}, {})
    change = typical(again) / typical(first) - 1
    claim.require(int(shown["case"]) == first["case"], "another case was measured twice")
    claim.require_value(shown["change"], 100 * change, "the change")
    claim.require(shown["word"] != "same" or abs(change) <= MAX_MARGIN, "that isn't the same")
    kinds = (None, first["device"].partition(":")[0]) if shown["kind"] else (None,)
    claim.require(shown["kind"] in kinds, "it was measured on another device")
    rows = claim.facts.measured
    for base in (row for row in rows if shown["kind"] in (None, row["device"].partition(":")[0])):
        for new in rows:
            pair = claim.facts.throughput(base, new)
            smaller = abs(log(pair.value)) < abs(log(1 + change))
            counts = smaller and pair.verdict in ("faster", "slower")
            claim.require(not counts, f"{new['name']} against {base['name']} is {pair.verdict}")


NOISE_FLOOR = shapes(
    (
        _check_noise_floor,
        "{case:case} measured twice: typical steps {change:num} % apart ({word:inside}); "
        "no smaller difference counts[ on {kind:word}]",
    )
)
_MEASURED = "{n:num} of {m:num}[ planned] case[s] measured."
_SUCH = "[{k:num} case[s], such as ]{such:cases}"
NOTES = {
    "Incomplete": shapes(
        (_check_session_note, "the record ends after {s:num} s without the session's end; " + _MEASURED)
    ),
    "Interrupted": shapes((_check_session_note, "the session didn't complete[: {why:text}]; " + _MEASURED)),
    "Failed": shapes((_check_session_note, "the session didn't complete[: {why:text}]; " + _MEASURED)),
    "Incomplete line": shapes(
        (_check_session_note, "the last line of the file was incomplete and has been dropped.")
    ),
    "Not verified": shapes((_check_unverified_counts, "{values:text}; whether it was applied isn't recorded.")),
    "Not applied": shapes((_check_unverified_counts, "{values:text}, though it was requested.")),
    "Slow outliers": shapes(
        (
            _check_uneven,
            f"a few slow steps dominate {_SUCH} (mean over 1.25 × the median)[; throughput includes them].",
        )
    ),
    "No answers": shapes(
        (
            _check_unanswered,
            "no case's output could be compared with the baseline's, so no speed-up is known to keep it:"
            " {why:text}.",
        )
    ),
    "Diverged": shapes(
        (_check_diverged, f"{_SUCH}; the loss isn't finite, and such a case isn't recommended.")
    ),
}
FACTS_IN_NOTES = ("Resumed on a different machine", "Different nodes", "Random weights")
"""Notes on facts that the results don't contain."""
