"""Check the tables about pairs of cases: options, gains, devices, and the leaderboard."""

import re
from math import ceil

from benchtui.sessions.sweep.options import BY_NAME

from .columns import check_rows
from .facts import OPTIONS, SPEED, Row, diverged, headline_rate, key, pair_applied_states, step_ms
from .reader import NUMBER, Claim, Part, Reader, Rows, parse_number, rounds_to

NAMES = {name.replace("_", " "): name for name in (*OPTIONS, "batch_size")} | {
    "compiling": "compile",
    "KV cache": "cache",
}
ADVICE = {"use it": "FASTER", "leave it": "SLOWER", "same": "SAME", "undecided": "UNSURE"}
APPLIED = {True: "yes", False: "no", None: "not verified"}
ALWAYS_APPLIED = ("device", "machine", "batch_size")
Pairs = list[tuple[Row, Row]]


def check_options(reader: Reader, part: Part, rows: Rows) -> None:
    """Check a row for each value of an option: ratios, verdicts and advice over all its pairs."""
    for row in rows:
        claim = reader.claim(f"{part.section}, {row}")
        option = NAMES.get(row["Option"], "")
        pairs = [pair for pair in _pairs(reader, option) if _matches(row, option, *pair)] if option else []
        claim.require(pairs, "an unknown option, or no pair of cases")
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
    default = "cpu" if option == "device" else BY_NAME[option].default
    values = [row[option] for row in rows]
    base = default if default in values else next(iter(values), None)
    pairs = [(one, other) for one in rows for other in rows if one[option] == base != other[option]]
    alike = [pair for pair in pairs if key(pair[0], option) == key(pair[1], option)]
    if option == "backend":
        alike += [
            (one, other)
            for one, other in pairs
            if (one["backend"], one["compile"], other["compile"]) == ("torch", "default", "off")
            and key(one, option, "compile") == key(other, option, "compile")
        ]
    return alike


def _matches(row: dict[str, str], option: str, base: Row, new: Row) -> bool:
    where = " ".join(filter(None, (new["machine"], new["device"])))
    if option == "batch_size":
        is_value = _is_within(row["Value"], new[option]) and _is_within(row["Against"], base[option])
    else:
        is_value = str(new[option]) == row["Value"]
        if option != "compile":
            is_value &= row["Against"].endswith(", compiled") == (base["compile"] != new["compile"])
    return is_value and row.get("On", where) == where


def _is_within(shown: str, size: int) -> bool:
    """Return whether a batch size is the shown one, or one of a shown range such as ``2 to 16``."""
    sizes = [parse_number(text) for text in shown.split(" to ")]
    return sizes[0] <= size <= sizes[-1]


def _words(claim: Claim, option: str, base: Row, new: Row) -> set[str]:
    """Return the words that are true of a pair."""
    words = claim.facts.throughput(base, new).words
    if option in ALWAYS_APPLIED:
        return words
    states = pair_applied_states(base, new, option)
    others = {False: "not applied", None: "REPORTED" if words == {"REPORTED"} else "not verified"}
    return (words if True in states else set()) | {others[state] for state in states if state is not True}


def _check_effect(claim: Claim, row: dict[str, str], option: str, pairs: Pairs) -> None:
    ratios = [claim.facts.throughput(*pair) for pair in pairs]
    values = [ratio.value for ratio in ratios if not ratio.next_to_a_neighbor]
    claim.require(("Throughput (×)" in row) is bool(values), "a ratio next to a neighbor")
    if values and "Throughput (×)" in row:
        low, high = min(values), max(values)
        _require_ends(claim, row["Throughput (×)"], low, high, "throughput")
        _require_ends(claim, row["Time per sample (%)"], 100 / high - 100, 100 / low - 100, "time")
    tally = re.findall(r"([\d,]+) ([A-Za-z ]+?)(?=, \d| and \d|$)", row["Verdicts"])
    counts = {word: parse_number(amount) for amount, word in tally}
    allowed = [_words(claim, option, *pair) for pair in pairs]
    claim.require(sum(counts.values()) == len(pairs), "the words don't add up")
    for word in {*counts, *(word for words in allowed for word in words)}:
        least, most = allowed.count({word}), sum(word in words for words in allowed)
        claim.require(least <= counts.get(word, 0) <= most, f"{word} are {least} to {most}")
    if advice := row.get("Advice"):
        _check_advice(claim, row, option, pairs, advice, set(counts))
    if steps := row.get("Pays off after (steps)"):
        faster = [pair for pair, word in zip(pairs, allowed, strict=True) if "FASTER" in word]
        _check_break_even(claim, steps, option, faster)


