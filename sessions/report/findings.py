"""Sentences of judgement, each computed from the figures it carries and left out where there are none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.sessions.compare import baseline_of, pairs, throughput_ratio
from benchtui.sessions.optimal import NEEDS, Decision, Need, Wish, decide
from benchtui.sessions.report.facts import Fact, facts
from benchtui.sessions.report.gains import device_pairs
from benchtui.sessions.report.labels import STATES, case_label, precision, series_title
from benchtui.sessions.report.option_findings import gained
from benchtui.sessions.report.resources import Frontier, frontiers
from benchtui.sessions.report.text import count, listed, number, percent, time_ms
from benchtui.sessions.report.wording import (
    MILLION,
    SECONDS_AN_HOUR,
    Finding,
    against_baseline,
    against_others,
    cost_of_a_million,
    doubt,
    figure,
    sentences,
    sureness,
    times,
)
from benchtui.sessions.results import Result, Series, by_length, series, varied
from benchtui.sessions.scaling import Scaling, scaling
from benchtui.sessions.session import Session

SECONDS_A_DAY = 24 * SECONDS_AN_HOUR
NOTABLE_TOKENIZING = 0.1
"""Share of a step from which tokenizing is worth a sentence."""

LEADS: dict[Need, str] = {
    "throughput": "Highest throughput",
    "latency": "Shortest step",
    "energy": "Least energy",
}
"""The needs that the summary speaks of, with its words for them."""
OPTIMA: dict[Need, str] = {
    "throughput": "Maximum throughput",
    "latency": "Minimum latency",
    "memory": "Most throughput per MB of memory",
    "energy": "Least energy per sample",
    "balanced": "Balanced",
}
USES: dict[Need, str] = {
    "throughput": "For maximum throughput",
    "latency": "For minimum latency",
    "memory": "Where memory is scarce",
    "energy": "For least energy",
    "balanced": "For a balance of all",
}
BALANCED = (
    "the least product of time a sample and time of a step, with peak memory and energy where all have them"
)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best configuration for an objective, as facts under a heading."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Advised:
    """A choice among the cases of one sequence length, with the case it is held against."""

    need: Need
    choice: Decision
    best: Result
    where: str
    """``, 128 tokens`` where the length varies, else empty."""
    baseline: Result | None
    kinds: tuple[str, ...]
    """The options that vary in the session, which a case's label has to name."""
    per_hour: float | None
    """Price of an hour of the machine."""


def advised(
    session: Session, results: Sequence[Result], kinds: tuple[str, ...], per_hour: float | None = None
) -> list[Advised]:
    """The best case for each need and sequence length."""
    lengths, named = sorted(by_length(results)), session.start.sweep.measure.baseline
    wishes = [Wish(need, sequence_length=length) for need in NEEDS for length in lengths]
    decisions = [decide(session, wish, results) for wish in wishes]
    return [
        Advised(
            choice.wish.need,
            choice,
            choice.best,
            f", {choice.wish.sequence_length:,} tokens" if len(lengths) > 1 else "",
            baseline_of(choice.best, results, named),
            kinds,
            per_hour,
        )
        for choice in decisions
        if choice.best
    ]


def summary(session: Session, choices: Sequence[Advised]) -> list[Finding]:
    """What to run, how much better than the baseline that is, and how sure."""
    return [_completeness(session), *(_summed(each) for each in choices if each.need in LEADS)]


def optima(choices: Sequence[Advised]) -> list[Optimum]:
    """The best configuration for each need, in figures."""
    return [Optimum(f"{OPTIMA[each.need]}{each.where}", _optimum(each)) for each in choices]


def recommendations(session: Session, results: Sequence[Result], choices: Sequence[Advised]) -> list[Finding]:
    """What to use for which need."""
    kinds = varied(case.config for case in session.cases)
    return [
        *(Finding(f"{USES[each.need]}{each.where}", _use(each)) for each in choices),
        *(_fitting(each, kinds) for each in frontiers(session, results)),
        *gained("Device", device_pairs(results), "device"),
        *gained("Precision", pairs(results, "precision", "fp32"), "precision"),
        *gained("Compiling", pairs(results, "compile", "off"), "compile"),
    ]


def conclusion(results: Sequence[Result], choices: Sequence[Advised]) -> list[str]:
    """What the figures as a whole say: the fastest case, where larger batches stop paying, where time goes."""
    fastest = [each for each in choices if each.need == "throughput" and each.choice.runner_up]
    lengths = by_length(results)
    found = [_series_of(each.best, results) for each in fastest]
    scaled = [growth for each in found if (growth := scaling(each))]
    return [
        *(_fastest(each, len(lengths[each.best.config.sequence_length])) for each in fastest),
        *(_batching(growth) for growth in scaled),
        *_tokenizing(results),
    ]


def _series_of(result: Result, results: Sequence[Result]) -> Series:
    return next(each for each in series(results) if result in each.results)


