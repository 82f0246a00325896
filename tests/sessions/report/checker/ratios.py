"""Check ratios, their intervals, and the reasons why they are unsure."""

from math import log

from .cases import MAX_MARGIN, MIN_EFFECT, MIN_ROUNDS, SMALL_LEAD, Groups, disturbed, without_steps
from .claims import Claim, shapes
from .facts import Pair
from .report_text import half_digit, parse_number, parse_share, share_rounds_to


def check_ratio(claim: Claim, shown: str) -> None:
    """Check a ratio without its interval."""
    pair, claim.ratio = claim.pair(), parse_number(shown)
    if pair.exact:
        claim.require_value(shown, pair.value, "the ratio")
    elif claim.need == "balanced":  # of whose factors one is a mean over rounds
        claim.require(abs(log(claim.ratio / pair.value)) < SMALL_LEAD, f"the ratio is {pair.value}")
    else:
        claim.require("round by round" in claim.text, f"by these figures the ratio is {pair.value}")


def check_interval(claim: Claim, low: str, high: str) -> None:
    """Check the bounds of a ratio."""
    pair = claim.pair()
    for shown, end, outwards in ((low, pair.low, -1), (high, pair.high, 1)):
        if pair.at_least and end is not None:
            wide = outwards * (parse_number(shown) - end) >= -1.000001 * half_digit(shown)
            claim.require(wide, f"{shown} isn't as far off as {end}")
        elif pair.known:
            claim.require_value(shown, end, "a bound")
    claim.require(parse_number(low) <= parse_number(high), "bounds the wrong way round")


def check_ratio_with_interval(claim: Claim, shown: Groups) -> None:
    """Check ``1.67 × (1.26 to 1.98)``. If a reason follows, it contains the interval."""
    check_ratio(claim, shown["times"])
    if shown.get("low"):
        check_interval(claim, shown["low"], shown["high"])
        low, middle, high = (parse_number(shown[name]) for name in ("low", "times", "high"))
        slack = half_digit(shown["times"])
        claim.require(low - slack <= middle <= high + slack, "the ratio lies outside its interval")
    elif "why" not in shown:
        claim.require(claim.pair().low is None, "there is an interval")


def check_verdict(claim: Claim, pair: Pair, *words: str) -> None:
    """Check that a ratio has one of these verdicts, or may have."""
    if pair.verdict is not None:
        claim.require(pair.verdict in words, f"the verdict is {pair.verdict}")
    elif pair.low is not None and pair.high is not None:
        most = 1 + 2 * MAX_MARGIN
        possible = {
            "faster": pair.low > 1 + MIN_EFFECT,
            "slower": pair.high < 1 / (1 + MIN_EFFECT),
            "same": 1 / most <= pair.low and pair.high <= most,
            "unsure": True,
        }
        claim.require(any(possible[word] for word in words), f"{pair.low} to {pair.high} can't be {words}")


def check_why_unsure(claim: Claim, text: str) -> None:
    check_verdict(claim, claim.pair(), "unsure", "reported")
    claim.check_clause(text, UNSURE_REASONS)


def _check_doubt(claim: Claim, doubt: str) -> None:
    claim.require(claim.pair().doubt in (doubt, None), f"the doubt is {claim.pair().doubt}")


def _check_no_interval(claim: Claim, _: Groups) -> None:
    _check_doubt(claim, "no interval")
    claim.require(claim.pair().low is None, "there is an interval")
    claim.require(claim.pair().verdict != "reported", "it is as reported")


def _check_reported(claim: Claim, _: Groups) -> None:
    claim.require(without_steps(claim.base) and without_steps(claim.new), "the sources kept steps")


def _check_wide(claim: Claim, shown: Groups) -> None:
    _check_doubt(claim, "wide")
    check_interval(claim, shown["low"], shown["high"])


def _check_fast_steps_wide(claim: Claim, shown: Groups) -> None:
    """Check an interval of fast steps, which the JSON lacks."""
    _check_doubt(claim, "wide")
    claim.require(parse_number(shown["low"]) <= parse_number(shown["high"]), "bounds the wrong way round")


def _check_fast_steps_disagree(claim: Claim, shown: Groups) -> None:
    _check_doubt(claim, "steps")
    check_ratio(claim, shown["typical"])
    _require_disagreement(claim, shown["typical"], shown["other"])


def _check_totals_disagree(claim: Claim, shown: Groups) -> None:
    _check_doubt(claim, "totals")
    check_ratio(claim, shown["typical"])
    by_all = claim.pair().by_all or parse_number(shown["other"])
    claim.require(abs(log(parse_number(shown["other"]) / by_all)) < SMALL_LEAD, f"by all steps it is {by_all}")
    _require_disagreement(claim, shown["typical"], shown["other"])