def _require_ends(claim: Claim, shown: str, low: float, high: float, what: str) -> None:
    """Check a number, or both ends of a range."""
    numbers = re.findall(NUMBER, shown)
    claim.require_value(numbers[0], low, f"the least {what}")
    claim.require_value(numbers[-1], high, f"the most {what}")


def _check_advice(
    claim: Claim, row: dict[str, str], option: str, pairs: Pairs, advice: str, words: set[str]
) -> None:
    if advice == "loss not finite":
        lost = any(diverged(claim.facts.session["task"], new) for _, new in pairs)
        claim.require(lost, "no loss diverged")
        return
    word = "REPORTED" if advice.endswith(", as reported") else ADVICE.get(advice, "")
    claim.require(words == {word}, f"that needs all to be {word}, not {words}")
    direction = ADVICE.get(advice.partition(",")[0], word)
    for (need, _), best in claim.reader.chosen.items():
        there = row.get("On") in (None, best["device"], f"{best['machine']} {best['device']}")
        used = there and str(best[option]) == row["Value"]
        claim.require(not used or direction in ("FASTER", "UNSURE"), f"{best['name']} is chosen for {need}")
        base = there and need in SPEED and any(one is best for one, _ in pairs)
        claim.require(not base or direction != "FASTER", f"{best['name']} is chosen for {need} without it")


def _check_break_even(claim: Claim, shown: str, option: str, faster: Pairs) -> None:
    saved = [(_extra_ms(base, new), step_ms(base) - step_ms(new)) for base, new in faster]
    steps = [ceil(cold / gain) for cold, gain in saved if cold is not None and gain > 0]
    claim.require(option in ("compile", "backend") and steps, "no pair is faster")
    ends = [parse_number(text) for text in re.findall(NUMBER, shown)]
    inside = steps and min(steps) <= ends[0] * 1.01 and ends[-1] <= max(steps) * 1.01
    claim.require(inside, f"it pays off after {steps}")


def _extra_ms(base: Row, new: Row) -> float | None:
    """Return the time before the first step beyond that of a compiled base."""
    instead = base["cold_cost_ms"] if base["compile"] not in ("off", "unknown") else None
    return None if new["cold_cost_ms"] is None else max(new["cold_cost_ms"] - (instead or 0.0), 0.0)


def check_leaderboard(reader: Reader, part: Part, rows: Rows) -> None:
    """Check that the cases are ranked by throughput, and each row as in any table."""
    claim, task = reader.claim(part.title), reader.facts.session["task"]
    rates = [headline_rate(task, reader.case(row["Case"])) for row in rows]
    claim.require(rates == sorted(rates, reverse=True), "not by throughput")
    claim.require([row["Rank"] for row in rows] == [str(place + 1) for place in range(len(rows))], "ranks")
    check_rows(reader, part, rows)


def check_option_pairs(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the ratios of each case to the one that differs only in an option."""
    option = NAMES.get(part.title.lower(), "")
    pairs = {new["case"]: base for base, new in _pairs(reader, option)} if option else {}
    for row in rows:
        claim, new = reader.claim(f"{part.section}, {part.title}, {row}"), reader.case(row["Case"])
        base = pairs.get(new["case"])
        if base is None:
            claim.require(not new["samples_per_s"], "it has no pair")
            continue
        latency = reader.facts.latency(base, new)
        claim.require(row["Against"] == str(base[option]), f"the base has {base[option]}")
        for title, ratio in (("Throughput (×)", reader.facts.throughput(base, new)), ("Step (×)", latency)):
            claim.require((title in row) is not ratio.next_to_a_neighbor, "a ratio next to a neighbor")
            claim.require(title not in row or rounds_to(row[title], ratio.value), f"{title} is {ratio.value}")
        word = row.get("Verdict", "").partition(":")[0]
        claim.require(not word or word in latency.words, f"the verdict is {latency.words}")
        states = {APPLIED[state] for state in pair_applied_states(base, new, option)}
        claim.require(row.get("Applied") in {None, *states}, f"it is {states}")
        if "Cold cost (s)" in row:
            claim.require_value(row["Cold cost (s)"], (new["cold_cost_ms"] or 0.0) / 1000, "the cost")
