"""Check the remarks on results: batch sizes, tokenizing, and cases that weren't measured."""

from .cases import MIN_EFFECT, MIN_TOKENIZING, OUTCOMES, SHORT_OPTIONS, Groups, Row, key
from .claims import Claim, shapes
from .ratios import RATIO_DETAILS, check_ratio_with_interval, check_why_unsure
from .report_text import parse_number


def _find_series(claim: Claim, shown: Groups) -> list[Row]:
    """Return the one series that the sentence describes, by batch size."""
    names = {short: name for name, short in SHORT_OPTIONS.items()}
    options = [each.split("=") for each in (shown["options"] or "").split()]
    wanted = {names.get(name, name): value for name, value in options}
    wanted |= {"device": shown["device"], "precision": shown["precision"] or "unknown"}
    length = int(parse_number(shown["length"]))
    rows = [row for row in claim.facts.measured if row["sequence_length"] == length]
    rows = [row for row in rows if all(str(row[name] or "default") == value for name, value in wanted.items())]
    claim.require(len({key(row, "batch_size") for row in rows}) == 1, "several series are called so")
    return claim.facts.series(rows[0])


def _check_no_larger(claim: Claim, shown: Groups) -> None:
    series = _find_series(claim, shown)
    claim.require_value(shown["peak"], series[0]["batch_size"], "the smallest batch size")
    more = [row["batch_size"] for row in series if row["samples_per_s"] > series[0]["samples_per_s"]]
    claim.require(not more, f"{more} bring more")


def _check_peak(claim: Claim, shown: Groups) -> None:
    """Check the batch size of highest throughput, and the first one."""
    series, claim.need = _find_series(claim, shown), "throughput"
    claim.best = max(series, key=lambda row: row["samples_per_s"])
    claim.require_value(shown["peak"], claim.best["batch_size"], "the batch size of highest throughput")
    claim.require_value(shown["first"], series[0]["batch_size"], "the first batch size")
    claim.set_pair(series[0], claim.best)


def _check_highest(claim: Claim, shown: Groups) -> None:
    _check_peak(claim, shown)
    check_ratio_with_interval(claim, shown)
    claim.require(parse_number(shown["times"]) >= 1 - MIN_EFFECT, "the highest is below the first")


def _check_highest_unsure(claim: Claim, shown: Groups) -> None:
    _check_highest(claim, shown)
    check_why_unsure(claim, shown["why"])


def _check_highest_by_totals(claim: Claim, shown: Groups) -> None:
    _check_peak(claim, shown)
    _check_by_both(claim, shown)


def _check_by_both(claim: Claim, shown: Groups) -> None:
    """Check a ratio by all steps together, and a contrary one by typical steps."""
    by_all, by_typical = claim.new["samples_per_s"] / claim.base["samples_per_s"], claim.pair().value
    claim.require_value(shown["times"], by_all, "the ratio by all steps")
    claim.require_value(shown["typical"], by_typical, "the ratio by typical steps")
    claim.require((by_all - 1) * (by_typical - 1) < 0, "they don't say the contrary")


def _check_largest(claim: Claim, shown: Groups) -> None:
    series = claim.facts.series(claim.best)
    claim.require(series[-1] is claim.best, "it isn't the largest")
    word = claim.facts.throughput(series[-2], series[-1]).verdict
    claim.require(not shown["rising"] or word in ("faster", None), f"the last step up is {word}")


def _check_last(claim: Claim, shown: Groups) -> None:
    """Compare the largest batch size with that of highest throughput."""
    series = claim.facts.series(claim.best)
    claim.require_value(shown["last"], series[-1]["batch_size"], "the last batch size")
    claim.set_pair(claim.best, series[-1])


def _check_last_ratio(claim: Claim, shown: Groups) -> None:
    _check_last(claim, shown)
    check_ratio_with_interval(claim, shown)
    claim.require(parse_number(shown["times"]) <= 1 + MIN_EFFECT, "the last is above the highest")


def _check_last_unsure(claim: Claim, shown: Groups) -> None:
    _check_last_ratio(claim, shown)
    check_why_unsure(claim, shown["why"])


def _check_last_by_totals(claim: Claim, shown: Groups) -> None:
    _check_last(claim, shown)
    _check_by_both(claim, shown)


def _check_tokenizing(claim: Claim, shown: Groups) -> None:
    _check_part(claim, shown | {"part": "tokenize"})


def _check_part(claim: Claim, shown: Groups) -> None:
    part = shown["part"]
    rows = [row for row in claim.facts.measured if part in row["parts_ms"]]
    shares = {row["case"]: row["parts_ms"][part]["mean"] / row["latency_mean_ms"] for row in rows}
    most = max(shares.values())
    claim.require_value(shown["share"], 100 * most, "the largest share")
    claim.require(shares[int(shown["most"])] == most >= MIN_TOKENIZING, "another's share, or a small one")


def _check_unmeasured(claim: Claim, shown: Groups) -> None:
    """Check how many cases ended in a way, of those with the same reason as the one that is named."""
    one = claim.row(shown["one"])
    rows = [row for row in claim.facts.rows if row["outcome"] != "ok" and row["reason"] == one["reason"]]
    alike = [row for row in rows if row["outcome"] == one["outcome"]]
    claim.require_value(shown["n"], len(alike), "number of such cases")
    words = OUTCOMES.get(one["outcome"], one["outcome"])
    claim.require(shown["ended"] in (words, "unfinished"), f"it is {words}")
    reason = (one["reason"] or "").removeprefix(shown["ended"]).lstrip(" :")
    claim.require((shown["why"] or "") == reason, f"the reason is {one['reason']}")


_ON = "On {device:word}[ with {precision:word}[ {options:text}]] at {length:num} tokens, "
_HIGHEST = f"{_ON}throughput is highest at batch size {{peak:num}}: {{times:num}} ×"
_LAST = "batch size {last:num} gives {times:num} ×"
_BY_BOTH = "by all steps together, {typical:num} × by typical steps"
REMARKS = [
    *shapes(
        (_check_no_larger, f"{_ON}no batch size above {{peak:num}} brings more throughput"),
        (
            _check_highest,
            f"{_HIGHEST} ({{low:num}} to {{high:num}}) that of {{first:num}}",
            f"{_HIGHEST} (no interval) that of {{first:num}}",
        ),
        (_check_highest_unsure, f"{_HIGHEST} that of {{first:num}}, but {{why:text}}"),
        (_check_highest_by_totals, f"{_HIGHEST} that of {{first:num}} {_BY_BOTH}"),
        (_check_largest, "it is the largest size measured[, {rising:rising}]"),
        (
            _check_last_ratio,
            f"{_LAST} ({{low:num}} to {{high:num}}) that of the peak",
            f"{_LAST} (no interval) that of the peak",
        ),
        (_check_last_unsure, f"{_LAST} that of the peak, but {{why:text}}"),
        (_check_last_by_totals, f"{_LAST} that of the peak {_BY_BOTH}"),
        (
            _check_tokenizing,
            "Tokenizing, which is in the total, takes up to {share:num} % of a step ({most:case})",
        ),
        (_check_part, "Part {part:text} takes up to {share:num} % of a step ({most:case})"),
        (
            _check_unmeasured,
            "{n:num} case[s] {ended:inside} ([such as ]{one:case})[: {why:text}]",
        ),
    ),
    *RATIO_DETAILS,
]
