"""Check how sure a choice is, what it costs, and whether its options were applied."""

import re
from math import inf

from .answers import check_answer_cost
from .cases import (
    DEFAULTS,
    MIN_EXTRA_MEMORY,
    SAME_WITHIN,
    SMALL_LEAD,
    VERIFIED,
    Groups,
    Row,
    applied_states,
    comparable_memory,
    longer_tail,
    named_option,
    peak_mb,
    simplest,
    without_steps,
)
from .claims import Claim, shapes
from .facts import Pair
from .needs import check_margin, check_metrics, check_without_baseline
from .ratios import RATIO_DETAILS, check_ratio, check_ratio_with_interval, check_verdict, check_why_unsure
from .report_text import NUMBER, parse_mb, parse_number, parse_share, share_rounds_to


def _check_only_case(claim: Claim, _: Groups) -> None:
    claim.require(len(claim.fit) == 1, "there are other cases to choose from")


def _check_over_leader(claim: Claim, shown: Groups) -> None:
    """Check that a simpler case was chosen over the one with the best metric."""
    claim.set_pair(claim.row(shown["leader"]), claim.best)
    fit, leader = claim.fit, claim.base
    check_metrics(claim, leader, shown["figure"])
    costs = [claim.facts.costs(claim.need, row, fit) for row in fit]
    claim.require(claim.facts.costs(claim.need, leader, fit) == min(costs), "another has a better figure")
    claim.require(leader is not claim.best, "it is the chosen one")
    claim.require(simplest(claim.best, [leader]), "the chosen case isn't simpler")
    if not shown.get("lead"):
        claim.require(claim.pair().value >= 1 or not claim.pair().exact, "its lead is known")
        return
    _check_percent(claim, shown["lead"], 1 / claim.pair().value - 1)
    claim.ratio = 1 / (1 + parse_number(shown["lead"]) / 100)
    claim.require(0 <= parse_number(shown["lead"]) <= 100 * SMALL_LEAD, "the lead isn't small")


def _check_percent(claim: Claim, shown: str, share: float) -> None:
    """Check a lead or a lag in percent, which may be a mean over rounds."""
    if claim.pair().exact:
        claim.require_value(shown, 100 * share, "it")
    else:
        claim.require("round by round" in claim.text or claim.need == "balanced", f"it is {share:.1%}")


def _check_lead_within_margin(claim: Claim, shown: Groups) -> None:
    _check_over_leader(claim, shown)
    claim.require(claim.pair().verdict in ("same", None) or claim.pair().low is None, "they aren't the same")
    check_margin(claim, shown["within"])
    claim.require(
        parse_number(shown.get("lead") or "0") <= 100 * parse_share(shown["within"]), "beyond the margin"
    )


def _check_lead_unsure(claim: Claim, shown: Groups) -> None:
    _check_over_leader(claim, shown)
    check_verdict(claim, claim.pair(), "unsure", "faster")


def _check_leader_costs(claim: Claim, shown: Groups) -> None:
    _check_costs(claim, shown["costs"], claim.base, claim.best)


def _check_tie_count(claim: Claim, number: int, besides: Row | None = None, *, further: bool = False) -> None:
    """Check how many cases can't be told apart from the chosen one, nor from the one with the best metric.

    One that is told apart from the chosen case or from another of them may count either way. With ``further``,
    those that are far behind, but not surely, count as well.
    """
    near = {row["case"]: claim.facts.near(claim.need, row, claim.fit) for row in claim.fit}
    rows = [row for row in claim.fit if near[row["case"]] is not False]
    for row in rows:
        words = {claim.pair(row, other).verdict for other in rows if other is not row}
        if words & {"faster", None} or claim.pair(row, claim.best).verdict == "slower":
            near[row["case"]] = None
    counted = [near[row["case"]] for row in claim.others if row is not besides]
    least, most = counted.count(True), len(counted) - counted.count(False)
    if further:
        pairs = [claim.pair(row, claim.best) for row in claim.others if near[row["case"]] is False]
        unsure = sum(_may_be_better(pair) for pair in pairs)
        least, most = least + unsure, most + unsure + sum(pair.verdict is None for pair in pairs)
    claim.require(least <= number <= most and number > 0, f"{least} to {most} can't be told apart")


def _check_more_ties(claim: Claim, shown: Groups) -> None:
    _check_tie_count(claim, int(parse_number(shown["n"])), besides=claim.base)


def _check_ties_with_best(claim: Claim, shown: Groups) -> None:
    _check_tie_count(claim, int(parse_number(shown["n"])), further=True)
    _check_within(claim, shown)


