"""Check the decision: its sentences, its table, and the baselines that the table refers to."""

import re
from dataclasses import replace

from .answers import check_answer_cost, check_more_suspects, check_suspect
from .cases import NEEDS_BY_TITLE, changes_answer, step_ms
from .certainty import CERTAINTY, COSTS, check_all_costs, check_unverified
from .claims import Claim, Reader, shapes
from .needs import check_metrics, check_missing_baseline, check_samples_per_day, parse_need, record_choice
from .ratios import check_ratio_with_interval, check_verdict
from .report_text import NUMBER, Part, parse_number
from .summary import COUNTS

FIGURE, AGAINST = "Figure (95% interval)", "Against the baseline (95% interval)"
NEAR_ENOUGH_PERCENT = 25
"""Bound on the lead of any other case up to which a case is recommended although it isn't established."""
BALANCED = "lowest time per sample x step time (x peak memory, x energy, where all cases have them)"

WARNINGS = shapes(
    (
        check_suspect,
        "Answers {verdict:word}[ ({figure:inside})]: {case:case} is recommended, but its output isn't the"
        " baseline's; check it before you use it",
    ),
    (check_more_suspects, "The same applies to {more:num} more recommended case[s]"),
)


def check_decision(reader: Reader, part: Part) -> None:
    for row in part.rows:
        _check_row(reader.claim("Decision", row["Run"]), row)
    for item in part.items:
        claim = reader.claim(f"Decision, {item.lead}", item.text)
        if item.lead.startswith("Baseline"):
            _check_baseline(claim, item.lead)
        elif item.lead == "Balanced":
            claim.require(item.text == BALANCED, "unknown words")
        elif item.text.startswith("Measured: "):
            replace(claim, text=item.text.removeprefix("Measured: ")).check_sentences(COUNTS)
        elif " is " in item.text and ", but answers " in item.text:
            _check_changing(claim)
        elif item.text.startswith(("Answers ", "The same applies to ")):
            claim.check_sentences(WARNINGS)
        else:
            _check_run(claim)


def _check_run(claim: Claim) -> None:
    """Check ``For latency, run A (median 3 ms) and B (median 5 ms).``, or the candidates for it."""
    patterns = {
        "reported": r"For (throughput|latency), run (.+), as reported; the source kept no steps\.",
        "sure": r"For (throughput|latency), run (.+)\.",
        "open": r"For (throughput|latency), no case is established as the best; candidates?: (.+)\.",
    }
    matches = {name: match for name, each in patterns.items() if (match := re.fullmatch(each, claim.text))}
    if not matches:
        claim.add_objection("unknown words")
        return
    (kind, match), *_ = matches.items()
    claim.need = match[1]
    named = re.findall(r"⟦(\d+)⟧ \(([^()]+(?:\([^()]*\))?)\)", match[2])
    claim.require(named, "no case is named")
    for number, figure in named:
        row = claim.row(number)
        length = row["sequence_length"]
        key = (claim.need, length) if (claim.need, length) in claim.reader.chosen else (claim.need, None)
        claim.require(claim.reader.chosen.get(key) == {row["case"]}, "the table has another case")
        shown, _, doubt = figure.partition("; ")
        check_metrics(claim, row, shown)
        confidence = claim.reader.confidences.get(key, "")
        within = re.search(rf"within ({NUMBER}) % of the best", confidence)
        near = within is not None and parse_number(within[1]) <= NEAR_ENOUGH_PERCENT
        claim.require(bool(doubt) is (kind == "open" or near), "its certainty isn't that of the sentence")
        claim.require(kind != "open" or not near, "it is near enough to the best to be recommended")
        claim.require(not doubt or doubt == confidence, f"the table says {confidence!r}")
        claim.require(kind != "reported" or confidence.startswith(("as reported", "indist")), confidence)
        sure = ("clearly", "the only", "ahead of the next, but not in", "indistinguishable")
        claim.require(kind != "sure" or near or confidence.startswith(sure), confidence)
    rest = re.sub(r"⟦\d+⟧ \([^()]+(?:\([^()]*\))?\)|,| and ", "", match[2]).strip()
    more = re.fullmatch(rf"(?:see the table for ({NUMBER}) more)?", rest)
    claim.require(more, f"unknown words: {rest!r}")
    if more and more[1]:
        lengths = len({row["sequence_length"] for row in claim.facts.measured})
        claim.require(0 < parse_number(more[1]) <= lengths - len(named), "number of further lengths")


def _check_changing(claim: Claim) -> None:
    """Check ``B is 1.25 × (1.20 to 1.30), faster, but answers DIFFERENT (9 dB).``"""
    pattern = (
        rf"⟦(?P<case>\d+)⟧ is (?P<times>{NUMBER}) ×(?: \((?P<low>{NUMBER}) to (?P<high>{NUMBER})\))?,"
        r" (?P<word>.+), but answers (?P<verdict>[A-Z]+)(?: \((?P<figure>[^()]+)\))?\."
    )
    match = re.fullmatch(pattern, claim.text)
    if match is None:
        claim.add_objection("unknown words")
        return
    row, claim.need = claim.row(match["case"]), "throughput"
    length = row["sequence_length"]
    key = (claim.need, length) if (claim.need, length) in claim.reader.chosen else (claim.need, None)
    (best,) = claim.reader.chosen[key]
    claim.set_pair(claim.facts.rows[best], row)
    check_ratio_with_interval(claim, match.groupdict())
    check_verdict(claim, claim.pair(), match["word"].partition(":")[0])
    claim.require(changes_answer(row), "its answer is the baseline's")
    check_answer_cost(claim, match.groupdict(), row)


