"""Summary, recommendations and conclusion: sentences computed from metrics, omitted if these are missing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.sessions.advice.objectives import NEEDS, Need, Objective
from benchtui.sessions.advice.optimal import Decision, decide
from benchtui.sessions.analysis.scaling import Scaling, scaling
from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.report.sections.gains import device_pairs
from benchtui.sessions.report.sections.memory_energy import Frontier, frontiers
from benchtui.sessions.report.sections.option_gains import Recommended, option_advice
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines, explain_missing_baseline
from benchtui.sessions.stats.ratios import pairs, throughput_ratio
from benchtui.sessions.stats.results import Result, Series, by_length, series, series_key, varied
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import capitalized, count, listed, number, percent, ratio_text, time_ms
from benchtui.sessions.text.labels import (
    STATES,
    case_label,
    choices_label,
    machine_label,
    precision,
    series_title,
)
from benchtui.sessions.text.wording import (
    MILLION,
    SECONDS_AN_HOUR,
    Finding,
    against,
    against_baseline,
    against_others,
    confidence,
    cost_of_a_million,
    costs,
    figure,
    sentences,
    unverified_note,
)

SECONDS_A_DAY = 24 * SECONDS_AN_HOUR
NOTABLE_TOKENIZING = 0.1
"""Minimum share of a step for tokenizing to be mentioned."""

LEADS: dict[Need, str] = {
    "throughput": "Highest throughput",
    "latency": "Shortest step",
    "energy": "Least energy",
}
"""Leads of the needs that the summary covers."""
OPTIMA: dict[Need, str] = {
    "throughput": "Maximum throughput",
    "latency": "Minimum latency",
    "memory": "Most throughput per MB of memory",
    "energy": "Least energy per sample",
    "steadiness": "Steadiest steps",
    "balanced": "Balanced",
}
USES: dict[Need, str] = {
    "throughput": "For maximum throughput",
    "latency": "For minimum latency",
    "memory": "Where memory is scarce",
    "energy": "For least energy",
    "steadiness": "For steady steps",
    "balanced": "For a balance of all",
}
BALANCED = "lowest time per sample x step time (x peak memory, x energy, where all cases have them)"


@dataclass(frozen=True, slots=True)
class Optimum:
    """Best configuration for a need, as a heading with facts."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Best case for a need at one sequence length, with the baseline to compare it with."""

    need: Need
    choice: Decision
    best: Result
    where: str
    """``, 128 tokens`` if there are several sequence lengths, else empty."""
    baseline: Result | None
    no_baseline: str
    """Why there is no baseline; empty if there is one."""
    varying: tuple[str, ...]
    """Options that vary in the session, to be named in case labels."""
    per_hour: float | None
    """Price of the machine per hour."""


def recommendations_by_need(
    session: Session, results: Sequence[Result], varying: tuple[str, ...], per_hour: float | None = None
) -> list[Recommendation]:
    """Return the best case for each need and sequence length."""
    named = session.start.sweep.measure.baseline
    lengths, bases = dict(sorted(by_length(results).items())), baselines(results, named)
    found = []
    for need in NEEDS:
        for length, rows in lengths.items():
            choice, base = decide(session, Objective(need, sequence_length=length), rows), bases.get(length)
            if choice.best:
                where = f", {length:,} tokens" if len(lengths) > 1 else ""
                why = "" if base else explain_missing_baseline(choice.best.config, session.cases, named)
                found.append(Recommendation(need, choice, choice.best, where, base, why, varying, per_hour))
    return found


def summary(session: Session, choices: Sequence[Recommendation]) -> list[Finding]:
    """Summarize how much was measured, what to run, its gain over the baseline, and how sure that is."""
    return [_completeness(session), *(_summary_of(each) for each in choices if each.need in LEADS)]


def optima(choices: Sequence[Recommendation]) -> list[Optimum]:
    """Return the best configuration for each need, with its metrics."""
    return [Optimum(f"{OPTIMA[each.need]}{each.where}", _optimum(each)) for each in choices]


