"""Check the fields of the choices: case, figure, ratios, certainty and costs; and the row of each workload."""

import re
from collections.abc import Sequence
from math import inf

from .cases import (
    MAX_MARGIN,
    MIN_EFFECT,
    NEEDS_BY_TITLE,
    SMALL_LEAD,
    SPEED,
    Row,
    changes_answer,
    comparable_memory,
    cost,
    longer_tail,
    peak_mb,
    step_ms,
    token_rate,
    without_steps,
)
from .facts import Pair
from .reader import Claim, Reader
from .report_text import NUMBER, Part, Rows, half_digit, parse_mb, parse_number, rounds_to

LANGUAGE = ("lm-forward", "lm-train")
"""Tasks whose throughput is given in tokens."""
CELL = re.compile(rf"({NUMBER}) ×(?: \(({NUMBER}) to ({NUMBER})\))?, (\w+)(?:: .+)?")


def check_choices(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the table of choices, and note them."""
    for row in rows:
        check_choice(reader, row, reader.case(row["Run"]))


def check_others(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the objectives that choose another case; their names leave out the workload."""
    for row in rows:
        need, length = _need(reader, row["Need"])
        case = reader.brief("", row["Run"], length)
        claim = reader.claim(f"{part.section}, {row['Need']}")
        claim.require(case, "no such case")
        if case:
            check_choice(reader, row, case)
            claim.require(need not in ("throughput", "latency"), "it isn't another objective")


def _need(reader: Reader, title: str) -> tuple[str, int | None]:
    name, _, work = title.partition(", ")
    return NEEDS_BY_TITLE.get(name, name), reader.length(work)


def check_choice(reader: Reader, row: dict[str, str], best: Row) -> None:
    need, length = _need(reader, row["Need"])
    claim, fit = reader.claim(f"choice for {row['Need']}"), reader.facts.fit(need, length)
    claim.require(need in NEEDS_BY_TITLE.values() and best in fit, f"{best['name']} isn't one to choose from")
    known = reader.chosen.setdefault((need, length), best)
    claim.require(known is best, f"elsewhere it is {known['name']}")
    tied = row["Confidence"].startswith("indistinguishable")
    check_figure(claim, row["Figure (95% interval)"], need, best, tied=tied)
    if "Against the baseline" in row:
        _check_against(claim, row["Against the baseline"], need, best, fit)
    if "Next best" in row and "Ahead of it by" in row:
        other, figure = reader.named_first(row["Next best"])
        claim.require(other in fit and other is not best, f"{other['name']} isn't another to choose from")
        check_figure(claim, figure, need, other, tied=True)
        check_ratio_cell(claim, row["Ahead of it by"], reader.facts.pair(need, other, best, fit), need)
    _check_confidence(claim, row["Confidence"], need, best, fit)
    if "Costs" in row:
        _check_costs(claim, row["Costs"], best)


def check_figure(claim: Claim, shown: str, need: str, row: Row, *, tied: bool = False) -> None:
    """Check ``224,000 tokens/s (223,000 to 225,000)``: the metric of a need, and its interval."""
    if need == "balanced":
        _check_balance(claim, shown, row)
        return
    numbers = re.findall(NUMBER, shown.removeprefix("p90 ").removesuffix(" above p50"))
    value, low, high = _metric(claim, need, row)
    claim.require_value(numbers[0], value, f"of {row['name']}: the figure for {need}")
    claim.require(len(numbers) < 4, "one figure, or with both ends of its interval")
    if len(numbers) > 1 and low is not None and high is not None:
        claim.require(not tied, "the best of several has an interval of its own")
        claim.require_value(numbers[1], low, "the lower end")
        claim.require_value(numbers[-1], high, "the upper end")


def _check_balance(claim: Claim, shown: str, row: Row) -> None:
    """Check ``224,000 tokens/s, 4.10 ms, 14.2 GB``: each part is a figure of the case."""
    peak = peak_mb(row) or 0.0
    figures = (
        row["samples_per_s"],
        row["new_tokens_per_s"],
        token_rate(row)[0],
        step_ms(row),
        peak,
        peak / 1000,
    )
    for number in re.findall(NUMBER, shown):
        claim.require(
            any(rounds_to(number, each) for each in figures), f"{number} is no figure of {row['name']}"
        )


def _metric(claim: Claim, need: str, row: Row) -> tuple[float | None, ...]:
    """Return the metric of a need and its interval, as far as the JSON has it."""
    rate = row["samples_per_s"] or 0.0
    tokens = row["new_tokens_per_s"]
    if tokens is None and claim.facts.session["task"] in LANGUAGE:
        tokens = token_rate(row)[0]
    size = tokens / rate if tokens and rate else 1.0
    match need:
        case "throughput":
            ends = (row["samples_per_s_low"], row["samples_per_s_high"])
            return size * rate, *(None if end is None else size * end for end in ends)
        case "latency":
            return step_ms(row), row["latency_typical_low_ms"], row["latency_typical_high_ms"]
        case "memory":
            named = row["sample"] not in ("sample", "request")
            per_s = row["new_tokens_per_s"] or token_rate(row)[0]
            return (rate if named or not per_s else per_s) / (peak_mb(row) or 1.0), None, None
        case "energy":
            ends = (row["energy_per_sample_low_j"], row["energy_per_sample_high_j"])
            return row["energy_per_sample_j"], *ends
    return cost(need, row), None, None


def _check_against(claim: Claim, shown: str, need: str, best: Row, fit: Sequence[Row]) -> None:
    base = claim.facts.base_of(best)
    claim.require(base, "there is no baseline")
    if base is best or shown == "the baseline":
        claim.require((base is best) == (shown == "the baseline"), f"its baseline is {best['baseline']}")
    elif base:
        claim.require(base["sequence_length"] == best["sequence_length"], "a baseline of another length")
        check_ratio_cell(claim, shown, claim.facts.pair(need, base, best, fit), need)


def check_ratio_cell(claim: Claim, shown: str, pair: Pair, need: str = "throughput") -> None:
    """Check ``1.67 × (1.26 to 1.98), faster``: ratio, interval, and verdict."""
    match = CELL.fullmatch(shown)
    if match is None:
        claim.require(False, f"{shown!r} is no ratio with a verdict")
        return
    value, low, high, verdict = match.groups()
    if pair.exact:
        claim.require_value(value, pair.value, "the ratio")
    for text, end in ((low, pair.low), (high, pair.high)):
        if text and pair.known:
            claim.require_value(text, end, "a bound")
    if low and need in SPEED:
        slack = half_digit(value)
        inside = parse_number(low) - slack <= parse_number(value) <= parse_number(high) + slack
        claim.require(inside, "the ratio lies outside its interval")
    claim.require(verdict in possible_verdicts(pair), f"the verdict is {pair.verdict} of {pair}")
    seen = re.search(rf"can't resolve below ({NUMBER}) ([%×])", shown)
    if seen and pair.resolution is not None:
        resolution = 100 * pair.resolution if seen[2] == "%" else 1 + pair.resolution
        claim.require_value(seen[1], resolution, "the resolution")


def possible_verdicts(pair: Pair) -> set[str]:
    """Return the verdict on a pair, or every one that its bounds allow."""
    if pair.verdict is not None:
        return {pair.verdict}
    words = {"UNSURE", "FASTER", "SLOWER", "SAME", "REPORTED"}
    if pair.low is None or pair.high is None:
        return words
    if pair.low <= 1 + MIN_EFFECT:
        words.discard("FASTER")
    if pair.high >= 1 / (1 + MIN_EFFECT):
        words.discard("SLOWER")
    if pair.low < 1 / (1 + 2 * MAX_MARGIN) or pair.high > 1 + 2 * MAX_MARGIN:
        words.discard("SAME")
    return words


def _check_confidence(claim: Claim, shown: str, need: str, best: Row, fit: Sequence[Row]) -> None:
    """Check the certainty against the ratios of the choice to all others."""
    facts, others = claim.facts, [row for row in fit if row is not best]
    pairs = [facts.pair(need, row, best, fit) for row in others]
    words = [possible_verdicts(pair) for pair in pairs]
    leads = facts.costs(need, best, fit) <= facts.costs(need, fit[0], fit) * (1 + 1e-12)
    near = [facts.near(need, row, fit) for row in others]
    contends = [
        _contends(pair) if is_near is False else is_near for pair, is_near in zip(pairs, near, strict=True)
    ]
    bounded = re.fullmatch(rf"(.+), (?:within|by) ({NUMBER}) % (?:of the best|at most)", shown)
    shown = bounded[1] if bounded else shown
    _check_bound(claim, bounded[2] if bounded else None, pairs, near)
    if shown in ("the only case", "the only case that can be compared"):
        claim.require(not others, "there are others")
    elif shown == "clearly ahead of the next":
        claim.require(others and leads, "another has a better figure")
        claim.require(all("FASTER" in word for word in words), f"the verdicts are {words}")
        tail = longer_tail(need, best, others[0]) if others else None
        claim.require(not tail, f"its slow steps are longer: {tail}")
    elif match := re.fullmatch(rf"indistinguishable from ({NUMBER}) others?", shown):
        amount = parse_number(match[1])
        least, most = contends.count(True), len(contends) - contends.count(False)
        claim.require(amount > 0 and least <= amount <= most, f"{least} to {most} are near or may be better")
    elif match := re.fullmatch(r"ahead of the next, but not in its slow steps \((p\d+)\)", shown):
        tail = longer_tail(need, best, others[0])
        claim.require(tail and tail[0] == match[1], f"longer is {tail}")
    elif shown == "ahead of the next, but not surely of all others":
        claim.require(leads and "FASTER" in words[0], f"the verdicts are {words}")
        claim.require(any(word & {"UNSURE", "REPORTED"} for word in words[1:]), f"the verdicts are {words}")
    elif shown == "as reported":
        claim.require(without_steps(best), "the source kept steps")
    elif match := re.fullmatch(rf"undecided: ({NUMBER}) others? may be as good or better", shown):
        sure = sum(word in ({"FASTER"}, {"SAME"}) for word in words)
        amount = parse_number(match[1])
        claim.require(0 < amount <= len(words) - sure, f"{sure} of {len(words)} are decided")
    else:
        claim.require(False, f"unknown certainty {shown!r}")


def _contends(pair: Pair) -> bool | None:
    """Whether another case may be better than the choice; None if no JSON says. Far reports are believed."""
    words = possible_verdicts(pair)
    doubtful = words & {"UNSURE", "REPORTED"} if pair.value < 1 + SMALL_LEAD else words & {"UNSURE"}
    return bool(doubtful) if not doubtful or words == doubtful else None


def _check_bound(claim: Claim, shown: str | None, pairs: Sequence[Pair], near: Sequence[bool | None]) -> None:
    """Check by how much another case may be better at most, by the lower bounds of the ratios."""
    counted = [
        pair
        for pair, is_near in zip(pairs, near, strict=True)
        if is_near or possible_verdicts(pair) <= {"UNSURE", "REPORTED"}
    ]
    possible = [pair for pair in pairs if possible_verdicts(pair) != {"FASTER"}]
    if shown is None:
        unsure = [pair for pair in counted if possible_verdicts(pair) == {"UNSURE"}]
        useful = all(pair.low is not None and pair.low > 0.5 for pair in possible)
        claim.require(not (unsure and useful), "it isn't said by how much another one may be better at most")
        return
    least = max((1 / pair.low - 1 for pair in counted if pair.low), default=0.0)
    known = all(pair.low is not None for pair in possible)
    most = max((1 / (pair.low or inf) - 1 for pair in possible), default=0.0) if known else inf
    claim.require(not any(pair.low is None and pair.known for pair in counted), "one of them has no interval")
    slack = half_digit(shown) + 1e-6
    floor, ceiling = (100 * max(bound, MIN_EFFECT) for bound in (least, most))
    claim.require(floor - slack <= parse_number(shown) <= ceiling + slack, f"it is {floor} to {ceiling} %")


def _check_costs(claim: Claim, shown: str, best: Row) -> None:
    """Check the peak memory and compile time that a choice costs, and that nothing is left out."""
    base = claim.facts.base_of(best)
    memory = re.search(rf"({NUMBER}) % peak memory \((\S+ [MG]B) to (\S+ [MG]B)\)", shown)
    if memory and base:
        peaks = peak_mb(base) or 0.0, peak_mb(best) or 0.0
        claim.require_value(memory[1], 100 * (peaks[1] / peaks[0] - 1), "more memory")
        for text, peak in zip(memory.groups()[1:], peaks, strict=True):
            number, unit = parse_mb(text)
            claim.require_value(number, peak / unit, "the peak")
        claim.require(comparable_memory(best, base), "memory of another kind")
    compiling = re.search(rf"({NUMBER}) s of compile time", shown)
    if compiling:
        claim.require_value(compiling[1], (best["cold_cost_ms"] or 0.0) / 1000, "the compile time")
        claim.require(best["compile"] not in ("off", None), "it isn't compiled")
    changed = best["precision"] not in ("fp32", "unknown", None) and (
        base is None or base["precision"] != best["precision"]
    )
    if changed and best["answer"] is None:
        claim.require("accuracy not measured" in shown, "nothing is said of accuracy")
    claim.require(not changes_answer(best) or "answers" in shown, "nothing is said of its answers")


def check_decision(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the answers against the rows of the workloads, and these against the results."""
    shared = next(iter(re.findall(r"Every choice: (.+?)\. Baseline", " ".join(part.texts))), "")
    for row in rows:
        tokens = reader.length(row.get("Workload", ""))
        for need in ("throughput", "latency"):
            if cell := row.get(need.capitalize()):
                _check_workload(reader, cell, need, shared, tokens, row)
        _check_memory(reader, row, tokens)
    for text in part.texts:
        if ratio := re.search(r"against the baseline (.+?)(?:, answers|;)", text):
            best = reader.chosen.get(("throughput", reader.length(text.partition(": ")[0])))
            claim, base = reader.claim(f"Decision, {text}"), reader.facts.base_of(best) if best else None
            if best and base:
                check_ratio_cell(claim, ratio[1], reader.facts.throughput(base, best))
    undecided = any(text.startswith(("Not decided", "Nothing")) for text in part.texts)
    words = [_split(row["Confidence"])[0] for row in rows]
    claim = reader.claim("Decision")
    claim.require(undecided or not any(word.startswith("undecided") for word in words[:3]), "said as decided")


def _split(confidence: str) -> list[str]:
    """Return the certainty of both choices: one if it is the same."""
    return confidence.split("; ")


def _check_workload(
    reader: Reader, cell: str, need: str, shared: str, tokens: int | None, row: dict[str, str]
) -> None:
    name, _, figure = cell.rpartition(": ")
    best, claim = reader.brief(shared, name, tokens), reader.claim(f"Decision, {cell}")
    claim.require(best, "no such case")
    if best is None:
        return
    fit, known = reader.facts.fit(need, tokens), reader.chosen.setdefault((need, tokens), best)
    claim.require(known is best and best in fit, f"elsewhere it is {known['name']}")
    check_figure(claim, figure, need, best)
    words = _split(row["Confidence"])
    confidence = words[-1] if need == "latency" and "Latency" in row else words[0]
    _check_confidence(claim, confidence, need, best, fit)


def _check_memory(reader: Reader, row: dict[str, str], tokens: int | None) -> None:
    best = reader.chosen.get(("throughput", tokens)) or reader.chosen.get(("latency", tokens))
    match = re.fullmatch(rf"(\S+ [MG]B)(?: \(({NUMBER}) %\))?", row.get("Peak memory", ""))
    if best is None or match is None:
        return
    number, unit = parse_mb(match[1])
    peak, base = peak_mb(best) or 0.0, reader.facts.base_of(best)
    claim = reader.claim(f"Decision, {row['Peak memory']}")
    claim.require_value(number, peak / unit, "the peak")
    if match[2] and base:
        claim.require_value(match[2], 100 * (peak / (peak_mb(base) or 1.0) - 1), "the change")
