"""Check the tables about pairs of cases: options, gains, devices, and the leaderboard."""

import re
from math import ceil

from .cases import (
    DEFAULT_VALUES,
    OPTIONS,
    SPEED,
    Row,
    diverged,
    headline_rate,
    key,
    pair_applied_states,
    peak_mb,
    step_ms,
)
from .choices import possible_verdicts
from .reader import Claim, Reader
from .report_text import NUMBER, Part, Rows, parse_number

NAMES = {name.replace("_", " "): name for name in (*OPTIONS, "batch_size")} | {
    "compiling": "compile",
    "KV cache": "cache",
}
ADVICE = {"use it": "FASTER", "leave it": "SLOWER", "same": "SAME", "undecided": "UNSURE"}
ALWAYS_APPLIED = ("device", "machine", "batch_size")
Pairs = list[tuple[Row, Row]]


def check_options(reader: Reader, part: Part, rows: Rows) -> None:
    """Check a row for each value of an option: ratios, verdicts and advice over all its pairs."""
    for row in rows:
        claim = reader.claim(f"{part.section}, {row}")
        option = NAMES.get(row["Option"])
        if option is None:
            claim.require(False, "an unknown option")
            continue
        pairs = [pair for pair in _pairs(reader, option) if _matches(row, option, *pair)]
        claim.require_value(row["Pairs"], len(pairs), "number of pairs")
        if pairs:
            _check_effect(claim, row, option, pairs)


def _pairs(reader: Reader, option: str) -> Pairs:
    """Return the pairs of cases that differ in one option, the base first."""
    rows = [row for row in reader.facts.measured if row["samples_per_s"]]
    if option == "batch_size":
        series = {key(row, "batch_size"): reader.facts.series(row) for row in rows}
        several = [cases for cases in series.values() if len(cases) > 1]
        if len(several) == 1:
            return list(zip(several[0], several[0][1:], strict=False))
        return [(cases[0], row) for cases in several for row in cases[1:]]
    default = "cpu" if option == "device" else DEFAULT_VALUES.get(option)
    values = [row[option] for row in rows]
    base = default if default in values else next(iter(values), None)
    return [
        (one, other)
        for one in rows
        for other in rows
        if one[option] == base != other[option] and key(one, option) == key(other, option)
    ]


def _matches(row: dict[str, str], option: str, base: Row, new: Row) -> bool:
    where = " ".join(filter(None, (new["machine"], new["device"])))
    if option == "batch_size":
        is_value = _is_within(row["Value"], new[option]) and _is_within(row["Against"], base[option])
    else:
        is_value = str(new[option]) == row["Value"]
    return is_value and row.get("On", where) == where


def _is_within(shown: str, size: int) -> bool:
    """Return whether a batch size is the shown one, or one of a shown range such as ``2 to 16``."""
    sizes = [parse_number(text) for text in shown.split(" to ")]
    return sizes[0] <= size <= sizes[-1]


def _words(claim: Claim, option: str, base: Row, new: Row) -> set[str]:
    """Return the words that are true of a pair."""
    words = possible_verdicts(claim.facts.throughput(base, new))
    if option in ALWAYS_APPLIED:
        return words
    states = pair_applied_states(base, new, option)
    others = {False: "not applied", None: "REPORTED" if words == {"REPORTED"} else "not verified"}
    return (words if True in states else set()) | {others[state] for state in states if state is not True}


def _check_effect(claim: Claim, row: dict[str, str], option: str, pairs: Pairs) -> None:
    values = [claim.facts.throughput(*pair).value for pair in pairs]
    shown = re.findall(NUMBER, row["Throughput (×)"])
    claim.require_value(shown[0], min(values), "the least")
    claim.require_value(shown[-1], max(values), "the most")
    changes = re.findall(NUMBER, row["Time per sample (%)"])
    claim.require_value(changes[0], 100 / max(values) - 100, "the shortest time")
    claim.require_value(changes[-1], 100 / min(values) - 100, "the longest time")
    told = {word: int(parse_number(amount)) for amount, word in _tally(row["Verdicts"])}
    allowed = [_words(claim, option, *pair) for pair in pairs]
    claim.require(sum(told.values()) == len(pairs), "the words don't add up")
    for word in {*told, *(word for words in allowed for word in words)}:
        least, most = allowed.count({word}), sum(word in words for words in allowed)
        claim.require(least <= told.get(word, 0) <= most, f"{word} are {least} to {most}")
    _check_advice(claim, row, option, pairs, set(told))
    if steps := row.get("Pays off after (steps)"):
        _check_break_even(
            claim, steps, option, [pair for pair, word in zip(pairs, allowed, strict=True) if "FASTER" in word]
        )


def _tally(text: str) -> list[tuple[str, str]]:
    return [(amount, word) for amount, word in re.findall(r"([\d,]+) ([A-Za-z ]+?)(?=, \d| and \d|$)", text)]


