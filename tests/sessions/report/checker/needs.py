"""Check the metrics quoted for a need, and the ratio to the baseline."""

import re
from math import inf, log

from .cases import REASONS_OF_OUTCOMES, Groups, Row, cost, peak_mb, step_kind, step_ms, token_rate
from .claims import Claim, shapes
from .ratios import check_ratio, check_ratio_with_interval, check_verdict, check_why_unsure
from .report_text import NUMBER, parse_number, parse_share, share_rounds_to


def parse_need(claim: Claim, lead: str, needs: dict[str, str]) -> bool:
    """Parse the need and sequence length of a lead or a title; return whether it has a need."""
    match = re.fullmatch(r"(.*?)(?:, ([\d,]+) tokens)?", lead)
    if match is None or match[1] not in needs:
        return False
    claim.where = f"{claim.where}, {lead}"
    claim.need, claim.length = needs[match[1]], int(parse_number(match[2])) if match[2] else None
    lengths = {row["sequence_length"] for row in claim.facts.measured}
    claim.require(
        claim.length in lengths or (claim.length is None and len(lengths) == 1), "the sequence length"
    )
    return True


def record_choice(claim: Claim, number: str) -> None:
    """Record the case that was chosen for a need."""
    claim.best = claim.row(number)
    claim.reader.chosen.setdefault((claim.need, claim.length), set()).add(int(number))
    claim.require(claim.best in claim.fit, "the chosen case isn't one to choose from")


def check_metrics(claim: Claim, row: Row, shown: str) -> None:
    """Check the metrics quoted of a case."""
    for pattern, values in _metric_formats(row, claim.need):
        if match := re.fullmatch(pattern, shown):
            for text, value in zip(match.groups(), values, strict=True):
                claim.require_value(text, value, f"of {row['name']}, {shown}: a figure")
            return
    claim.add_objection(f"{shown!r} is no figure of {row['name']} for {claim.need}")


def _metric_formats(row: Row, need: str) -> list[tuple[str, tuple[float | None, ...]]]:
    """Return patterns of the metrics that matter for a need, with their values."""
    number, rate, peak = f"({NUMBER})", row["samples_per_s"], peak_mb(row)
    samples, step = f"{number} samples/s", f"{step_kind(row)} {number} ms"
    size, in_unit = ("GB", 1000.0) if peak and peak >= 999.5 else ("MB", 1.0)
    peak = None if peak is None else peak / in_unit
    tokens, unit = token_rate(row)
    if row["new_tokens_per_s"] is not None:
        tokens, unit = row["new_tokens_per_s"], "new tokens/s"
    match need:
        case "throughput":
            return [
                (samples, (rate,)),
                (f"{number} {unit}, {samples}", (tokens, rate)),
                (f"{number} new tokens/s, {samples}", (row["new_tokens_per_s"], rate)),
            ]
        case "latency":
            return [(step, (step_ms(row),))]
        case "memory":
            named = row["sample"] not in ("sample", "request")  # such as an image
            per, what = (rate, "samples/s") if tokens is None or named else (tokens, unit)
            per_mb = per / peak / in_unit if per and peak else None
            return [(f"{number} {what} per MB, peak {number} {size}", (per_mb, peak))]
        case "energy":
            return [(f"{number} J/sample", (row["energy_per_sample_j"],))]
        case "steadiness":
            return [(f"p90 {number} % above p50", (row["p90_over_p50_percent"],))]
    end, more = ("", ()) if peak is None else (f", {number} {size}", (peak,))
    rates = _metric_formats(row, "throughput")
    return [(f"{one}, {step}{end}", (*values, step_ms(row), *more)) for one, values in rates]


def check_samples_per_day(claim: Claim, text: str) -> None:
    match = re.fullmatch(rf"(?:about )?({NUMBER})( million| billion)? samples/day", text)
    if match is None:
        claim.add_objection("unknown words")
        return
    sizes = {" million": 1e6, " billion": 1e9}
    shown, a_day = parse_number(match[1]) * sizes.get(match[2], 1.0), claim.best["samples_per_s"] * 86_400
    claim.require(abs(shown / a_day - 1) < 0.06, f"{a_day} samples a day")


def _check_is_baseline(claim: Claim, _: Groups) -> None:
    claim.require(claim.best["baseline"] == claim.best["case"], "it isn't the baseline")