def _check_within(claim: Claim, shown: Groups) -> None:
    """Check by how much another case may be better at most."""
    pairs = [claim.pair(row, claim.best) for row in claim.others]
    bounds = [1 / pair.low - 1 for pair in pairs if pair.low and pair.verdict != "faster"]
    known = all(pair.low and not pair.at_least for pair in pairs)
    if shown.get("within") and known:
        claim.require(share_rounds_to(shown["within"], max(MIN_EFFECT, *bounds)), f"they are within {bounds}")


def _check_ties(claim: Claim, shown: Groups) -> None:
    rows = [claim.row(number) for number in re.findall(r"⟦(\d+)⟧", shown["ties"])]
    more = re.search(rf"({NUMBER}) more", shown["ties"])
    claim.require(claim.leads, "another has a better figure")
    _check_tie_count(claim, len(rows) + (int(parse_number(more[1])) if more else 0))
    for row in rows:
        claim.require(row in claim.others, f"{row['name']} isn't one to choose from")
        pair, costs = (
            claim.pair(row, claim.best),
            [claim.facts.costs(claim.need, each, claim.fit) for each in (row, claim.best)],
        )
        if (costs[0] - costs[1]) * (pair.value - 1) >= 0:  # else figures and typical steps disagree
            check_verdict(claim, pair, "same", "unsure", "reported")
            small = 1 / (1 + SAME_WITHIN) <= pair.value <= 1 + SAME_WITHIN
            claim.require(small or pair.verdict != "reported", f"it is {pair.value} times as good as reported")
    claim.require(simplest(claim.best, rows), "it isn't the simplest")
    claim.set_pair(claim.others[0], claim.best)


def _check_simplest(claim: Claim, _: Groups) -> None:
    claim.require("Indistinguishable from" in claim.text, "of no others")


def _check_runner_up(claim: Claim, shown: Groups) -> None:
    claim.set_pair(claim.row(shown["next"]), claim.best)
    costs = [claim.facts.costs(claim.need, row, claim.fit) for row in claim.others]
    nearest = claim.facts.costs(claim.need, claim.base, claim.fit) <= min(costs) * (1 + 1e-12)
    claim.require(claim.base in claim.others and nearest, "it isn't the next")
    claim.require(claim.leads, "another has a better figure")
    check_metrics(claim, claim.base, shown["figure"])


def _check_runner_up_behind(claim: Claim, shown: Groups) -> None:
    _check_runner_up(claim, shown)
    pair = claim.pair()
    check_verdict(claim, pair, "faster")
    _check_percent(claim, shown["behind"], 1 - 1 / pair.value)
    low, middle, high = (parse_number(shown[name]) for name in ("low", "behind", "high"))
    claim.require(0 < low <= middle <= high, "it isn't surely behind")
    if pair.low and pair.high and not pair.at_least:
        claim.require_value(shown["low"], 100 - 100 / pair.low, "the lower bound")
        claim.require_value(shown["high"], 100 - 100 / pair.high, "the upper bound")


def _check_runner_up_ratio(claim: Claim, shown: Groups) -> None:
    _check_runner_up(claim, shown)
    check_verdict(claim, claim.pair(), "faster")
    check_ratio_with_interval(claim, shown)
    claim.require(parse_number(shown.get("low") or shown["times"]) > 1, "it isn't surely behind")


def _check_runner_up_unsure(claim: Claim, shown: Groups) -> None:
    _check_runner_up(claim, shown)
    check_ratio(claim, shown["times"])
    check_why_unsure(claim, shown["why"])


def _check_runner_up_contrary(claim: Claim, shown: Groups) -> None:
    _check_runner_up(claim, shown)
    check_ratio_with_interval(claim, shown)
    check_verdict(claim, claim.pair(), "slower", "same")
    claim.require(parse_number(shown["times"]) < 1 + SAME_WITHIN, "it isn't the contrary")


def _check_longer_tail(claim: Claim, shown: Groups) -> None:
    found = longer_tail(claim.need, claim.best, claim.others[0])
    if found is None or found[0] != shown["name"]:
        claim.add_objection(f"longer is {found}")
        return
    claim.require_value(shown["mine"], found[1], f"its {found[0]}")
    claim.require_value(shown["theirs"], found[2], f"the other's {found[0]}")


def _check_clearly_ahead(claim: Claim, _: Groups) -> None:
    claim.require(claim.others and claim.leads, "another has a better figure")
    for row in claim.others:
        pair = claim.pair(row, claim.best)
        check_verdict(claim, pair, "faster")
        claim.require(pair.value > 1 or not pair.exact, f"{row['name']} isn't behind")
    longer = longer_tail(claim.need, claim.best, claim.others[0])
    claim.require(not longer, f"its slow steps are longer: {longer}")


