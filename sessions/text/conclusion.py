"""Conclusion of a session in words: the case to run, its rivals and costs, and what stays open."""

from collections import Counter
from collections.abc import Callable, Iterator
from math import ceil
from operator import attrgetter

import msgspec

from benchtui.sessions.advice.conclusion import Conclusion, Conclusions, Remaining
from benchtui.sessions.advice.objectives import Need
from benchtui.sessions.advice.optimal import NEAR_ENOUGH, Decision
from benchtui.sessions.metrics.views import COMPARED_BY
from benchtui.sessions.state.case import STATE_WORDS
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED
from benchtui.sessions.stats.results import Result
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import count, memory, number, time_ms
from benchtui.sessions.text.quantities import with_unit
from benchtui.sessions.text.wording import (
    Phrase,
    baseline_cell,
    bound_text,
    confidence,
    costs,
    figure,
    figure_interval,
    ratio_cell,
    unverified_note,
)

NameOf = Callable[[Config], str]
BY_NAME: NameOf = attrgetter("name")
Fact = tuple[str, str]
"""What a sentence is about, and the sentence."""
SECONDS_A_MINUTE = 60


class ChoiceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Choice for one need and work as fields of text: the same in reports, commands and on the screen."""

    need: Need
    case: str
    figure: str
    interval: str | None
    """95% interval of the figure. The best of several equals was partly lucky, so it has none."""
    against_baseline: str | None
    baseline: str
    """Baseline with its figure, or why there is none."""
    next_best: str | None
    """Case that may be better, else the next, with its figure."""
    ahead: str | None
    """How many times as good the choice is as that case, with the verdict and its reason."""
    confidence: str
    decided: bool
    costs: str | None


def choice_row(conclusion: Conclusion, name: NameOf = BY_NAME) -> ChoiceRow:
    """Return the fields of a choice. ``name`` names a configuration, in full by default."""
    choice, best, rival = conclusion.choice, conclusion.best, conclusion.rival
    base = conclusion.baseline
    sure = certainty_so_far(conclusion)
    return ChoiceRow(
        need=choice.objective.need,
        case=name(best.config),
        figure=figure(best, choice.objective.need),
        interval=None if choice.tied else figure_interval(best, choice.objective.need),
        against_baseline=baseline_cell(best, base, conclusion.against_baseline),
        baseline=_named(base, choice, name) if base else f"none ({conclusion.no_baseline})",
        next_best=_named(rival[0], choice, name) if rival else None,
        ahead=ratio_cell(rival[1]) if rival else None,
        confidence=sure if conclusion.decided else f"{Phrase.UNDECIDED}: {sure}",
        decided=conclusion.decided,
        costs="; ".join(filter(None, (costs(best, base), unverified_note(best)))) or None,
    )


def nothing_measured(session: Session) -> str:
    """Say how the cases ended if none can be recommended, with the reason that most of them share."""
    if any(case.state == "ok" for case in session.cases):
        return "no measured case meets the constraints"
    tally = Counter((case.state, case.finished and case.finished.reason) for case in session.cases)
    if not tally:
        return "nothing was measured: the sweep has no cases"
    (state, reason), amount = tally.most_common(1)[0]
    ended = f"{amount:,} of {count(len(session.cases), 'case')} {STATE_WORDS.get(state, state)}"
    return f"nothing was measured: {ended}" + (f": {reason}" if reason else "")


def advice(conclusion: Conclusion) -> Phrase | None:
    """Return whether to run the best case, or to run it for now; None if too little is known.

    A case that is surely better than its baseline is worth running, and so is one that is likely near the best.
    """
    if conclusion.decided:
        return Phrase.RUN
    loss = conclusion.choice.likely_within
    near = loss is not None and loss <= NEAR_ENOUGH
    return Phrase.RUN_FOR_NOW if conclusion.better_than_baseline or near else None


def headline(conclusion: Conclusion, where: str = "") -> str:
    """Name the case to run with its figures, or say first that it isn't decided which one is best.

    ``where`` names the work if there are several.
    """
    best = conclusion.best
    rate = figure(best, "throughput") if best.metrics.samples_per_s else None
    run = f"{best.name}: {', '.join(filter(None, (rate, *costs_per_step(best))))}"
    place = f" at {where}" if where else ""
    if lead := advice(conclusion):
        return f"{lead.lower()}{place} {run}"
    return f"not decided{place}: {certainty_so_far(conclusion)}; so far {run}"


def certainty_so_far(conclusion: Conclusion) -> str:
    """Say in a few words how certain the best case is, or how many others may turn out to be better."""
    if conclusion.decided:
        return confidence(conclusion.choice)
    doubt = f"{count(len(conclusion.rivals), 'other')} {Phrase.MAY_BE_BETTER}"
    if conclusion.choice.likely_within is not None:
        percent = number(100 * conclusion.choice.likely_within, 0)
        return f"likely {Phrase.WITHIN} {percent} % of the best; {doubt}"
    bound = bound_text(conclusion.choice)
    return f"{doubt}, by {bound} at most" if bound else doubt


def costs_per_step(result: Result) -> list[str]:
    """Format step time, peak memory and energy of a case, as far as they are known."""
    step = f"{time_ms(result.typical_ms)} ms per step"
    parts = (step, memory(result.case.peak_memory_mb), with_unit(COMPARED_BY["energy"], result))
    return list(filter(None, parts))


def fields(row: ChoiceRow) -> Iterator[Fact]:
    """Yield the fields of a choice that say how good and how certain it is, most important first."""
    against = row.against_baseline
    texts = {
        "confidence": row.confidence,
        "next best": row.next_best and f"{row.next_best}: {row.ahead}",
        "baseline": f"{row.baseline}: {against or 'no ratio'}" if against != Phrase.BASELINE else "this case",
        "costs": row.costs,
    }
    yield from ((about, text) for about, text in texts.items() if text)


def facts(conclusion: Conclusion, name: NameOf = BY_NAME) -> Iterator[Fact]:
    """Yield the fields of the case to run, its marks, and the case to run for another need."""
    yield from fields(choice_row(conclusion, name))
    if marks := [mark for mark in conclusion.best.case.marks if mark != SIMULATED]:
        yield "marked", ", ".join(marks)
    other = conclusion.alternative
    if other and other.best:
        yield other.objective.need, f"{_named(other.best, other, name)}, {confidence(other)}"


def _named(result: Result, choice: Decision, name: NameOf) -> str:
    """Name a case with the figure that it is compared by."""
    return f"{name(result.config)}, {figure(result, choice.objective.need)}"


def open_text(conclusions: Conclusions) -> str:
    """Say how many questions are open, and what it would cost to decide them."""
    late = sum(len(question.cases) for question in conclusions.open if question.late)
    amount = len(conclusions.open)
    if not amount:
        return "nothing: every verdict is decided"
    every, remaining = "it" if amount == 1 else "them", conclusions.remaining
    questions = count(amount, "question")
    if late:
        questions += f" ({count(late, 'case')} not measured for lack of time)"
    if remaining is None:
        return f"{questions}; more measurements don't decide {every}"
    these = every if remaining.questions == amount else f"{remaining.questions:,} of them"
    return f"{questions}; {cost_text(remaining)} would decide {these}"


def cost_text(remaining: Remaining) -> str:
    """Format the rounds and the time of a measurement."""
    rounds = count(remaining.rounds, "more round") if remaining.rounds else "further rounds"
    rounds += f" of {count(remaining.cases, 'case')}"
    return rounds if remaining.seconds is None else f"{rounds} ({about_time(remaining.seconds)})"


def about_time(seconds: float) -> str:
    """Format an expected duration in minutes, or in seconds if it is shorter than one and a half."""
    if seconds < 1.5 * SECONDS_A_MINUTE:
        return f"about {max(1, round(seconds))} s"
    return f"about {count(ceil(seconds / SECONDS_A_MINUTE), 'minute')}"