def _check_baseline(claim: Claim, shown: Groups) -> None:
    """Check that the baseline is that of the JSON, has the same sequence length, and is quoted correctly."""
    claim.set_pair(claim.row(shown["base"]), claim.best)
    same = claim.base["sequence_length"] == claim.best["sequence_length"]
    claim.require(
        claim.base["case"] == claim.best["baseline"], f"the baseline is case {claim.best['baseline']}"
    )
    claim.require(same, "the baseline has another sequence length")
    check_metrics(claim, claim.base, shown["theirs"])
    words = {"throughput": "the throughput of", "latency": "as fast as"}
    claim.require(shown.get("of") in (None, words[claim.need]), f"{shown.get('of')!r} of {claim.need}")


def _check_versus(claim: Claim, shown: Groups) -> None:
    _check_baseline(claim, shown)
    check_verdict(claim, claim.pair(), "faster", "slower")
    check_ratio_with_interval(claim, shown)
    claim.require(not _contradicts_metrics(claim), "the two figures say the contrary of the ratio")


def _check_versus_contrary(claim: Claim, shown: Groups) -> None:
    _check_baseline(claim, shown)
    check_verdict(claim, claim.pair(), "faster", "slower")
    check_ratio_with_interval(claim, shown)
    claim.require(_contradicts_metrics(claim), "the two figures don't say the contrary of the ratio")


def _contradicts_metrics(claim: Claim) -> bool:
    """Whether the case with the better metric isn't the one with the better ratio."""
    costs = [cost(claim.need, row) or inf for row in (claim.base, claim.best)]
    return (costs[0] - costs[1]) * (claim.ratio - 1) < 0


def _check_versus_same(claim: Claim, shown: Groups) -> None:
    _check_baseline(claim, shown)
    check_verdict(claim, claim.pair(), "same")
    check_ratio_with_interval(claim, shown)
    check_margin(claim, shown["margin"])
    ends = [abs(log(parse_number(shown[end]))) for end in ("low", "high")]
    claim.require(
        max(ends) <= log(1 + parse_share(shown["margin"])) + 1e-3, "the interval is wider than the margin"
    )


def _check_versus_unsure(claim: Claim, shown: Groups) -> None:
    _check_baseline(claim, shown)
    check_ratio(claim, shown["times"])
    check_why_unsure(claim, shown["why"])


def check_margin(claim: Claim, shown: str) -> None:
    margins = {claim.facts.margin(row) for row in (claim.base, claim.new)}
    claim.require(any(share_rounds_to(shown, each) for each in margins), f"margins are {margins}")


def check_without_baseline(claim: Claim, shown: Groups) -> None:
    claim.require(claim.best["baseline"] is None, "there is a baseline")
    check_missing_baseline(claim, shown["why"], claim.best["sequence_length"])


def check_missing_baseline(claim: Claim, why: str, length: int) -> None:
    """Check why there is no baseline: none was planned, or it wasn't measured."""
    if match := re.fullmatch(r"[Nn]o case with (.+) was planned at ([\d,]+) tokens", why):
        claim.require_value(match[2], length, "the sequence length")
        wanted = [each.split("=") for each in match[1].split(", ") if each != "any"]
        rows = [row for row in claim.facts.rows if row["sequence_length"] == length]
        planned = [row["name"] for row in rows if all(str(row[name]) == value for name, value in wanted)]
        claim.require(not planned, f"planned are {planned}")
    elif match := re.fullmatch(r"[Tt]he baseline, ⟦(\d+)⟧, (.+)", why):
        row = claim.row(match[1])
        words = REASONS_OF_OUTCOMES.get(row["outcome"], "has no figures")
        claim.require((match[2], row["sequence_length"]) == (words, length), f"{row['name']} {words}")
    else:
        claim.add_objection(f"unknown reason: {why!r}")


_BASELINE = "the baseline, {base:case} ({theirs:figure})"
VERSUS = shapes(
    (_check_is_baseline, "which is the baseline itself"),
    (
        _check_versus_same,
        f"the same as {_BASELINE}, within {{margin:share}}: {{times:num}} × ({{low:num}} to {{high:num}})",
    ),
    (_check_versus_unsure, f"{{times:num}} × {{of:of}} {_BASELINE}, but {{why:text}}"),
    (_check_versus, f"{{times:num}} × ({{low:num}} to {{high:num}}) {{of:of}} {_BASELINE}"),
    (
        _check_versus_contrary,
        f"{{times:num}} × ({{low:num}} to {{high:num}}) {{of:of}} {_BASELINE} at typical steps, "
        "though not by all steps together",
    ),
)
