"""Check the fields of the choices: case, figure, ratios and costs; and the row of each workload."""

import re
from dataclasses import replace

from .facts import (
    NEEDS_BY_TITLE,
    SPEED,
    Pair,
    Row,
    changes_answer,
    comparable_memory,
    cost,
    peak_mb,
    step_ms,
    token_rate,
)
from .reader import NUMBER, Claim, Part, Reader, Rows, half_digit, memory_rounds_to, parse_number, rounds_to

LANGUAGE = ("lm-forward", "lm-train")
"""Tasks whose throughput is given in tokens."""
CELL = re.compile(rf"({NUMBER}) ×(?: \(({NUMBER}) to ({NUMBER})\))?, (\w+)(?:: .+)?")


def check_choices(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the table of choices, or that of other objectives, whose names leave out the workload."""
    for row in rows:
        title, _, work = row["Need"].partition(", ")
        need, length = NEEDS_BY_TITLE.get(title, title), reader.length(work)
        claim = reader.claim(f"{part.section}, {row['Need']}")
        claim.require(need not in SPEED or part.section == "Choices", "it isn't another objective")
        _check_choice(claim, row, need, length, reader.brief("", row["Run"], length))


def _check_choice(claim: Claim, row: dict[str, str], need: str, length: int | None, best: Row | None) -> None:
    fit = claim.facts.fit(need, length) if need in NEEDS_BY_TITLE.values() else []
    if best is None or best not in fit:
        claim.require(False, f"{row['Run']} isn't one to choose from")
        return
    claim.is_chosen(best, need, length)
    tied = row["Confidence"].startswith("indistinguishable")
    check_figure(claim, row["Figure"], need, best, tied=tied)
    if against := row.get("Against the baseline"):
        base = claim.facts.base_of(best)
        claim.require(base and (base is best) == (against == "the baseline"), f"its baseline is {base}")
        if base and base is not best:
            claim.require(base["sequence_length"] == best["sequence_length"], "a baseline of another length")
            check_ratio(claim, against, claim.facts.pair(need, base, best, fit))
    if "Next best" in row and "Ahead of it by" in row:
        other, figure = claim.reader.named_first(row["Next best"])
        claim.require(other in fit and other is not best, f"{other['name']} isn't another to choose from")
        check_figure(claim, figure, need, other, tied=True)
        check_ratio(claim, row["Ahead of it by"], claim.facts.pair(need, other, best, fit))
    if "Costs" in row:
        _check_costs(claim, row["Costs"], best)


def check_figure(claim: Claim, shown: str, need: str, row: Row, *, tied: bool = False) -> None:
    """Check ``224,000 tokens/s (223,000 to 225,000)``: the metric of a need, and its interval."""
    numbers = re.findall(NUMBER, shown.removeprefix("p90 ").removesuffix(" above p50"))
    if need == "balanced":  # each part is a figure of the case: 224,000 tokens/s, 4.10 ms, 13.2 GiB
        peak = peak_mb(row) or 0.0
        rates = row["samples_per_s"], row["new_tokens_per_s"], token_rate(row)
        figures = (*rates, step_ms(row), peak / 1.048576, peak / 1073.741824)
        strange = [number for number in numbers if not any(rounds_to(number, each) for each in figures)]
        claim.require(not strange, f"{strange} are no figures of {row['name']}")
        return
    value, low, high = _metric(claim, need, row)
    claim.require_value(numbers[0], value, f"of {row['name']}: the figure for {need}")
    claim.require(len(numbers) < 4, "one figure, or with both ends of its interval")
    if len(numbers) > 1 and low is not None and high is not None:
        claim.require(not tied, "the best of several has an interval of its own")
        claim.require_value(numbers[1], low, "the lower end")
        claim.require_value(numbers[-1], high, "the upper end")


def _metric(claim: Claim, need: str, row: Row) -> tuple[float | None, ...]:
    """Return the metric of a need and its interval, as far as the JSON has it."""
    rate = row["samples_per_s"] or 0.0
    tokens = row["new_tokens_per_s"]
    if tokens is None and claim.facts.session["task"] in LANGUAGE:
        tokens = token_rate(row)
    size = tokens / rate if tokens and rate else 1.0
    match need:
        case "throughput":
            ends = (row["samples_per_s_low"], row["samples_per_s_high"])
            return size * rate, *(None if end is None else size * end for end in ends)
        case "latency":
            return step_ms(row), row["latency_typical_low_ms"], row["latency_typical_high_ms"]
        case "memory":
            named = row["sample"] not in ("sample", "request")
            per_s = row["new_tokens_per_s"] or token_rate(row)
            return (rate if named or not per_s else per_s) / (peak_mb(row) or 1.0) * 1073.741824, None, None
        case "energy":
            return tuple(row[f"energy_per_sample{end}_j"] for end in ("", "_low", "_high"))
    return cost(need, row), None, None


def check_ratio(claim: Claim, shown: str, pair: Pair) -> None:
    """Check ``1.67 × (1.26 to 1.98), FASTER``: ratio, interval, and a verdict that its interval allows."""
    if shown == "UNSURE: load or clock may explain it":  # next to a neighbor, nothing follows from a ratio
        claim.require(pair.low is None and "UNSURE" in pair.words, f"the verdict is {pair.words} of {pair}")
        return
    match = CELL.fullmatch(shown)
    if match is None:
        claim.require(False, f"{shown!r} is no ratio with a verdict")
        return
    value, low, high, verdict = match.groups()
    if pair.exact:
        claim.require_value(value, pair.value, "the ratio")
    if low and pair.known:
        claim.require_value(low, pair.low, "the lower bound")
        claim.require_value(high, pair.high, "the upper bound")
        slack = half_digit(value)
        inside = parse_number(low) - slack <= parse_number(value) <= parse_number(high) + slack
        claim.require(inside, "the ratio lies outside its interval")
    elif low:  # no JSON judges it, but its own interval does
        ends = parse_number(low) + half_digit(low), parse_number(high) - half_digit(high)
        pair = replace(pair, low=ends[0], high=ends[1])
    claim.require(verdict in pair.words, f"the verdict is {pair.words} of {pair}")
    seen = re.search(rf"can't resolve below ({NUMBER}) ([%×])", shown)
    if seen and pair.resolution is not None:
        resolution = 100 * pair.resolution if seen[2] == "%" else 1 + pair.resolution
        claim.require_value(seen[1], resolution, "the resolution")


def _check_costs(claim: Claim, shown: str, best: Row) -> None:
    """Check the peak memory and compile time that a choice costs, and that nothing is left out."""
    base = claim.facts.base_of(best)
    memory = re.search(rf"({NUMBER}) % peak memory \((\S+ [MG]iB) to (\S+ [MG]iB)\)", shown)
    if memory and base:
        claim.require_value(memory[1], _more_memory(best, base), "more memory")
        claim.require(memory_rounds_to(memory[2], peak_mb(base)), f"the peak of {base['name']}")
        claim.require(memory_rounds_to(memory[3], peak_mb(best)), f"the peak of {best['name']}")
        claim.require(comparable_memory(best, base), "memory of another kind")
    if compiling := re.search(rf"({NUMBER}) s of compile time", shown):
        claim.require_value(compiling[1], (best["cold_cost_ms"] or 0.0) / 1000, "the compile time")
        claim.require(best["compile"] not in ("off", None), "it isn't compiled")
    changed = best["precision"] not in ("fp32", "unknown", base and base["precision"])
    claim.require(not changed or best["answer"] or "accuracy not measured" in shown, "nothing of accuracy")
    claim.require(not changes_answer(best) or "answers" in shown, "nothing is said of its answers")


def _more_memory(best: Row, base: Row) -> float:
    return 100 * ((peak_mb(best) or 0.0) / (peak_mb(base) or 1.0) - 1)


def check_decision(reader: Reader, part: Part, rows: Rows) -> None:
    """Check the answers against the rows of the workloads, and these against the results."""
    shared = next(iter(re.findall(r"Every choice: (.+?)\. Baseline", " ".join(part.texts))), "")
    for row in rows:
        tokens = reader.length(row.get("Workload", ""))
        first, _, other = row["Confidence"].partition("; latency: ")
        for need in SPEED:
            if cell := row.get(need.capitalize()):
                name, _, figure = cell.rpartition(": ")
                own = other if other and need == "latency" else first
                choice = {"Run": name, "Figure": figure, "Confidence": own}
                best, claim = reader.brief(shared, name, tokens), reader.claim(f"Decision, {cell}")
                _check_choice(claim, choice, need, tokens, best)
        _check_memory(reader, row.get("Peak memory", ""), tokens)
    for text in part.texts:
        if ratio := re.search(r"against the baseline (.+?)(?:, answers|;)", text):
            best = reader.chosen.get(("throughput", reader.length(text.partition(": ")[0])))
            claim, base = reader.claim(f"Decision, {text}"), reader.facts.base_of(best) if best else None
            if best and base:
                check_ratio(claim, ratio[1], reader.facts.throughput(base, best))


def _check_memory(reader: Reader, shown: str, tokens: int | None) -> None:
    best = reader.chosen.get(("throughput", tokens)) or reader.chosen.get(("latency", tokens))
    match = re.fullmatch(rf"(\S+ [MG]iB)(?: \(({NUMBER}) %\))?", shown)
    if best is None or match is None:
        return
    claim, base = reader.claim(f"Decision, {shown}"), reader.facts.base_of(best)
    claim.require(memory_rounds_to(match[1], peak_mb(best)), "the peak")
    if match[2] and base:
        claim.require_value(match[2], _more_memory(best, base), "the change")