def _check_row(claim: Claim, row: dict[str, str]) -> None:
    number = re.fullmatch(r"⟦(\d+)⟧", claim.text)
    if number is None or not parse_need(claim, row["Need"], NEEDS_BY_TITLE):
        claim.add_objection(f"unknown row: {row}")
        return
    record_choice(claim, number[1])
    claim.reader.confidences[claim.need, claim.length] = row["Confidence"]
    _check_figure(replace(claim, text=row[FIGURE]), row["Confidence"])
    _check_against(replace(claim, text=row.get(AGAINST, "")))
    replace(claim, text=row["Confidence"]).check_clause(row["Confidence"], CERTAINTY)
    _check_costs(replace(claim, text=row.get("Costs", "")))


def _check_figure(claim: Claim, confidence: str) -> None:
    """Check ``58.6 samples/s (53.6 to 64.0), about 5.1 million samples/day``."""
    text, best = claim.text, claim.best
    if daily := re.search(r", (about [\d.,]+(?: million| billion)? samples/day)$", text):
        claim.require(claim.need == "throughput", "it isn't the need for throughput")
        check_samples_per_day(claim, daily[1])
        text = text.removesuffix(daily[0])
    best_of = re.search(rf", best of ({NUMBER})$", text)
    ties = re.search(rf"^indistinguishable from ({NUMBER}) others?", confidence)
    tied = parse_number(ties[1]) if ties else 0
    claim.require((parse_number(best_of[1]) - 1 if best_of else 0) == tied, f"it has {tied:g} ties")
    text = text.removesuffix(best_of[0]) if best_of else text
    if tail := re.search(rf", (p9[09]) ({NUMBER}) ms$", text):
        claim.require_value(tail[2], best[f"latency_{tail[1]}_ms"], f"its {tail[1]}")
        claim.require(tail[1] == "p99" or best["latency_p99_ms"] is None, "there is a p99")
        text = text.removesuffix(tail[0])
    if interval := re.search(rf" \(({NUMBER})(?: to ({NUMBER}))?\)$", text):
        names = {
            "throughput": ("samples_per_s_low", "samples_per_s_high"),
            "latency": ("latency_typical_low_ms", "latency_typical_high_ms"),
            "energy": ("energy_per_sample_low_j", "energy_per_sample_high_j"),
        }
        for shown, name in zip((interval[1], interval[2] or interval[1]), names[claim.need], strict=True):
            claim.require_value(shown, best[name], f"its {name}")
        text = text.removesuffix(interval[0])
    check_metrics(claim, best, text)


def _check_against(claim: Claim) -> None:
    """Check ``2.03 × (1.65 to 2.49), faster``."""
    base = claim.facts.base_of(claim.best)
    if claim.text == "the baseline":
        claim.require(base is claim.best, "it isn't the baseline")
        return
    if not claim.text:
        silent = claim.need not in ("throughput", "latency") or base is None
        claim.require(silent or not step_ms(claim.best), "nothing is said of its baseline")
        return
    pattern = rf"(?P<times>{NUMBER}) ×(?: \((?P<low>{NUMBER}) to (?P<high>{NUMBER})\))?, (?P<word>.+)"
    match = re.fullmatch(pattern, claim.text)
    if match is None or base is None:
        claim.add_objection(f"unknown words, or no baseline: {base}")
        return
    claim.set_pair(base, claim.best)
    check_ratio_with_interval(claim, match.groupdict())
    pair = claim.pair()
    check_verdict(claim, pair, match["word"].partition(":")[0])


def _check_costs(claim: Claim) -> None:
    costs = ""
    for text in claim.text.split("; ") if claim.text else ():
        if text.startswith(("Not applied: ", "Not verified: ")):
            check_unverified(claim, text)
        elif match := re.fullmatch(rf"({NUMBER}) per million samples", text):
            claim.require(claim.need == "throughput" and match, "it isn't the need for throughput")
        else:
            costs = text
            for each in text.split(", "):
                claim.check_clause(each, COSTS, claim.best, claim.facts.base_of(claim.best) or {})
    check_all_costs(claim, costs, claim.best, claim.facts.base_of(claim.best))


def _check_baseline(claim: Claim, lead: str) -> None:
    match = re.fullmatch(r"Baseline(?:, ([\d,]+) tokens)?", lead)
    lengths = {row["sequence_length"] for row in claim.facts.measured}
    if match is None:
        claim.add_objection("unknown lead")
        return
    length = int(match[1].replace(",", "")) if match[1] else min(lengths)
    if claim.text.startswith("none: "):
        check_missing_baseline(claim, claim.text.removeprefix("none: "), length)
        return
    named = re.fullmatch(r"⟦(\d+)⟧, (.+)", claim.text)
    if named is None:
        claim.add_objection("unknown words")
        return
    row, claim.need = claim.row(named[1]), "throughput"
    bases = {each["baseline"] for each in claim.facts.of_length(length)}
    claim.require(bases == {row["case"]}, f"the baselines are {bases}")
    claim.require(row["sequence_length"] == length, "the baseline has another sequence length")
    check_metrics(claim, row, named[2])
