"""Check the sentences before tables, and the rows of the leaderboard and the roofline table."""

import re
from collections import Counter
from dataclasses import replace

from .cases import (
    BOUNDS,
    OUTCOMES,
    Groups,
    Row,
    comparable_memory,
    disturbed,
    headline_rate,
    key,
    matches_title,
    peak_mb,
)
from .claims import Claim, Reader, shapes
from .needs import check_missing_baseline
from .report_text import NUMBER, Part, parse_number, split_list


def check_series_lead(reader: Reader, part: Part) -> None:
    for item in part.items:
        reader.claim(f"{part.section}, {part.title}", item.text).check_sentences(SERIES_LEADS, part)


def _check_unmeasured(claim: Claim, shown: Groups, part: Part) -> None:
    """Check ``Not measured: batch size 4 (out of memory), 8 (skipped)``."""
    for size, outcome in re.findall(rf"({NUMBER}) \(([^()]+)\)", shown["sizes"]):
        rows = [
            row
            for row in claim.facts.rows
            if row["batch_size"] == parse_number(size) and matches_title(row, part.title)
        ]
        words = {OUTCOMES.get(row["outcome"], row["outcome"]) for row in rows}
        waiting = outcome == "unfinished" and "not started" in words
        claim.require(outcome in words or waiting, f"batch size {size} is {words}")


def _check_scaling(claim: Claim, shown: Groups, part: Part) -> None:
    """Check ``Batch size 1 to 8: 1.87 × the throughput, …``."""
    sizes = [parse_number(row["Batch size"]) for row in part.rows]
    every = {
        key(row, "batch_size"): claim.facts.series(row)
        for row in claim.facts.measured
        if matches_title(row, part.title)
    }
    found = [rows for rows in every.values() if [row["batch_size"] for row in rows] == sizes]
    claim.require(len(found) == 1, f"{len(found)} series are called so")
    first, last = found[0][0], found[0][-1]
    grown = last["samples_per_s"] / first["samples_per_s"]
    highest = max(found[0], key=lambda row: row["samples_per_s"])
    claim.require_value(shown["first"], first["batch_size"], "the first batch size")
    claim.require_value(shown["last"], last["batch_size"], "the last batch size")
    claim.require_value(shown["times"], grown, "the throughput")
    claim.require_value(
        shown["each"], grown * first["batch_size"] / last["batch_size"], "the throughput per item"
    )
    claim.require_value(shown["peak"], highest["batch_size"], "the batch size of highest throughput")


def check_gains(reader: Reader, part: Part) -> None:
    for item in part.items:
        reader.claim(f"{part.section}, {part.title}", item.lead or item.text).check_clause(
            item.lead or item.text, GAINS, part
        )


def _check_rows_not_applied(claim: Claim, shown: Groups, part: Part) -> None:
    _check_rows(claim, shown, part, "no")


def _check_rows_not_verified(claim: Claim, shown: Groups, part: Part) -> None:
    _check_rows(claim, shown, part, "not verified")


def _check_rows(claim: Claim, shown: Groups, part: Part, applied: str) -> None:
    """Check in which rows of a table an option wasn't applied or verified."""
    sizes = [row["Batch size"] for row in part.rows if row["Applied"] == applied]
    claim.require_value(shown["n"], len(sizes), f"number of rows with {applied!r} under Applied")
    claim.require(shown["sizes"].split(", ") == sizes, f"the batch sizes are {sizes}")


