"""Decision: the answer for each work, a row per work, and other objectives that choose another case."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from benchtui.sessions.advice.conclusion import Conclusion, questions_of, remaining
from benchtui.sessions.advice.objectives import SPEED_NEEDS
from benchtui.sessions.report.content import Items, Section, items, section
from benchtui.sessions.report.overview.choices import BRIEF, Choices, choice_table, has_several_works, others
from benchtui.sessions.state.case import STATE_WORDS
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Work
from benchtui.sessions.sweep.options import OPTIONS
from benchtui.sessions.text.answers import answer_note
from benchtui.sessions.text.conclusion import (
    ChoiceRow,
    advice,
    certainty_so_far,
    choice_row,
    cost_text,
    nothing_measured,
)
from benchtui.sessions.text.formatting import capitalized, listed, memory, number, signed_percent
from benchtui.sessions.text.glossary import Phrase
from benchtui.sessions.text.labels import brief_labels, case_label, measured_amount
from benchtui.sessions.text.tables import Column, table
from benchtui.sessions.text.wording import (
    MILLION,
    SECONDS_AN_HOUR,
    Remark,
    accuracy_note,
    changing_text,
    compile_time,
    cost_of_a_million,
    export_time,
    figure,
    memory_change,
    sentences,
    unverified_note,
)

BILLION = 1000 * MILLION
SECONDS_A_DAY = 24 * SECONDS_AN_HOUR
MOST_ANSWERS = 3
"""Number of works with a sentence; all have a row."""
NO_CHOICE = "no two measured cases do the same work"


class WorkRow(msgspec.Struct, frozen=True):
    """Row of a work: its choices for throughput and latency, and what the first of them costs."""

    work: str
    throughput: ChoiceRow | None
    latency: ChoiceRow | None
    paid: Conclusion
    """The choice whose costs are shown: for throughput, or else for latency."""
    most_mb: float
    """Largest peak memory of all cases, whose unit the report uses."""
    price: str | None
    """Cost of a million samples."""


def decision(
    session: Session, made: Choices, varying: tuple[str, ...], per_hour: float | None = None
) -> tuple[Section | None, Section | None]:
    """Return the case to run for each work, and other objectives that choose another case.

    Without a choice, the answer is the reason.
    """
    several = has_several_works(made)
    in_works = [option.name for option in OPTIONS if option.work and several]
    named = [option for option in varying if option not in in_works]
    first = _first(made)
    most_mb = max((case.peak_memory_mb or 0.0 for case in session.cases), default=0.0)
    shared, rows = _work_rows(made, named, per_hour, most_mb, several=several)
    works = table(_COLUMNS, rows)
    notes = sentences(f"Every choice: {shared}" if shared else None, f"Baseline: {_baselines(first, named)}")
    rest = choice_table(others(made), partial(case_label, varied=named), BRIEF, several=several)
    answers = items(_answers(session, first, named)) or _nothing(session)
    return (
        section("Decision", answers, works, works and notes),
        section("Other objectives", rest),
    )


def completeness(session: Session) -> str:
    """Return how many cases were measured, and how the others ended."""
    tally = Counter(case.state for case in session.cases if not case.has_result)
    rest = [f"{amount:,} {STATE_WORDS.get(state, state)}" for state, amount in tally.items()]
    noun = "case" if session.start.source else "planned case"
    return f"Measured: {measured_amount(session, noun)}{f'; {listed(rest)}' if rest else ''}."


def _first(made: Choices) -> dict[Work, Conclusion]:
    """Return the choice that answers for each work: for throughput, or else for the first other need."""
    first: dict[Work, Conclusion] = {}
    for by_work in made.values():
        for work, conclusion in by_work.items():
            first.setdefault(work, conclusion)
    return first


def _nothing(session: Session) -> Items | None:
    measured = any(case.has_result for case in session.cases)
    return items([("Nothing to decide", f"{NO_CHOICE if measured else nothing_measured(session)}.")])


def _answers(session: Session, first: dict[Work, Conclusion], named: Sequence[str]) -> Iterator[Remark]:
    """Yield what to run, a sentence each for the first works. What isn't decided comes with what would."""
    undecided = [work for work in first.values() if not work.decided]
    blank = len(first) > 1 and not any(map(advice, first.values()))
    if blank:
        yield Remark("Nothing is decided", sentences(_to_decide(session, undecided)))
    for work, conclusion in list(first.items())[:MOST_ANSWERS]:
        where = f" at {work}" if len(first) > 1 else ""
        row = choice_row(conclusion, partial(case_label, varied=named))
        more = None if blank or conclusion.decided else _to_decide(session, [conclusion])
        if lead := advice(conclusion):
            answer = f"{_case_text(row, conclusion)}{_certainty(row)}"
            yield Remark(f"{lead}{where}", sentences(answer, more and capitalized(more)))
        else:
            rival = f"; next best {row.next_best}: {row.ahead}" if row.next_best else ""
            so_far = f"so far {row.case}, {row.figure}{rival}"
            yield Remark(
                f"Not decided{where}",
                sentences(f"{certainty_so_far(conclusion)}; {so_far}", more and capitalized(more)),
            )
        for faster in conclusion.choice.changing[:1]:
            name = case_label(faster.result.config, named)
            yield Remark(f"Faster{where}, with other answers", f"{changing_text(faster, name)}.")


