"""Check what each option brings, and the limits of memory."""

import re
from math import ceil, exp, log

from .cases import (
    DEFAULT_VALUES,
    OPTIONS,
    PRECISIONS,
    SPEED,
    Groups,
    Row,
    diverged,
    has_own_label,
    key,
    matches_title,
    pair_applied_states,
    step_ms,
)
from .claims import Claim, Reader, shapes
from .report_text import NUMBER, Part, parse_number, rounds_to, split_list

NAMES = {name.replace("_", " "): name for name in (*OPTIONS, "batch_size")} | {
    "compiling": "compile",
    "KV cache": "cache",
}
ADVICE = {"use it": "faster", "leave it": "slower", "same": "same", "not established": "unsure"} | {
    f"{word} it, as reported": "reported" for word in ("use", "leave")
}
ALWAYS_APPLIED = ("device", "machine", "batch_size")
Pairs = list[tuple[Row, Row]]


def check_frontier(claim: Claim, lead: str) -> None:
    claim.require(lead.startswith("Memory, "), "unknown lead")
    claim.check_sentences(FRONTIERS, lead.removeprefix("Memory, "))


def _check_largest_that_fits(claim: Claim, shown: Groups, title: str) -> None:
    """Check the memory limit of a series."""
    ran, too_large, fits, beyond = _parse_frontier(claim, shown, title)
    claim.require(fits == max(ran), f"measured are {ran}")
    claim.require(beyond == min(too_large) > fits, f"out of memory are {too_large}")


def _check_larger_ran(claim: Claim, shown: Groups, title: str) -> None:
    ran, too_large, fits, beyond = _parse_frontier(claim, shown, title)
    claim.require(fits == max(ran), f"measured are {ran}")
    claim.require(beyond == min(too_large) < fits, f"out of memory are {too_large}")


def _parse_frontier(claim: Claim, shown: Groups, title: str) -> tuple[set[int], set[int], int, int]:
    """Return the batch sizes that ran, those that ran out of memory, and the two mentioned."""
    rows = [row for row in claim.facts.rows if matches_title(row, title)]
    ran = {row["batch_size"] for row in rows if row["outcome"] == "ok" and not row["again"]}
    not_fit = {row["batch_size"] for row in rows if row["outcome"] == "oom"}
    return ran, not_fit - ran, int(parse_number(shown["fits"])), int(parse_number(shown["beyond"]))


def check_options(reader: Reader, part: Part) -> None:
    factors: dict[str, tuple[float, float]] = {}
    for row in part.rows:
        claim = reader.claim("What each option brings", str(row))
        claim.option = NAMES.get(row["Option"], "")
        claim.require(claim.option, "unknown option")
        pairs = _option_pairs(claim, row)
        _check_effect(claim, row, pairs)
        least, most = factors.get(claim.option, (1.0, 1.0))
        own = _factors(claim, pairs)
        factors[claim.option] = max(least, own[0]), max(most, own[1])
    for item in part.items:
        _check_ranking(reader.claim("What each option brings", item.text), factors)


def _option_pairs(claim: Claim, row: dict[str, str]) -> Pairs:
    """Pair the cases that have an option value with those that differ only in this option."""
    option, rows = claim.option, [each for each in claim.facts.measured if _is_on(each, row.get("On"))]
    if option == "batch_size":
        groups = {key(each, option): claim.facts.series(each) for each in rows if each["samples_per_s"]}
        return [(series[0], each) for series in groups.values() for each in series[1:]]
    rows = [each for each in rows if not has_own_label(each)]
    base = _base_value(claim, option)
    claim.require(row["Against"] == str(base), f"the base is {base}")
    bases = {key(each, option): each for each in reversed(rows) if each[option] == base}
    found = [(bases.get(key(each, option)), each) for each in rows if str(each[option]) == row["Value"]]
    return [(base, each) for base, each in found if base]


def _is_on(row: Row, where: str | None) -> bool:
    return where is None or f"{row['machine']} {row['device']}".strip() == where


def _base_value(claim: Claim, option: str) -> object:
    values = [row[option] for row in claim.facts.measured if option != "machine" or row[option]]
    default = "cpu" if option == "device" else DEFAULT_VALUES.get(option)
    return default if default in values else values[0]