def _check_ahead_except_tail(claim: Claim, shown: Groups) -> None:
    _check_within(claim, shown)
    found = longer_tail(claim.need, claim.best, claim.others[0])
    claim.require(found and found[0] == shown["name"], f"longer is {found}")
    check_verdict(claim, claim.pair(claim.others[0], claim.best), "faster")


def _check_no_lead_interval(claim: Claim, shown: Groups) -> None:
    _check_within(claim, shown)
    claim.require(claim.pair(claim.others[0], claim.best).low is None, "there is an interval")


def _check_reported(claim: Claim, _: Groups) -> None:
    words = {claim.pair(row, claim.best).verdict for row in claim.others}
    claim.require("reported" in words and without_steps(claim.best), "the source kept steps")


def _check_undistinguished_rival(claim: Claim, shown: Groups) -> None:
    claim.set_pair(claim.row(shown["rival"]), claim.best)
    check_ratio(claim, shown["times"])
    check_verdict(claim, claim.pair(), "unsure", "reported")
    words = [claim.pair(row, claim.best).verdict for row in claim.others]
    least = words.count("unsure") + words.count("reported")
    number = 1 + parse_number(shown.get("n") or "0")
    claim.require(least <= number <= least + words.count(None), f"{least} are unsure")


def _may_be_better(pair: Pair) -> bool:
    """Return whether the base may be better. Sources are believed if far apart."""
    return pair.verdict == "unsure" or (pair.verdict == "reported" and pair.value < 1 + SMALL_LEAD)


def _check_not_established(claim: Claim, shown: Groups) -> None:
    _check_within(claim, shown)
    words = {claim.pair(row, claim.best).verdict for row in claim.others}
    claim.require(words != {"faster"} or not claim.leads, "it is surely ahead of all")


def _check_costs_over_baseline(claim: Claim, shown: Groups) -> None:
    _check_costs(claim, shown["costs"], claim.best, claim.facts.base_of(claim.best))


def _check_costs(claim: Claim, text: str, row: Row, base: Row | None) -> None:
    for each in text.split(", "):
        claim.check_clause(each, COSTS, row, base or {})
    check_all_costs(claim, text, row, base)


def check_all_costs(claim: Claim, text: str, row: Row, base: Row | None) -> None:
    """Require that no cost is omitted."""
    alike = {option: base is not None and base[option] == row[option] for option in ("compile", "precision")}
    compiled = row["compile"] not in DEFAULTS and row["cold_cost_ms"] is not None
    if compiled and row["compiled"] is not False and not alike["compile"]:
        claim.require("s of compile time" in text, "the time of compiling isn't told")
    if row["answer"]:
        claim.require(row["answer"] == "identical" or "answers " in text, "nothing is said of its answer")
    elif row["precision"] not in (None, *DEFAULTS) and not alike["precision"]:
        claim.require(f"{row['precision']}: accuracy not measured here" in text, "nothing is said of accuracy")
    peaks = peak_mb(row), peak_mb(base) if base and comparable_memory(row, base) else None
    more = peaks[0] and peaks[1] and peaks[0] / peaks[1] - 1 >= MIN_EXTRA_MEMORY
    claim.require(not more or "peak memory" in text, "the cost in memory isn't told")


def check_unverified(claim: Claim, text: str) -> None:
    """Check ``Not verified: fp16, default``."""
    lead, _, values = text.partition(": ")
    _check_unverified_options(claim, values, {"Not applied": False, "Not verified": None}[lead])


def require_complete(claim: Claim) -> None:
    """Require that no cost or unverified option is omitted; those mentioned have been checked."""
    if claim.best and "It costs" not in claim.text:
        check_all_costs(claim, "", claim.best, claim.facts.base_of(claim.best))
    for option in VERIFIED:
        asked = bool(claim.best) and claim.best[option] not in (None, *DEFAULTS)
        told = re.search("Not applied|Not verified", claim.text)
        claim.require(
            not asked or told or True in applied_states(claim.best, option), f"{option} wasn't surely in force"
        )


def _check_memory_cost(claim: Claim, shown: Groups, row: Row, base: Row) -> None:
    mine, theirs = peak_mb(row) or 0.0, peak_mb(base) or inf
    claim.require_value(shown["change"], 100 * (mine / theirs - 1), "the change of memory")
    for text, peak in ((shown["theirs"], theirs), (shown["mine"], mine)):
        number, size = parse_mb(text)
        claim.require_value(number, peak / size, "the memory")
    claim.require(mine > theirs, "less memory is no cost")
    claim.require(comparable_memory(row, base), "memory of a device against that of a process")


