"""Check optimal configurations and recommendations."""

import re
from dataclasses import replace
from math import ceil

from .cases import (
    NEEDS_BY_TITLE,
    NEEDS_BY_USE,
    OPTIONS_BY_LEAD,
    SPEED,
    Groups,
    Row,
    has_own_label,
    key,
    matches_title,
    pair_applied_states,
    step_ms,
)
from .certainty import CERTAINTY, CLOSING_SENTENCES, HOW_SURE, require_complete
from .claims import Claim, Reader, shapes
from .needs import check_metrics, check_samples_per_day, parse_need, record_choice
from .report_text import NUMBER, Part, parse_number, rounds_to, split_list


def check_optimum(reader: Reader, part: Part) -> None:
    texts = {item.lead: reader.claim(part.section, item.text) for item in part.items}
    claim = texts.get("Configuration") or reader.claim(part.section, "")
    match = re.fullmatch(r"⟦(\d+)⟧", claim.text)
    if match is None or not parse_need(claim, part.title, NEEDS_BY_TITLE):
        claim.add_objection(f"unknown optimum: {part.title!r}")
        return
    record_choice(claim, match[1])
    for lead, each in texts.items():
        _check_fact(replace(claim, where=f"{claim.where}, {lead}", text=each.text), lead)


def _check_fact(claim: Claim, lead: str) -> None:
    """Check a line of an optimal configuration."""
    joules = claim.best["energy_per_sample_j"]
    numbers = {
        "Batch size": [claim.best["batch_size"]],
        "p99": [claim.best["latency_p99_ms"]],
        "Slow steps": [claim.best["latency_p99_ms"], claim.best["latency_p50_ms"]],
        "Samples per joule": [1 / joules if joules else None],
    }
    match lead:
        case "How sure":
            claim.check_sentences(HOW_SURE)
        case "Throughput" | "Latency" | "Throughput per MB" | "Energy" | "Spread" | "Figures":
            check_metrics(claim, claim.best, claim.text)
        case "A day at that rate":
            check_samples_per_day(claim, claim.text)
        case _ if lead in numbers:
            shown = re.findall(rf"(?<![\w.]){NUMBER}", claim.text)
            agreed = [rounds_to(*each) for each in zip(shown, numbers[lead], strict=True)]
            claim.require(all(agreed), f"{numbers[lead]}")
        case "Configuration" | "Precision" | "Balanced means" | "Cost of a million samples":
            pass
        case _:
            claim.add_objection(f"unknown lead: {lead!r}")


def check_recommendation(claim: Claim, lead: str) -> None:
    if parse_need(claim, lead, NEEDS_BY_USE):
        claim.check_sentences(USES)
        require_complete(claim)
    elif lead.startswith("Memory, "):
        claim.check_sentences(FRONTIERS, lead.removeprefix("Memory, "))
    elif lead in OPTIONS_BY_LEAD:
        claim.option = OPTIONS_BY_LEAD[lead]
        claim.check_sentences(OPTION_SENTENCES)
    else:
        claim.add_objection(f"unknown lead: {lead!r}")


def _check_use(claim: Claim, shown: Groups) -> None:
    record_choice(claim, shown["best"])
    check_metrics(claim, claim.best, shown["figure"])
    if shown["daily"]:
        check_samples_per_day(claim, shown["daily"])


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


def _option_pairs(claim: Claim, said: Groups) -> list[tuple[Row, Row]]:
    """Pair the cases that have an option value with those that differ only in this option."""
    rows, new = (
        [row for row in claim.facts.measured if not has_own_label(row)],
        said["new"].removeprefix("compile="),
    )
    bases = {key(row, claim.option): row for row in reversed(rows) if row[claim.option] == said["base"]}
    on_device = [row for row in rows if said["device"] in (None, row["device"])]
    found = [(bases.get(key(row, claim.option)), row) for row in on_device if row[claim.option] == new]
    return [(base, row) for base, row in found if base]


def _possible_words(claim: Claim, base: Row, new: Row) -> set[str]:
    """Return the words that are true of a pair."""
    verdict = claim.facts.throughput(base, new).verdict or "unsure"
    if claim.option == "device":
        return {verdict}
    words = {True: verdict, False: "not applied", None: "not verified to be applied"}
    return {words[each] for each in pair_applied_states(base, new, claim.option)}


def _parse_tally(text: str) -> dict[str, int]:
    """Parse ``faster in 2 and unsure in 1``."""
    return {
        word: int(parse_number(number))
        for word, _, number in (each.rpartition(" in ") for each in split_list(text))
    }