def _completeness(session: Session) -> Finding:
    tally = Counter(case.state for case in session.cases)
    planned = len(session.cases)
    others = [f"{amount:,} {STATES.get(state, state)}" for state, amount in tally.items() if state != "ok"]
    rest = f"; {listed(others)}" if others else ""
    return Finding("Measured", f"{tally['ok']:,} of {count(planned, 'planned case')}{rest}.")


def _summed(each: Advised) -> Finding:
    versus = against_baseline(each.best, each.baseline, each.need, each.kinds)
    head = f"{case_label(each.best.config, each.kinds)}: {figure(each.best, each.need)}" + (
        f", {versus}" if versus else ""
    )
    lead = f"{LEADS[each.need]}{each.where}"
    return Finding(lead, sentences(head, against_others(each.choice, each.kinds), doubt(each.best)))


def _optimum(each: Advised) -> tuple[Fact, ...]:
    config = each.best.config
    return facts(
        ("Configuration", each.best.name),
        ("Batch size", config.batch_size),
        ("Precision", precision(config)),
        *_figures_of(each),
        ("How sure", sentences(against_others(each.choice, each.kinds), doubt(each.best))),
    )


def _figures_of(each: Advised) -> tuple[tuple[str, object], ...]:
    """What the case of a choice was measured at, as far as its need is concerned."""
    found, best = each.best.metrics, each.best
    match each.need:
        case "throughput":
            cost = cost_of_a_million(best, each.per_hour)
            return (
                ("Throughput", figure(best, "throughput")),
                ("A day at that rate", _a_day(best)),
                ("Cost of a million samples", number(cost, 4)),
            )
        case "latency":
            p99 = time_ms(found.latency_ms.p99)
            return (("Latency", figure(best, "latency")), ("p99", p99 and f"{p99} ms"))
        case "memory":
            return (("Throughput per MB", figure(best, "memory")),)
        case "energy":
            joules = found.energy_per_sample_j
            per_joule = f"{number(1 / joules, 2)} samples/J" if joules else None
            return (("Energy", figure(best, "energy")), ("Samples per joule", per_joule))
        case "balanced":
            return (("Balanced means", BALANCED), ("Figures", figure(best, "balanced")))


def _a_day(result: Result) -> str | None:
    rate = result.metrics.samples_per_s
    if rate is None:
        return None
    amount = rate * SECONDS_A_DAY
    rounded = f" ({number(amount / MILLION)} million)" if amount >= MILLION else ""
    return f"{number(amount)} samples/day{rounded}"


def _use(each: Advised) -> str:
    daily = _a_day(each.best) if each.need == "throughput" else None
    figures = ", ".join(part for part in (figure(each.best, each.need), daily) if part)
    label = case_label(each.best.config, each.kinds)
    return sentences(f"use {label}: {figures}; {sureness(each.choice)}", doubt(each.best))


def _fitting(each: Frontier, kinds: Sequence[str]) -> Finding:
    largest, too_large = each.largest.config.batch_size, each.too_large.config.batch_size
    return Finding(
        f"Memory, {series_title(each.series.config, kinds)}",
        f"stay at batch size {largest:,} or below; {too_large:,} ran out of memory.",
    )


def _batching(found: Scaling) -> str:
    """Where in a series throughput is highest, and what the largest batch gives."""
    first, last, peak = found.steps[0].result, found.steps[-1].result, found.peak.result
    config = peak.config
    subject = f"On {config.device} with {config.precision} at {config.sequence_length:,} tokens"
    if peak is first:
        return f"{subject}, no batch size above {config.batch_size:,} brings more throughput."
    gain = times(throughput_ratio(first, peak))
    rise = (
        f"{subject}, throughput is highest at batch size {config.batch_size:,}: {gain} that of {_size(first)}"
    )
    if peak is last:
        return f"{rise}; it is the largest size measured, and a larger one may bring more."
    return f"{rise}; batch size {_size(last)} gives {times(throughput_ratio(peak, last))} that of the peak."


def _size(result: Result) -> str:
    return f"{result.config.batch_size:,}"


def _fastest(each: Advised, cases: int) -> str:
    label = case_label(each.best.config, each.kinds)
    group = f"{count(cases, 'measured case')}{each.where}"
    return f"{label} has the highest throughput of {group}: {sureness(each.choice)}."


def _tokenizing(results: Sequence[Result]) -> list[str]:
    """Says so where tokenizing is a notable share of a step."""
    shares = [
        (result.metrics.parts_ms["tokenize"].mean / result.metrics.latency_ms.mean, result)
        for result in results
        if "tokenize" in result.metrics.parts_ms and result.metrics.latency_ms.mean > 0
    ]
    share, most = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if most is None or share < NOTABLE_TOKENIZING:
        return []
    return [f"Tokenizing, which is in the total, takes up to {percent(share, 1)} % of a step ({most.name})."]
