"""Sentences of judgement, each computed from the figures it carries and left out where there are none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.sessions.advice import OBJECTIVES, Choice, Objective, best
from benchtui.sessions.compare import baseline_of, pairs, throughput_ratio
from benchtui.sessions.report.facts import Fact, facts
from benchtui.sessions.report.gains import device_pairs
from benchtui.sessions.report.labels import STATES, case_label, precision, series_title
from benchtui.sessions.report.option_findings import gained
from benchtui.sessions.report.text import count, listed, number, percent, time_ms
from benchtui.sessions.report.wording import (
    Finding,
    against_baseline,
    against_others,
    doubt,
    figure,
    sentences,
    sureness,
    times,
)
from benchtui.sessions.results import Result, Series, by_length, series, series_key, varied
from benchtui.sessions.scaling import Scaling, scaling
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import Baseline

SECONDS_A_DAY = 86_400
MILLION = 1_000_000
NOTABLE_TOKENIZING = 0.1
"""Share of a step from which tokenizing is worth a sentence."""

LEADS: dict[Objective, str] = {
    "throughput": "Highest throughput",
    "latency": "Shortest step",
    "energy": "Least energy",
}
OPTIMA: dict[Objective, str] = {
    "throughput": "Maximum throughput",
    "latency": "Minimum latency",
    "energy": "Least energy per sample",
}
NEEDS: dict[Objective, str] = {
    "throughput": "For maximum throughput",
    "latency": "For minimum latency",
    "energy": "For least energy",
}


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best configuration for an objective, as facts under a heading."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Advised:
    """A choice among the cases of one sequence length, with the case it is held against."""

    choice: Choice
    where: str
    """``, 128 tokens`` where the length varies, else empty."""
    baseline: Result | None
    kinds: tuple[str, ...]
    """The options that vary in the session, which a case's label has to name."""


def advised(results: Sequence[Result], named: Baseline | None, kinds: tuple[str, ...]) -> list[Advised]:
    """The best case for each objective and sequence length."""
    lengths = by_length(results)
    found = [(length, best(rows, objective)) for objective in OBJECTIVES for length, rows in lengths.items()]
    return [
        Advised(
            choice,
            f", {length:,} tokens" if len(lengths) > 1 else "",
            baseline_of(choice.best, results, named),
            kinds,
        )
        for length, choice in found
        if choice
    ]


def summary(session: Session, choices: Sequence[Advised]) -> list[Finding]:
    """What to run, how much better than the baseline that is, and how sure."""
    return [_completeness(session), *(_summed(each) for each in choices)]


def optima(choices: Sequence[Advised]) -> list[Optimum]:
    """The best configuration for each objective, in figures."""
    return [
        Optimum(f"{OPTIMA[each.choice.objective]}{each.where}", _optimum(each.choice, each.kinds))
        for each in choices
    ]


def recommendations(session: Session, results: Sequence[Result], choices: Sequence[Advised]) -> list[Finding]:
    """What to use for which need."""
    return [
        *(
            Finding(f"{NEEDS[each.choice.objective]}{each.where}", _use(each.choice, each.kinds))
            for each in choices
        ),
        *_frontiers(session, results),
        *gained("Device", device_pairs(results), "device"),
        *gained("Precision", pairs(results, "precision", "fp32"), "precision"),
        *gained("Compiling", pairs(results, "compile", "off"), "compile"),
    ]


def conclusion(results: Sequence[Result], choices: Sequence[Advised]) -> list[str]:
    """What the figures as a whole say: the fastest case, where larger batches stop paying, where time goes."""
    fastest = [each for each in choices if each.choice.objective == "throughput" and each.choice.runner_up]
    lengths = by_length(results)
    found = [_series_of(each.choice.best, results) for each in fastest]
    scaled = [growth for each in found if (growth := scaling(each))]
    return [
        *(_fastest(each, len(lengths[each.choice.best.config.sequence_length])) for each in fastest),
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
    choice = each.choice
    versus = against_baseline(choice.best, each.baseline, choice.objective, each.kinds)
    head = f"{case_label(choice.best.config, each.kinds)}: {figure(choice.best, choice.objective)}" + (
        f", {versus}" if versus else ""
    )
    lead = f"{LEADS[choice.objective]}{each.where}"
    return Finding(lead, sentences(head, against_others(choice, each.kinds), doubt(choice.best)))


def _optimum(choice: Choice, kinds: Sequence[str]) -> tuple[Fact, ...]:
    config, best = choice.best.config, choice.best.metrics
    figures: dict[Objective, tuple[tuple[str, object], ...]] = {
        "throughput": (
            ("Throughput", figure(choice.best, "throughput")),
            ("A day at that rate", _a_day(choice.best)),
        ),
        "latency": (
            ("Latency", figure(choice.best, "latency")),
            ("p99", _with_unit(time_ms(best.latency_ms.p99), "ms")),
        ),
        "energy": (("Energy", figure(choice.best, "energy")),),
    }
    return facts(
        ("Configuration", choice.best.name),
        ("Batch size", config.batch_size),
        ("Precision", precision(config)),
        *figures[choice.objective],
        ("How sure", sentences(against_others(choice, kinds), doubt(choice.best))),
    )


def _a_day(result: Result) -> str | None:
    rate = result.metrics.samples_per_s
    if rate is None:
        return None
    amount = rate * SECONDS_A_DAY
    rounded = f" ({number(amount / MILLION)} million)" if amount >= MILLION else ""
    return f"{number(amount)} samples/day{rounded}"


def _with_unit(text: str | None, unit: str) -> str | None:
    return text and f"{text} {unit}"


def _use(choice: Choice, kinds: Sequence[str]) -> str:
    daily = _a_day(choice.best) if choice.objective == "throughput" else None
    figures = ", ".join(part for part in (figure(choice.best, choice.objective), daily) if part)
    label = case_label(choice.best.config, kinds)
    return sentences(f"use {label}: {figures}; {sureness(choice)}", doubt(choice.best))


def _frontiers(session: Session, results: Sequence[Result]) -> list[Finding]:
    """Where memory ends: the largest batch size that ran in a series, and the smallest that didn't fit."""
    kinds = varied(case.config for case in session.cases)
    found = ((each, _too_large(session, each)) for each in series(results))
    return [
        Finding(
            f"Memory, {series_title(each.config, kinds)}",
            f"stay at batch size {each.results[-1].config.batch_size:,} or below; {size:,} ran out of memory.",
        )
        for each, size in found
        if size is not None
    ]


def _too_large(session: Session, found: Series) -> int | None:
    key, largest = series_key(found.config), found.results[-1].config.batch_size
    sizes = [
        case.config.batch_size
        for case in session.cases
        if case.state == "oom" and series_key(case.config) == key
    ]
    return min((size for size in sizes if size > largest), default=None)


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
    choice = each.choice
    label = case_label(choice.best.config, each.kinds)
    group = f"{count(cases, 'measured case')}{each.where}"
    return f"{label} has the highest throughput of {group}: {sureness(choice)}."


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