def _check_option(claim: Claim, shown: Groups, advice: str | None) -> None:
    """Check ``compile=default against off on cpu: throughput -2 to +4 % in 4 pairs (unsure in 4)``."""
    claim.option_groups, pairs, told = shown, _option_pairs(claim, shown), _parse_tally(shown["tally"])
    claim.require_value(shown["n"], len(pairs), "number of pairs")
    claim.require((shown["unit"] == "%") == (claim.option != "device"), "the unit")
    values = [claim.facts.throughput(*pair).value for pair in pairs]
    ends = [100 * (each - 1) if shown["unit"] == "%" else each for each in (min(values), max(values))]
    claim.require_value(shown["low"], ends[0], "the least")
    claim.require_value(shown["high"] or shown["low"], ends[1], "the most")
    allowed = [_possible_words(claim, *pair) for pair in pairs]
    for word in {*told, *(word for each in allowed for word in each)}:
        least, most = allowed.count({word}), sum(word in each for each in allowed)
        claim.require(least <= told.get(word, 0) <= most, f"{word} are {least} to {most}")
    claim.require(sum(told.values()) == len(pairs), "the words don't add up")
    if advice:
        claim.require(set(told) == {advice}, f"that needs all to be {advice}")
        value = shown["new"].removeprefix("compile=")
        claim.reader.advice.append((advice, claim.option, value, shown["device"] or value))


def _note_advice_for(claim: Claim, shown: Groups) -> None:
    claim.option_groups = {"advice": "faster", **shown}


def _note_advice_against(claim: Claim, shown: Groups) -> None:
    claim.option_groups = {"advice": "slower", **shown}


def _check_option_same(claim: Claim, shown: Groups) -> None:
    _check_option(claim, shown, "same")


def _check_option_unsure(claim: Claim, shown: Groups) -> None:
    _check_option(claim, shown, "unsure")


def _check_option_metrics(claim: Claim, shown: Groups) -> None:
    advice = claim.option_groups.get("advice")
    claim.require(
        claim.option_groups.get("new") in (None, shown["new"]), f"advice on {claim.option_groups.get('new')}"
    )
    _check_option(claim, shown, advice)
    words = set(_parse_tally(shown["tally"]))
    silent = advice is None and len(words) == 1 and words <= {"faster", "slower", "same", "unsure"}
    claim.require(not silent or _contradicts_choice(claim, shown), "nothing is made of what all pairs agree in")


def _contradicts_choice(claim: Claim, shown: Groups) -> bool:
    """Whether advice might contradict a recommendation, so that none is given."""
    chosen = [
        (need, claim.facts.rows[each]) for (need, _), cases in claim.reader.chosen.items() for each in cases
    ]
    value = shown["new"].removeprefix("compile=")
    there = [each for each in chosen if shown["device"] in (None, each[1]["device"])]
    return any(row[claim.option] == value or need in SPEED for need, row in there)


def _check_break_even(claim: Claim, shown: Groups) -> None:
    """Check after how many steps compiling pays for itself."""
    faster = [
        pair for pair in _option_pairs(claim, claim.option_groups) if "faster" in _possible_words(claim, *pair)
    ]
    saved = [(new["cold_cost_ms"], step_ms(base) - step_ms(new)) for base, new in faster]
    steps = [ceil(cold / gain) for cold, gain in saved if cold is not None and gain > 0]
    paid = claim.option == "compile" and "faster" in _parse_tally(claim.option_groups["tally"]) and steps
    claim.require(paid, "no pair is faster")
    if steps:
        claim.require_value(shown["low"], min(steps), "the least number of steps")
        claim.require_value(shown["high"] or shown["low"], max(steps), "the most steps")


USES = [
    *shapes((_check_use, "use {best:case}: {figure:figure}[, {daily:daily}]")),
    *CERTAINTY,
    *CLOSING_SENTENCES,
]
FRONTIERS = shapes(
    (_check_largest_that_fits, "stay at batch size {fits:num} or below; {beyond:num} ran out of memory"),
    (_check_larger_ran, "batch size {beyond:num} ran out of memory, although {fits:num} didn't"),
)
_TO_BASE = "{base:word}[ on {device:word}]"
_PAIRS = (
    "[throughput ]{low:num}[ to {high:num}] {unit:unit}[ the throughput] in {n:num} pair[s] ({tally:inside})"
)
OPTION_SENTENCES = shapes(
    (_note_advice_for, "use {new:word}"),
    (_note_advice_against, "leave {new:word} alone"),
    (_check_option_same, f"{{new:word}} makes no difference to {_TO_BASE}: {_PAIRS}"),
    (_check_option_unsure, f"no effect of {{new:word}} against {_TO_BASE} is established: {_PAIRS}"),
    (_check_option_metrics, f"{{new:word}} against {_TO_BASE}: {_PAIRS}"),
    (_check_break_even, "where faster it pays for itself after {low:num}[ to {high:num}] steps"),
)