def recommendations(
    session: Session, results: Sequence[Result], choices: Sequence[Recommendation]
) -> list[Finding]:
    """Return recommendations for each need, the batch sizes that fit in memory, and each option."""
    varying = varied(case.config for case in session.cases)
    chosen = Recommended(
        tuple(each.best.config for each in choices),
        tuple(each.best.config for each in choices if each.need in ("throughput", "latency")),
    )
    return [
        *(Finding(f"{USES[each.need]}{each.where}", _recommend(each)) for each in choices),
        *(_memory_limit(each, varying) for each in frontiers(session, results)),
        *option_advice("Device", device_pairs(results), "device", chosen),
        *option_advice("Precision", pairs(results, "precision", "fp32"), "precision", chosen),
        *option_advice("Compiling", pairs(results, "compile", "off"), "compile", chosen),
    ]


def conclusion(results: Sequence[Result], choices: Sequence[Recommendation]) -> list[str]:
    """Draw conclusions: the fastest case, where larger batches stop paying off, and time spent tokenizing."""
    fastest = [each for each in choices if each.need == "throughput" and each.choice.runner_up]
    lengths = by_length(results)
    growths = [(scaling(_series_of(each.best, results)), each.varying) for each in fastest]
    return [
        *(_fastest(each, len(lengths[each.best.config.sequence_length])) for each in fastest),
        *(_growth(growth, varying) for growth, varying in growths if growth),
        *_tokenizing(results),
    ]


def _series_of(result: Result, results: Sequence[Result]) -> Series:
    key = series_key(result.config)
    (found,) = series(each for each in results if series_key(each.config) == key)
    return found


def _completeness(session: Session) -> Finding:
    tally = Counter(case.state for case in session.cases)
    planned = len(session.cases)
    others = [f"{amount:,} {STATES.get(state, state)}" for state, amount in tally.items() if state != "ok"]
    rest = f"; {listed(others)}" if others else ""
    noun = "case" if session.start.source else "planned case"
    return Finding("Measured", f"{tally['ok']:,} of {count(planned, noun)}{rest}.")


def _summary_of(each: Recommendation) -> Finding:
    versus = against_baseline(each.best, each.baseline, each.need, each.varying)
    head = f"{case_label(each.best.config, each.varying)}: {figure(each.best, each.need)}" + (
        f", {versus}" if versus else ""
    )
    lead = f"{LEADS[each.need]}{each.where}"
    without = None if each.baseline else capitalized(f"no ratio to a baseline: {each.no_baseline}")
    rest = (against_others(each.choice, each.varying), _cost_note(each), without, unverified_note(each.best))
    return Finding(lead, sentences(head, *rest))


def _cost_note(each: Recommendation) -> str | None:
    """Describe what the case costs compared with its baseline."""
    found = costs(each.best, each.baseline)
    return f"It costs {found}" if found else None


def _optimum(each: Recommendation) -> tuple[Fact, ...]:
    config = each.best.config
    own = () if config.label else (("Batch size", config.batch_size), ("Precision", precision(config)))
    return facts(
        ("Configuration", each.best.name),
        *own,
        *_figures_of(each),
        ("How sure", sentences(against_others(each.choice, each.varying), unverified_note(each.best))),
    )


def _figures_of(each: Recommendation) -> tuple[tuple[str, object], ...]:
    """Return the metrics of the best case that matter for its need."""
    found, best = each.best.metrics, each.best
    match each.need:
        case "throughput":
            cost = cost_of_a_million(best, each.per_hour)
            return (
                ("Throughput", figure(best, "throughput")),
                ("A day at that rate", _samples_per_day(best)),
                ("Cost of a million samples", number(cost, 4)),
            )
        case "latency":
            p99 = time_ms(found.latency_ms.p99)
            return (("Latency", figure(best, "latency")), ("p99", p99 and f"{p99} ms"))
        case "memory":
            return (("Throughput per MB", figure(best, "memory")),)
        case "steadiness":
            tail = best.metrics.latency_ms
            p99 = f"p99 {time_ms(tail.p99)} ms, median {time_ms(tail.median)} ms" if tail.p99 else None
            return (("Spread", figure(best, "steadiness")), ("Slow steps", p99))
        case "energy":
            joules = found.energy_per_sample_j
            per_joule = f"{number(1 / joules, 2)} samples/J" if joules else None
            return (("Energy", figure(best, "energy")), ("Samples per joule", per_joule))
        case "balanced":
            return (("Balanced means", BALANCED), ("Figures", figure(best, "balanced")))