def check_leaderboard(reader: Reader, part: Part) -> None:
    claim = reader.claim(f"{part.section}, {part.title}", " ".join(item.text for item in part.items))
    tokens = re.fullmatch(rf"Ranked, ({NUMBER}) tokens", part.title)
    length = int(parse_number(tokens[1])) if tokens else None
    rated = [row for row in claim.facts.of_length(length) if row["samples_per_s"]]
    claim.check_clause(claim.text, LEADERBOARD, length)
    ranked = [reader.case(row["Case"]) for row in part.rows]
    claim.require(
        sorted(row["case"] for row in ranked) == [row["case"] for row in rated], "not the measured cases"
    )
    claim.require([row["Rank"] for row in part.rows] == [str(n + 1) for n in range(len(ranked))], "the ranks")
    rates = [headline_rate(claim.facts.session["task"], row) for row in ranked]
    claim.require(rates == sorted(rates, reverse=True), "not by throughput")
    for case, row in zip(ranked, part.rows, strict=True):
        _check_rank(replace(claim, text=str(row)), case, row)


def _check_compared_with(claim: Claim, shown: Groups, length: int | None) -> None:
    claim.base = claim.row(shown["base"])
    claim.require_value(shown["rate"], claim.base["samples_per_s"], "the baseline's throughput")
    claim.require(claim.base["sequence_length"] == length, "the baseline has another sequence length")


def _check_compared_with_none(claim: Claim, shown: Groups, length: int | None) -> None:
    check_missing_baseline(claim, shown["why"], length)


def _check_rank(claim: Claim, case: Row, row: dict[str, str]) -> None:
    """Check a row of the leaderboard."""
    claim.require_value(row["Throughput (samples/s)"], case["samples_per_s"], "the throughput")
    if "Memory against the baseline (%)" in row:
        _check_memory_change(claim, case, row["Memory against the baseline (%)"])
    claim.require(case["baseline"] == claim.base.get("case"), f"its baseline is case {case['baseline']}")
    if case is claim.base or not claim.base:
        claim.require(row.get("Verdict") == ("the baseline" if claim.base else None), "the verdict")
        return
    pair = claim.facts.throughput(claim.base, case)
    claim.require_value(row["Against the baseline (%)"], 100 * (pair.value - 1), "the change")
    claim.require(row["Verdict"].partition(":")[0] == pair.verdict, f"the verdict is {pair.verdict}")
    ends = [100 * (end - 1) for end in (pair.low, pair.high) if end is not None]
    shown = re.findall(NUMBER, row.get("95% interval (%)", ""))
    claim.require(bool(shown) == bool(ends), "the interval")
    for text, end in zip((shown[0], shown[-1]) if shown else (), ends, strict=True):
        claim.require_value(text, end, "a bound")


def _check_memory_change(claim: Claim, case: Row, shown: str) -> None:
    """Check the change of peak memory, which the baseline and another kind of memory don't have."""
    peaks = (peak_mb(case), peak_mb(claim.base)) if claim.base else (None, None)
    known = case is not claim.base and all(peaks) and comparable_memory(case, claim.base)
    claim.require_value(shown, 100 * (peaks[0] / peaks[1] - 1) if known else None, "the change of memory")


def check_disturbed(reader: Reader, part: Part) -> None:
    rows = [row["name"] for row in reader.facts.rows if disturbed(row)]
    shown = [row["Case"] for row in part.rows]
    reader.claim(part.section, str(shown)).require(shown == rows, f"disturbed are {rows}")


HOW_CLOSE = "How close each case comes to the device's measured peaks, and what limits it."
SHARE, BANDWIDTH = "Share of the measured peak (%)", "Share of the measured bandwidth, upper bound (%)"


def check_roofline(reader: Reader, part: Part) -> None:
    for item in part.items:
        if not item.lead and item.text != HOW_CLOSE:
            reader.claim("Limits", item.text).check_sentences(LIMITS, part)
    for row in part.rows:
        _check_shares(reader.claim("Limits", str(row)), reader.case(row["Case"]), row)