def _check_advice(claim: Claim, row: dict[str, str], option: str, pairs: Pairs, told: set[str]) -> None:
    advice, lost = row.get("Advice"), any(diverged(claim.facts.session["task"], new) for _, new in pairs)
    if advice == "loss not finite":
        claim.require(lost, "no loss diverged")
        return
    if advice is None:
        return
    reported = advice.endswith(", as reported")
    word = "REPORTED" if reported else ADVICE.get(advice, "")
    claim.require(told == {word}, f"that needs all to be {word}, not {told}")
    direction = {"use it": "FASTER", "leave it": "SLOWER"}.get(advice.partition(",")[0], word)
    for (need, _), best in claim.reader.chosen.items():
        there = row.get("On") in (None, best["device"], f"{best['machine']} {best['device']}")
        used = there and str(best[option]) == row["Value"]
        claim.require(not used or direction in ("FASTER", "UNSURE"), f"{best['name']} is chosen for {need}")
        base = there and need in SPEED and any(one is best for one, _ in pairs)
        claim.require(not base or direction != "FASTER", f"{best['name']} is chosen for {need} without it")


def _check_break_even(claim: Claim, shown: str, option: str, faster: Pairs) -> None:
    saved = [(new["cold_cost_ms"], step_ms(base) - step_ms(new)) for base, new in faster]
    steps = [ceil(cold / gain) for cold, gain in saved if cold is not None and gain > 0]
    claim.require(option == "compile" and steps, "no pair is faster")
    if steps:
        ends = re.findall(NUMBER, shown)
        claim.require(min(steps) <= parse_number(ends[0]) * 1.01, f"the least is {min(steps)}")
        claim.require(parse_number(ends[-1]) <= max(steps) * 1.01, f"the most is {max(steps)}")


def check_leaderboard(reader: Reader, part: Part, rows: Rows) -> None:
    """Check ranks, changes against the baseline, and verdicts."""
    claim, task = reader.claim(part.title), reader.facts.session["task"]
    cases = [reader.case(row["Case"]) for row in rows]
    rates = [headline_rate(task, case) for case in cases]
    claim.require(rates == sorted(rates, reverse=True), "not by throughput")
    claim.require([row["Rank"] for row in rows] == [str(place) for place in range(1, len(cases) + 1)], "ranks")
    for row, case in zip(rows, cases, strict=True):
        own, base = reader.claim(f"{part.title}, {case['name']}"), reader.facts.base_of(case)
        own.require_value(row["Throughput (samples/s)"], case["samples_per_s"], "the throughput")
        if base is None or base is case:
            own.require(row.get("Verdict") == ("the baseline" if base else None), "the verdict")
            continue
        pair = reader.facts.throughput(base, case)
        own.require_value(row["Against the baseline (%)"], 100 * (pair.value - 1), "the change")
        own.require(row["Verdict"].partition(":")[0] == pair.verdict, f"the verdict is {pair.verdict}")
        ends = re.findall(NUMBER, row.get("95% interval (%)", ""))
        if pair.low is not None and pair.high is not None and ends:
            own.require_value(ends[0], 100 * (pair.low - 1), "the lower bound")
            own.require_value(ends[-1], 100 * (pair.high - 1), "the upper bound")
        if change := row.get("Memory against the baseline (%)"):
            own.require_value(change, 100 * ((peak_mb(case) or 0.0) / (peak_mb(base) or 1.0) - 1), "the memory")


def check_option_pairs(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the ratios of each case to the one that differs only in an option."""
    if part.title == part.section:
        return
    option = NAMES[part.title.lower()]
    pairs = {new["case"]: (base, new) for base, new in _pairs(reader, option)}
    for row in rows:
        claim, case = reader.claim(f"{part.section}, {part.title}, {row}"), reader.case(row["Case"])
        if case["case"] not in pairs:
            claim.require(not case["samples_per_s"], "it has no pair")
            continue
        base, new = pairs[case["case"]]
        latency = reader.facts.latency(base, new)
        claim.require(row["Against"] == str(base[option]), f"the base has {base[option]}")
        claim.require_value(row["Throughput (×)"], reader.facts.throughput(base, new).value, "throughput")
        claim.require_value(row["Step (×)"], latency.value, "the step")
        word = row.get("Verdict", "").partition(":")[0]
        claim.require(not word or word in possible_verdicts(latency), f"the verdict is {latency.verdict}")
        if (applied := row.get("Applied")) is not None:
            states = {
                {True: "yes", False: "no", None: "not verified"}[each]
                for each in pair_applied_states(base, new, option)
            }
            claim.require(applied in states, f"it is {states}")
        if "Cold cost (s)" in row:
            claim.require_value(row["Cold cost (s)"], (new["cold_cost_ms"] or 0.0) / 1000, "the cost")