def _samples_per_day(result: Result) -> str | None:
    rate = result.metrics.samples_per_s
    if rate is None:
        return None
    amount = rate * SECONDS_A_DAY
    if amount >= MILLION:
        return f"about {number(amount / MILLION, 1 if amount < 100 * MILLION else 0)} million samples/day"
    return f"about {number(round(amount, -2) if amount >= 1000 else amount, 0)} samples/day"


def _recommend(each: Recommendation) -> str:
    daily = _samples_per_day(each.best) if each.need == "throughput" else None
    figures = ", ".join(part for part in (figure(each.best, each.need), daily) if part)
    label = case_label(each.best.config, each.varying)
    return sentences(
        f"use {label}: {figures}; {confidence(each.choice)}", _cost_note(each), unverified_note(each.best)
    )


def _memory_limit(each: Frontier, varying: Sequence[str]) -> Finding:
    largest, too_large = each.largest.config.batch_size, each.too_large.config.batch_size
    stay = f"stay at batch size {largest:,} or below; {too_large:,} ran out of memory"
    if too_large < largest:
        stay = f"batch size {too_large:,} ran out of memory, although {largest:,} didn't"
    return Finding(f"Memory, {series_title(each.series.config, varying)}", f"{stay}.")


def _growth(found: Scaling, varying: Sequence[str]) -> str:
    """Describe at which batch size throughput is highest, and what the largest batch gives."""
    first, last, peak = found.steps[0].result, found.steps[-1].result, found.peak.result
    config = peak.config
    what = choices_label(config, varying)
    subject = f"On {machine_label(config)} with {what} at {config.sequence_length:,} tokens"
    if peak is first:
        return f"{subject}, no batch size above {config.batch_size:,} brings more throughput."
    gain = _throughput_against(first, peak, f"that of {_size(first)}")
    rise = f"{subject}, throughput is highest at batch size {config.batch_size:,}: {gain}"
    if peak is last:
        return f"{rise}; it is the largest size measured{_still_rising(found)}."
    return f"{rise}; batch size {_size(last)} gives {_throughput_against(peak, last, 'that of the peak')}."


def _throughput_against(base: Result, new: Result, other: str) -> str:
    """Compare two throughputs at typical steps. If all steps together contradict that, give both ratios."""
    ratio, rates = throughput_ratio(base, new), [each.metrics.samples_per_s or 0.0 for each in (base, new)]
    if ratio is None or (ratio.value - 1) * (rates[1] - rates[0]) >= 0:
        return against(ratio, other)
    by_all = ratio_text(rates[1] / rates[0], ratio.value)
    return f"{by_all} × {other} by all steps together, {ratio_text(ratio.value)} × by typical steps"


def _still_rising(found: Scaling) -> str:
    """Mention that throughput was still rising, if the last batch size certainly gained something."""
    gain = found.steps[-1].gain
    rising = gain is not None and gain.verdict is Verdict.FASTER
    return ", and throughput was still rising" if rising else ""


def _size(result: Result) -> str:
    return f"{result.config.batch_size:,}"


def _fastest(each: Recommendation, cases: int) -> str:
    label = case_label(each.best.config, each.varying)
    group = f"{count(cases, 'measured case')}{each.where}"
    return f"{label} is the one to run for throughput, of {group}: {confidence(each.choice)}."


def _tokenizing(results: Sequence[Result]) -> list[str]:
    """Mention tokenizing if it takes a notable share of a step."""
    shares = [
        (result.metrics.parts_ms["tokenize"].mean / result.metrics.latency_ms.mean, result)
        for result in results
        if "tokenize" in result.metrics.parts_ms and result.metrics.latency_ms.mean > 0
    ]
    share, most = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if most is None or share < NOTABLE_TOKENIZING:
        return []
    return [f"Tokenizing, which is in the total, takes up to {percent(share, 1)} % of a step ({most.name})."]