def _check_shares(claim: Claim, case: Row, row: dict[str, str]) -> None:
    """Check that no share exceeds 100 %, and that each follows from the other cells."""
    for title in (SHARE, BANDWIDTH, "Device busy (%)"):
        shown = row.get(title, "0")
        claim.require(
            (title, shown) == (BANDWIDTH, "> 100") or parse_number(shown) <= 100, f"{title} above 100"
        )
    step = case["device_p50_ms"] or case["latency_p50_ms"] or case["latency_mean_ms"]
    if "GFLOP/s" in row:
        rate = parse_number(row["GFLOP/step"]) / step * 1000
        claim.require(abs(parse_number(row["GFLOP/s"]) / rate - 1) < 0.02, f"{rate} GFLOP/s")
    if SHARE in row:
        share = 100 * parse_number(row["GFLOP/s"]) / parse_number(row["Peak (GFLOP/s)"])
        claim.require(abs(parse_number(row[SHARE]) - share) < 0.06 + 0.02 * share, f"{share} % of the peak")


def _check_bound_counts(claim: Claim, shown: Groups, part: Part) -> None:
    """Check ``Arithmetic limits 2 of 4 cases and the host limits 1 of 4 cases``."""
    told: dict[str, int] = {}
    for each in split_list(shown["limits"]):
        match = re.fullmatch(rf"(.+) limits ({NUMBER}) of ({NUMBER}) cases?", each)
        if match is None or match[1].lower() not in BOUNDS:
            claim.add_objection(f"unknown words: {each!r}")
            continue
        told[BOUNDS[match[1].lower()]] = int(parse_number(match[2]))
        claim.require_value(match[3], len(part.rows), "number of cases")
    held = Counter(row["Limited by"] for row in part.rows if "Limited by" in row)
    claim.require(told == held, f"the table says {dict(held)}")


def _check_nearest(claim: Claim, shown: Groups, part: Part) -> None:
    shares = {
        claim.reader.case(row["Case"])["case"]: parse_number(row[SHARE]) for row in part.rows if SHARE in row
    }
    most = max(shares.values())
    claim.require(shares.get(int(shown["case"])) == most, f"the most is {most}")
    claim.require(parse_number(shown["share"]) == most, f"the most is {most}")


def _check_unsound_peaks(claim: Claim, shown: Groups, part: Part) -> None:
    """Check that no share of an unsound peak is shown. Peaks of a thread count aren't told apart here."""
    title = {"the measured peak": SHARE, "the measured bandwidth": BANDWIDTH}[shown["what"]]
    for device, precision in re.findall(r"(cpu|cuda:\d+) (\w+)(?!, \d)", shown["peaks"]):
        for row in part.rows:
            case = claim.reader.case(row["Case"])
            held = case["device"], case["precision"].removeprefix("amp-"), case["threads"]
            claim.require(held != (device, precision, 0) or title not in row, f"{row['Case']} has one")


SERIES_LEADS = shapes(
    (_check_unmeasured, "Not measured: batch size {sizes:text}"),
    (
        _check_scaling,
        "Batch size {first:num} to {last:num}: {times:num} × the throughput, {each:num} × the throughput per "
        "item; highest throughput at batch size {peak:num}",
    ),
)
LEADERBOARD = shapes(
    (
        _check_compared_with,
        "Against {base:case}, {rate:num} samples/s; ratios are of typical steps, per sample.",
    ),
    (_check_compared_with_none, "{why:text}."),
)
LIMITS = shapes(
    (_check_nearest, "The highest share of the measured peak FLOP/s is {share:num} % ({case:case})"),
    (
        _check_unsound_peaks,
        "No share of {what:peaks} is given for {peaks:text}: a case exceeded it, so it was measured too low",
    ),
    (_check_bound_counts, "{limits:text}"),
)
_IN_ROWS = "in {n:num} row[s] (batch size {sizes:sizes})"
GAINS = shapes(
    (
        _check_rows_not_applied,
        f"{{word:word}} was not applied {_IN_ROWS}: the difference there has a different cause.",
    ),
    (
        _check_rows_not_verified,
        f"{{word:word}} couldn't be verified {_IN_ROWS}: no gain there can be attributed to it.",
    ),
)