def _check_compile_cost(claim: Claim, shown: Groups, row: Row, _: Row) -> None:
    claim.require(row["compile"] not in DEFAULTS, "it isn't compiled")
    claim.require_value(shown["s"], row["cold_cost_ms"] / 1000, "the time of compiling")


def _check_accuracy_note(claim: Claim, shown: Groups, row: Row, _: Row) -> None:
    if row["precision"] is None:  # the results of a case with a label of its own don't have its options
        claim.require(shown["precision"] in row["name"].split(), "its name has another precision")
    else:
        claim.require(shown["precision"] == row["precision"] not in DEFAULTS, f"it is {row['precision']}")


def _check_not_applied(claim: Claim, shown: Groups) -> None:
    _check_unverified_options(claim, shown["values"], False)


def _check_not_verified(claim: Claim, shown: Groups) -> None:
    _check_unverified_options(claim, shown["values"], None)


def _check_unverified_options(claim: Claim, values: str, state: bool | None) -> None:
    for value in values.split(", "):
        options = [option for option in VERIFIED if named_option(claim.best, option) == value]
        told = any(state in applied_states(claim.best, option) for option in options)
        claim.require(told, f"{value} was in force, or not asked for")


CLOSING_SENTENCES = shapes(
    (_check_costs_over_baseline, "It costs {costs:text}"),
    (check_without_baseline, "No ratio to a baseline: {why:text}"),
    (_check_not_applied, "Not applied: {values:text}"),
    (_check_not_verified, "Not verified: {values:text}"),
)
_LEADER = "{leader:case} ({figure:figure})"
_AHEAD = f"{_LEADER} is {{lead:num}} % ahead[{{how:how}}]"
MIN_EFFECT = 0.005
"""Least bound on the lead of another case that is shown."""
_WITHIN = "[, within {within:share} of the best]"
_THE_NEXT = "The next, {next:case} ({figure:figure}), is"
HOW_SURE = [
    *shapes(
        (_check_only_case, "There is no other case to choose from"),
        (
            _check_lead_within_margin,
            f"{_AHEAD}, which is within {{within:share}}",
            f"{_LEADER} has the better value, which is within {{within:share}}",
        ),
        (
            _check_lead_unsure,
            f"{_AHEAD}, which isn't established",
            f"{_LEADER} has the better value, which isn't established",
        ),
        (_check_ties, "Indistinguishable from {ties:cases}"),
        (
            _check_runner_up_behind,
            f"{_THE_NEXT} {{behind:num}} % behind ({{low:num}} to {{high:num}} %)[{{how:how}}]",
        ),
        (
            _check_runner_up_ratio,
            f"{_THE_NEXT} behind by {{times:num}} × ({{low:num}} to {{high:num}})[{{how:how}}]",
            f"{_THE_NEXT} behind by {{times:num}} × (no interval)",
        ),
        (
            _check_runner_up_unsure,
            "The next is {next:case} ({figure:figure}): {times:num} ×[{how:how}], but {why:text}",
        ),
        (
            _check_runner_up_contrary,
            "The next is {next:case} ({figure:figure}): {times:num} × ({low:num} to {high:num}){how:how}, "
            "which contradicts these values",
        ),
        (_check_leader_costs, "it would cost {costs:text}"),
        (_check_more_ties, "{n:num} more case[s] can't be distinguished either"),
        (_check_simplest, "it is the simplest of them"),
        (_check_longer_tail, "but its {name:word} is longer: {mine:num} against {theirs:num} ms"),
        (
            _check_undistinguished_rival,
            "not distinguished from {rival:case} ({times:num} ×, {why:any})[ and from {n:num} more case[s]]",
        ),
    ),
    *RATIO_DETAILS,
    *CLOSING_SENTENCES,
]
CERTAINTY = shapes(
    (_check_only_case, "the only case"),
    (_check_ties_with_best, f"indistinguishable from {{n:num}} other[s]{_WITHIN}"),
    (_check_clearly_ahead, "clearly ahead of the next"),
    (_check_ahead_except_tail, f"ahead of the next, but not in its slow steps ({{name:word}}){_WITHIN}"),
    (_check_no_lead_interval, f"no interval to test its lead with{_WITHIN}"),
    (_check_reported, "as reported; the source kept no steps"),
    (_check_not_established, f"ahead of the next, but not surely of all others{_WITHIN}"),
    (_check_not_established, f"its lead isn't established{_WITHIN}"),
)
COSTS = shapes(
    (_check_memory_cost, "{change:num} % peak memory ({theirs:memory} to {mine:memory})"),
    (_check_compile_cost, "{s:num} s of compile time"),
    (check_answer_cost, "answers {verdict:word}[ ({figure:inside})]"),
    (_check_accuracy_note, "possibly accuracy ({precision:word}: accuracy not measured here)"),
)
