"""Decision: the case to run for each need, in a few sentences and one table."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.advice.objectives import Need
from benchtui.sessions.compare.system_facts import Fact
from benchtui.sessions.report.sections.answers import suspects
from benchtui.sessions.report.sections.recommendations import BALANCED, OPTIMA, Recommendation
from benchtui.sessions.state.case import STATE_WORDS
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.formatting import listed, number
from benchtui.sessions.text.labels import case_label, measured_amount
from benchtui.sessions.text.tables import Column, Table, table
from benchtui.sessions.text.wording import (
    AS_REPORTED,
    MILLION,
    MOST_NAMES,
    SECONDS_AN_HOUR,
    baseline_cell,
    best_figure,
    changing_text,
    confidence,
    cost_of_a_million,
    costs,
    figure,
    unverified_note,
)

BILLION = 1000 * MILLION
SECONDS_A_DAY = 24 * SECONDS_AN_HOUR
NO_CHOICE = "Nothing to choose between: no two measured cases do the same work."


class DecisionSection(msgspec.Struct, frozen=True):
    """Contents of the section."""

    sentences: tuple[str, ...]
    table: Table | None
    facts: tuple[Fact, ...]
    """Baseline and terms that the table refers to."""


def decision(session: Session, choices: Sequence[Recommendation]) -> DecisionSection:
    """Return the case to run for each need. Without a measured case, the section only counts cases."""
    shown = _with_alternatives(choices)
    grouped = any(case.config.group for case in session.cases if case.has_result)
    nothing = NO_CHOICE if grouped and not choices else None
    runs = (*_runs(shown, "throughput"), *_runs(shown, "latency"))
    lines = (*runs, *_changing(shown), *suspects(shown), nothing, completeness(session))
    return DecisionSection(
        sentences=tuple(line for line in lines if line),
        table=table(_COLUMNS, shown, lambda choice: choice.best.metrics.samples_per_s),
        facts=(*_baselines(shown), *_legend(shown)),
    )


def _with_alternatives(choices: Sequence[Recommendation]) -> list[Recommendation]:
    """Keep only the first need of a work with a single case, which is the choice for all needs."""
    first: dict[Work, Need] = {}
    for choice in choices:
        first.setdefault(choice.best.config.work, choice.need)
    return [
        choice for choice in choices if choice.choice.runner_up or first[choice.best.config.work] == choice.need
    ]


def completeness(session: Session) -> str:
    """Return how many cases were measured, and how the others ended."""
    tally = Counter(case.state for case in session.cases if not case.has_result)
    others = [f"{amount:,} {STATE_WORDS.get(state, state)}" for state, amount in tally.items()]
    rest = f"; {listed(others)}" if others else ""
    noun = "case" if session.start.source else "planned case"
    return f"Measured: {measured_amount(session, noun)}{rest}."


def _runs(choices: Sequence[Recommendation], need: Need) -> Iterator[str]:
    """Yield the cases to run for a need, one for each work; then the candidates that aren't established."""
    chosen = [choice for choice in choices if choice.need == need]
    recommended = [choice for choice in chosen if choice.choice.recommended]
    reported = [choice for choice in recommended if choice.choice.as_reported]
    sure = [choice for choice in recommended if not choice.choice.as_reported]
    open_ones = [choice for choice in chosen if not choice.choice.recommended]
    if sure:
        yield f"For {need}, run {_named(sure)}."
    if reported:
        yield f"For {need}, run {_named(reported)}, {AS_REPORTED}."
    if open_ones:
        several = "s" if len(open_ones) > 1 else ""
        yield f"For {need}, no case is established as the best; candidate{several}: {_named(open_ones)}."


def _named(choices: Sequence[Recommendation]) -> str:
    named = [f"{_label(choice)} ({_with_doubt(choice)})" for choice in choices[:MOST_NAMES]]
    rest = len(choices) - len(named)
    more = [f"see the table for {rest:,} more"] if rest else []
    return listed([*named, *more])


def _with_doubt(choice: Recommendation) -> str:
    shown = figure(choice.best, choice.need)
    sure = choice.choice.established or choice.choice.as_reported
    return shown if sure else f"{shown}; {confidence(choice.choice)}"


def _changing(choices: Sequence[Recommendation]) -> Iterator[str]:
    """Yield the fastest case of each work that isn't recommended because of its answers."""
    for choice in choices:
        if choice.need == "throughput" and choice.choice.changing:
            rival = choice.choice.changing[0]
            yield f"{changing_text(rival, case_label(rival.result.config, choice.varying))}."


def _label(choice: Recommendation) -> str:
    return case_label(choice.best.config, choice.varying)


def _baselines(choices: Sequence[Recommendation]) -> tuple[Fact, ...]:
    """Return the baseline of each work, or why there is none."""
    fastest = (choice for choice in choices if choice.need == "throughput")
    return tuple((f"Baseline{choice.where}", _baseline(choice)) for choice in fastest)


def _baseline(choice: Recommendation) -> str:
    if choice.baseline is None:
        return f"none: {choice.no_baseline}"
    return f"{case_label(choice.baseline.config, choice.varying)}, {figure(choice.baseline, 'throughput')}"


def _legend(choices: Sequence[Recommendation]) -> tuple[Fact, ...]:
    return (("Balanced", BALANCED),) if any(choice.need == "balanced" for choice in choices) else ()


def _figure(choice: Recommendation) -> str:
    rate = None if choice.best.config.label else choice.best.metrics.samples_per_s
    daily = samples_per_day(rate, choice.best.metrics.task.sample) if choice.need == "throughput" else None
    return ", ".join(part for part in (best_figure(choice.choice), daily) if part)


def samples_per_day(rate: float | None, sample: str) -> str | None:
    """Format the samples per day at a rate per second. ``sample`` is the task's word for them."""
    if rate is None:
        return None
    amount = rate * SECONDS_A_DAY
    if amount >= BILLION:
        return f"about {number(amount / BILLION)} billion {sample}/day"
    if amount >= MILLION:
        return f"about {number(amount / MILLION, 1 if amount < 100 * MILLION else 0)} million {sample}/day"
    return f"about {number(amount)} {sample}/day"


def _costs(choice: Recommendation) -> str | None:
    price = number(cost_of_a_million(choice.best, choice.per_hour)) if choice.need == "throughput" else None
    parts = (
        costs(choice.best, choice.baseline),
        price and f"{price} per million samples",
        unverified_note(choice.best),
    )
    return "; ".join(part for part in parts if part) or None


_COLUMNS: tuple[Column[Recommendation], ...] = (
    Column("Need", lambda choice: f"{OPTIMA[choice.need]}{choice.where}", right=False),
    Column("Run", _label, right=False),
    Column("Figure (95% interval)", _figure, right=False),
    Column(
        "Against the baseline (95% interval)",
        lambda choice: baseline_cell(choice.best, choice.baseline, choice.need),
        right=False,
    ),
    Column("Confidence", lambda choice: confidence(choice.choice), right=False),
    Column("Costs", _costs, right=False),
)