def check_base_of_gains(claim: Claim) -> None:
    """Check the value that gains are relative to: the option's default if measured, as in each heading."""
    option = claim.where.removesuffix(" gain").lower().replace(" ", "_")
    more = ": the gain in throughput and the reduction in latency" if option == "precision" else ""
    found = re.fullmatch(rf"Relative to (.+) at the same batch size{more}\.", claim.text)
    claim.require(found, "unknown words")
    base = found[1] if found else ""
    if option in DEFAULT_VALUES:
        expected = _base_value(claim, option)
        claim.require(base == str(expected), f"the base is {expected}")
    named = PRECISIONS.get(base, base.upper()) if option == "precision" else base
    for part in claim.reader.parts:
        if part.section == claim.where != part.title:
            against = part.title.partition(" against ")[2].partition(", compile ")[0]
            claim.require(against == named, f"the heading {part.title!r} names another base")


def _possible_words(claim: Claim, base: Row, new: Row) -> set[str]:
    """Return the words that are true of a pair."""
    verdict = claim.facts.throughput(base, new).verdict or "unsure"
    if claim.option in ALWAYS_APPLIED:
        return {verdict}
    words = {True: verdict, False: "not applied", None: "not verified"}
    return {words[each] for each in pair_applied_states(base, new, claim.option)}


def _factors(claim: Claim, pairs: Pairs) -> tuple[float, float]:
    """Return the largest factor that is surely established, and the largest that may be."""
    least = most = 1.0
    for pair in pairs:
        factor = exp(abs(log(claim.facts.throughput(*pair).value)))
        words = _possible_words(claim, *pair)
        if words & {"faster", "slower"}:
            most = max(most, factor)
            least = max(least, factor) if words <= {"faster", "slower"} else least
    return least, most


def _parse_tally(text: str) -> dict[str, int]:
    """Parse ``2 faster and 1 unsure``."""
    found = (each.partition(" ") for each in re.split(r", (?=\d)| and (?=\d)", text))
    return {word: int(parse_number(number)) for number, _, word in found}


def _check_effect(claim: Claim, row: dict[str, str], pairs: Pairs) -> None:
    """Check a row: ``compiling | default | off | cpu | 0.97 to 1.04 | 4 | 4 unsure``."""
    claim.require_value(row["Pairs"], len(pairs), "number of pairs")
    if not pairs:
        return
    values = [claim.facts.throughput(*pair).value for pair in pairs]
    shown = re.findall(NUMBER, row["Throughput (×)"])
    claim.require_value(shown[0], min(values), "the least")
    claim.require_value(shown[-1], max(values), "the most")
    if claim.option == "batch_size":
        sizes = [{each["batch_size"] for each in side} for side in zip(*pairs, strict=True)]
        for title, found in zip(("Against", "Value"), sizes, strict=True):
            ends = [parse_number(each) for each in row[title].split(" to ")]
            claim.require((ends[0], ends[-1]) == (min(found), max(found)), f"batch sizes are {found}")
    told, allowed = _parse_tally(row["Verdicts"]), [_possible_words(claim, *pair) for pair in pairs]
    for word in {*told, *(word for each in allowed for word in each)}:
        least, most = allowed.count({word}), sum(word in each for each in allowed)
        claim.require(least <= told.get(word, 0) <= most, f"{word} are {least} to {most}")
    claim.require(sum(told.values()) == len(pairs), "the words don't add up")
    _check_advice(claim, row, pairs, set(told))
    if cell := row.get("Pays off after (steps)"):
        _check_break_even(claim, cell, pairs, told)


def _check_advice(claim: Claim, row: dict[str, str], pairs: Pairs, told: set[str]) -> None:
    advice = row.get("Advice")
    lost = [new for _, new in pairs if diverged(claim.facts.session["task"], new)]
    if lost or advice == "loss not finite":
        claim.require(lost and advice in ("loss not finite", None), f"{len(lost)} of them diverged")
    elif advice:
        word = ADVICE.get(advice, "")
        claim.require(told == {word}, f"that needs all to be {word}")
        device = row.get("On", row["Value"]).rpartition(" ")[2]
        if word == "reported":
            word = "faster" if advice.startswith("use") else "slower"
        claim.reader.advice.append((word, claim.option, row["Value"], device))
    else:
        silent = len(told) == 1 and told <= {*ADVICE.values()} - {"reported"} and claim.option != "batch_size"
        made = not silent or _contradicts_choice(claim, row)
        claim.require(made, "nothing is made of what all pairs agree in")