def _require_disagreement(claim: Claim, one: str, other: str) -> None:
    """Require that the two aren't both far from 1 on the same side."""
    both = [log(parse_number(each)) for each in (one, other)]
    claim.require(both[0] * both[1] <= 0 or min(map(abs, both)) <= MAX_MARGIN, f"{one} and {other} agree")


def _check_outside_cause(claim: Claim, shown: Groups) -> None:
    _check_doubt(claim, "outside")
    rows = (claim.base, claim.new)
    clocks = "clock" in shown["why"] and all(row["sm_clock_mhz"] for row in rows)  # of the last round alone
    claim.require(any(map(disturbed, rows)) or clocks, "nothing disturbed these cases")


def _check_further_cause(claim: Claim, _: Groups) -> None:
    claim.require("because" in claim.text, "a reason for nothing")


def _check_resolution(claim: Claim, shown: Groups) -> None:
    """Check which differences can't be resolved: the measured one must be among them."""
    pair = claim.pair()
    check_verdict(claim, pair, "unsure")
    if pair.known and pair.resolution is not None and not pair.at_least:
        claim.require(share_rounds_to(shown["seen"], pair.resolution), f"{pair.resolution} is resolved")
    number, unit = shown["seen"].split(" ")
    slack = half_digit(number) / (100 if unit == "%" else 1)
    value = pair.value if pair.exact else claim.ratio
    apart = max(value, 1 / value) - 1
    claim.require(apart <= parse_share(shown["seen"]) + slack, f"{apart:.1%} would have been resolved")


def _check_more_rounds(claim: Claim, shown: Groups) -> None:
    check_verdict(claim, claim.pair(), "unsure")
    claim.require(1 <= parse_number(shown["n"]) < 100, "no such number of rounds")


def _check_first_rounds(claim: Claim, shown: Groups) -> None:
    check_verdict(claim, claim.pair(), "unsure")
    few = min(row["rounds"] for row in (claim.base, claim.new)) <= MIN_ROUNDS
    claim.require(few and parse_number(shown["n"]) == 5, "the rounds show the spread already")


def _check_leaning(claim: Claim, shown: Groups) -> None:
    _check_doubt(claim, "wide")
    pair, low, high = claim.pair(), parse_number(shown["low"]), parse_number(shown["high"])
    claim.require(shown["how"] in ("faster", "slower"), "no direction")
    claim.require(low <= 1 + MIN_EFFECT and high >= 1 / (1 + MIN_EFFECT), "the 99 % interval decides it")
    if pair.low and pair.high:
        leans = pair.low > 1 + MIN_EFFECT if shown["how"] == "faster" else pair.high < 1 / (1 + MIN_EFFECT)
        claim.require(leans or pair.at_least, "the 95 % interval doesn't lean so")
    if pair.sure and not pair.at_least:
        claim.require_value(shown["low"], pair.sure[0], "the lower bound")
        claim.require_value(shown["high"], pair.sure[1], "the upper bound")


def _check_blind(claim: Claim, _: Groups) -> None:
    seen = claim.pair().resolution
    claim.require(seen is None or seen >= 9, f"{seen} can be resolved")


UNSURE_REASONS = shapes(
    (
        _check_leaning,
        "it leans {how:word} by the 95 % interval, but the 99 % interval ({low:num} to {high:num} ×)"
        " is too wide to call[, also because {also:text}]",
    ),
    (_check_no_interval, "there is no interval to test it with"),
    (_check_reported, "only as reported: the source kept no steps"),
    (_check_wide, "the interval ({low:num} to {high:num} ×) is too wide to call[, also because {also:text}]"),
    (
        _check_fast_steps_wide,
        "the interval of fast steps ({low:num} to {high:num} ×) is too wide to call"
        "[, also because {also:text}]",
    ),
    (_check_fast_steps_disagree, "typical steps ({typical:num} ×) and fast steps ({other:num} ×) disagree"),
    (_check_totals_disagree, "typical steps ({typical:num} ×) and all steps together ({other:num} ×) disagree"),
    (_check_outside_cause, "that may be because {why:text}"),
)
RATIO_DETAILS = shapes(
    (_check_blind, "not even a tenfold difference can be resolved"),
    (_check_resolution, "differences below {seen:share} can't be resolved"),
    (_check_more_rounds, "about {n:num} more round[s] would decide it"),
    (
        _check_first_rounds,
        "{n:num} rounds would show the spread between processes, which is estimated so far",
    ),
    (
        _check_further_cause,
        "other processes were running[{rest:text}]",
        "the machine stalled[{rest:text}]",
        "another process used the GPU[{rest:text}]",
        "the GPU was throttled[{rest:text}]",
        "the GPU ran below its default clock[{rest:text}]",
    ),
)