def _case_text(row: ChoiceRow, conclusion: Conclusion) -> str:
    best = conclusion.best
    interval = f" ({row.interval})" if row.interval and row.decided else ""
    rate = None if best.config.label or row.need != "throughput" else best.metrics.samples_per_s
    suspect = answer_note(best.case) if best.case.has_other_answer else None
    parts = (
        f"{row.case}, {row.figure}{interval}",
        samples_per_day(rate, best.metrics.task.sample),
        _against(row),
        suspect and f"{suspect}: check them before you use it",
    )
    return ", ".join(part for part in parts if part)


def _certainty(row: ChoiceRow) -> str:
    """Say how certain a choice is, unless the verdict against its baseline says that it is reported."""
    reported = row.confidence == Phrase.AS_REPORTED and Phrase.REPORTED in (row.against_baseline or "")
    return "" if reported else f"; {row.confidence}"


def _against(row: ChoiceRow) -> str | None:
    """Say how the choice compares with its baseline."""
    if row.against_baseline in (None, Phrase.BASELINE):
        return row.against_baseline
    return f"against {Phrase.BASELINE} {row.against_baseline}"


def _to_decide(session: Session, undecided: Sequence[Conclusion]) -> str:
    """Say what it would cost to decide these choices."""
    rivals = [question for work in undecided for question in work.rivals]
    cost = remaining(session, questions_of(session) if session.start.sweep.find else rivals)
    if cost is None:
        return Phrase.NOTHING_DECIDES
    return f"{Phrase.TO_DECIDE}, measure {cost_text(cost)}: benchtui next SESSION"


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


def _work_rows(
    made: Choices, named: Sequence[str], per_hour: float | None, most_mb: float, *, several: bool
) -> tuple[str, list[WorkRow]]:
    """Return what the names of all choices for speed share, and a row for each work."""
    speed = [made[need] for need in SPEED_NEEDS]
    chosen = [conclusion for by_work in speed for conclusion in by_work.values()]
    configs = list(dict.fromkeys(conclusion.best.config for conclusion in chosen))
    if not configs:
        return "", []
    shared, own = brief_labels(configs, named)
    brief = dict(zip(configs, own, strict=True))

    def name(config: Config) -> str:
        return brief.get(config) or case_label(config, named)

    paid = {work: conclusion for by_work in reversed(speed) for work, conclusion in by_work.items()}

    def row(work: Work) -> WorkRow:
        throughput, latency = (by_work.get(work) for by_work in speed)
        return WorkRow(
            str(work) if several else "",
            choice_row(throughput, name) if throughput else None,
            choice_row(latency, name) if latency else None,
            paid[work],
            most_mb,
            number(cost_of_a_million(throughput.best if throughput else None, per_hour)),
        )

    return shared, [row(work) for work in dict.fromkeys(work for by_work in speed for work in by_work)]


def _baselines(first: dict[Work, Conclusion], named: Sequence[str]) -> str:
    """Name the baselines with their figures, or say why there is none."""
    figures: dict[str, list[str]] = {}
    for work, conclusion in first.items():
        where = f" at {work}" if len(first) > 1 else ""
        base = conclusion.baseline
        known = base and f"{figure(base, conclusion.choice.objective.need)}{where}"
        label = case_label(base.config, named) if base else f"none: {conclusion.no_baseline}"
        figures.setdefault(label, []).append(known or where.strip())
    return "; ".join(f"{label} ({listed(known)})" if any(known) else label for label, known in figures.items())


def _chosen(row: ChoiceRow | None) -> str | None:
    return f"{row.case}: {row.figure}" if row else None


def _confidence(row: WorkRow) -> str:
    """Return the certainty of the first choice, and that of the one for latency if it differs."""
    first, *other = [choice.confidence for choice in (row.throughput, row.latency) if choice]
    return first if set(other) <= {first} else f"{first}; latency: {other[0]}"


def _memory(row: WorkRow) -> str | None:
    best, base = row.paid.best, row.paid.baseline
    change = memory_change(best, base) if base and base is not best else None
    shown = memory(best.case.peak_memory_mb, row.most_mb)
    return f"{shown} ({signed_percent(change, 0)} %)" if change and round(change, 2) else shown


def _accuracy(paid: Conclusion) -> str | None:
    notes = (accuracy_note(paid.best, paid.baseline), unverified_note(paid.best))
    return "; ".join(filter(None, notes)) or None


_COLUMNS: tuple[Column[WorkRow], ...] = (
    Column("Workload", lambda row: row.work or None, right=False),
    Column("Throughput", lambda row: _chosen(row.throughput), right=False),
    Column("Latency", lambda row: _chosen(row.latency), right=False),
    Column("Peak memory", _memory, right=False),
    Column("Compile", lambda row: compile_time(row.paid.best, row.paid.baseline), right=False),
    Column("Exporting, loading", lambda row: export_time(row.paid.best, row.paid.baseline), right=False),
    Column("Accuracy", lambda row: _accuracy(row.paid), right=False),
    Column("Per million samples", lambda row: row.price),
    Column("Confidence", _confidence, right=False),
)