def _contradicts_choice(claim: Claim, row: dict[str, str]) -> bool:
    """Whether advice might contradict a recommendation, so that none is given."""
    chosen = [
        (need, claim.facts.rows[each]) for (need, _), cases in claim.reader.chosen.items() for each in cases
    ]
    there = [each for each in chosen if row.get("On") is None or _is_on(each[1], row["On"])]
    return any(str(best[claim.option]) == row["Value"] or need in SPEED for need, best in there)


def _check_break_even(claim: Claim, cell: str, pairs: Pairs, told: dict[str, int]) -> None:
    """Check after how many steps compiling pays for itself."""
    faster = [pair for pair in pairs if "faster" in _possible_words(claim, *pair)]
    saved = [(new["cold_cost_ms"], step_ms(base) - step_ms(new)) for base, new in faster]
    steps = [ceil(cold / gain) for cold, gain in saved if cold is not None and gain > 0]
    claim.require(claim.option == "compile" and "faster" in told and steps, "no pair is faster")
    if steps:
        shown = re.findall(NUMBER, cell)
        claim.require_value(shown[0], min(steps), "the least number of steps")
        claim.require_value(shown[-1], max(steps), "the most steps")


def _pairs_of(claim: Claim, option: str, new: Row) -> Pairs:
    """Return the pairs of a case with those that differ from it only in an option."""
    alike = [row for row in claim.facts.measured if key(row, option) == key(new, option)]
    return [(row, new) for row in alike if row is not new and row["samples_per_s"] and new["samples_per_s"]]


def _check_ranking(claim: Claim, factors: dict[str, tuple[float, float]]) -> None:
    """Check ``Batch size matters most for throughput, by a factor of up to 2.03, then compiling 1.09.``"""
    pattern = (
        rf"(?:(\D+) matters most for throughput, by a factor of up to ({NUMBER})(?:, then (.+?))?\.)?"
        r"(?: ?([^.]+(?:\.\d[^.]*)*), as reported; the source kept no steps\.)?"
        r"(?: ?No effect of (.+) is established\.)?"
    )
    match = re.fullmatch(pattern, claim.text)
    if match is None:
        claim.add_objection("unknown words")
        return
    ranked = [(f"{match[1][:1].lower()}{match[1][1:]}", match[2])] if match[1] else []
    for each in split_list(match[3] or ""):
        if named := re.fullmatch(rf"(\D+) ({NUMBER})", each):
            ranked.append((named[1], named[2]))
    names = {name.lower(): option for name, option in NAMES.items()}
    for name, factor in ranked:
        least, most = factors.get(names.get(name.lower(), ""), (1.0, 1.0))
        claim.require(
            rounds_to(factor, least) or rounds_to(factor, most) or least <= parse_number(factor) <= most,
            f"{name} changes it by {least} to {most}",
        )
    shown = [parse_number(factor) for _, factor in ranked]
    claim.require(shown == sorted(shown, reverse=True), "not the largest first")
    unsure = {names.get(name.lower(), name) for name in split_list(match[5] or "") if name}
    reported = {}
    for each in split_list(match[4] or ""):
        if named := re.fullmatch(rf"(\D+) by up to ({NUMBER}) ×", each):
            reported[names.get(named[1].lower())] = named[2]
    for option, factor in reported.items():
        pairs = [pair for value in claim.facts.measured for pair in _pairs_of(claim, option, value)]
        ratios = [exp(abs(log(claim.facts.throughput(*pair).value))) for pair in pairs]
        claim.require(rounds_to(factor, max(ratios, default=1.0)), f"{option} changes it by {ratios}")
    claim.require(
        {names.get(name.lower()) for name, _ in ranked} | unsure | set(reported) == set(factors),
        f"the options are {set(factors)}",
    )
    for option in unsure:
        claim.require(factors.get(option, (1.0, 1.0))[0] == 1, f"{option} has an established effect")


FRONTIERS = shapes(
    (_check_largest_that_fits, "stay at batch size {fits:num} or below; {beyond:num} ran out of memory"),
    (_check_larger_ran, "batch size {beyond:num} ran out of memory, although {fits:num} didn't"),
)
