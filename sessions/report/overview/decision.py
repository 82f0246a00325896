"""Decision: the answer for each work, a row per work, and other objectives that choose another case."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.advice.conclusion import Conclusion, conclude_work, questions_of, remaining
from benchtui.sessions.advice.objectives import NEEDS, SPEED_NEEDS, Need, is_need_of, session_objective
from benchtui.sessions.advice.open_questions import speed_decisions
from benchtui.sessions.advice.optimal import Decision
from benchtui.sessions.report.content import Items, Section, items, section
from benchtui.sessions.state.case import STATE_WORDS
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, by_work
from benchtui.sessions.sweep import Config, Work
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
from benchtui.sessions.text.labels import brief_names, measured_amount
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import (
    MILLION,
    SECONDS_AN_HOUR,
    Phrase,
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

OPTIMA: dict[Need, str] = {
    "throughput": "Maximum throughput",
    "latency": "Minimum latency",
    "memory": "Most throughput per GiB",
    "energy": "Least energy per sample",
    "steadiness": "Steadiest steps",
    "balanced": "Balanced",
}
Choices = dict[Need, dict[Work, Conclusion]]


def choices(session: Session, results: Sequence[Result]) -> Choices:
    """Return the choice for each need and work.

    A group of another tool with a single case is left out, because it offers no choice. So is the steadiest
    case, unless it is surely the steadiest of those that are as fast as the fastest.
    """
    decisions = speed_decisions(session, results)
    works = {work: rows for work, rows in by_work(results).items() if not (work.group and len(rows) == 1)}
    made: Choices = {need: {} for need in NEEDS}
    for need in NEEDS:
        for work, rows in works.items():
            able = _ties(decisions, work) if need == "steadiness" else rows
            if not able or not is_need_of(need, able):
                continue
            conclusion = conclude_work(session, session_objective(session, need, work), able, decisions)
            if conclusion and (need != "steadiness" or conclusion.choice.clear):
                made[need][work] = conclusion
    return made


def _ties(decisions: Sequence[Decision], work: Work) -> tuple[Result, ...]:
    """Return the case with the highest throughput and those that can't be distinguished from it, if any."""
    speeds = (choice for choice in decisions if choice.objective.need == "throughput")
    fastest = next(choice for choice in speeds if choice.objective.work == work)
    return (fastest.best, *fastest.ties) if fastest.best and fastest.ties else ()


def others(made: Choices) -> Choices:
    """Return the decided choices for needs other than speed that are neither of the choices for speed."""
    fast = {conclusion.best.case.index for need in SPEED_NEEDS for conclusion in made[need].values()}
    return {
        need: {
            work: conclusion
            for work, conclusion in of_works.items()
            if conclusion.best.case.index not in fast and conclusion.starred
        }
        for need, of_works in made.items()
        if need not in SPEED_NEEDS
    }


def has_several_works(made: Choices) -> bool:
    """Return whether the choices are for more than one work."""
    return len({work for of_works in made.values() for work in of_works}) > 1


def choice_table(made: Choices, columns: Sequence[str] = (), *, several: bool) -> Table | None:
    """Return a row for each choice, with these columns or all. ``several`` works are named."""
    rows = [
        (f"{OPTIMA[need]}, {work}" if several else OPTIMA[need], choice_row(conclusion))
        for need, of_works in made.items()
        for work, conclusion in of_works.items()
    ]
    return table([column for column in _OF_CHOICES if not columns or column.title in columns], rows)


def _figure(row: tuple[str, ChoiceRow]) -> str:
    _, choice = row
    return f"{choice.figure} ({choice.interval})" if choice.interval else choice.figure


_OF_CHOICES: tuple[Column[tuple[str, ChoiceRow]], ...] = (
    text_column("Need", lambda row: row[0]),
    text_column("Run", lambda row: row[1].case),
    text_column("Figure", _figure),
    text_column("Against the baseline", lambda row: row[1].against_baseline),
    text_column("Next best", lambda row: row[1].next_best),
    text_column("Ahead of it by", lambda row: row[1].ahead),
    text_column("Confidence", lambda row: row[1].confidence),
    text_column("Costs", lambda row: row[1].costs),
)
BRIEF = ("Need", "Run", "Figure", "Confidence")
"""Columns of the choices that a short report shows."""


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
    session: Session, made: Choices, per_hour: float | None = None
) -> tuple[Section | None, Section | None]:
    """Return the case to run for each work, and other objectives that choose another case.

    Without a choice, the answer is the reason.
    """
    several = has_several_works(made)
    first = _first(made)
    most_mb = max((case.peak_memory_mb or 0.0 for case in session.cases), default=0.0)
    shared, rows = _work_rows(made, per_hour, most_mb, several=several)
    works = table(_COLUMNS, rows)
    every, rates = f"Every choice: {shared}" if shared else None, _daily_rates(first)
    notes = sentences(every, f"Baseline: {_baselines(first)}", f"Rate: {rates}" if rates else None)
    rest = choice_table(others(made), BRIEF, several=several)
    answers = items(_answers(session, first)) or _nothing(session)
    return (section("Decision", answers, works, works and notes), section("Other objectives", rest))


def completeness(session: Session) -> str:
    """Return how many cases were measured, and how the others ended."""
    tally = Counter(case.state for case in session.cases if not case.has_result)
    rest = [f"{amount:,} {STATE_WORDS.get(state, state)}" for state, amount in tally.items()]
    noun = "case" if session.start.source else "planned case"
    return f"{measured_amount(session, noun)}{f'; {listed(rest)}' if rest else ''}"


def _first(made: Choices) -> dict[Work, Conclusion]:
    """Return the choice that answers for each work: for throughput, or else for the first other need."""
    first: dict[Work, Conclusion] = {}
    for of_works in made.values():
        for work, conclusion in of_works.items():
            first.setdefault(work, conclusion)
    return first


def _nothing(session: Session) -> Items | None:
    measured = any(case.has_result for case in session.cases)
    return items([("Nothing to decide", f"{NO_CHOICE if measured else nothing_measured(session)}.")])


def _answers(session: Session, first: dict[Work, Conclusion]) -> Iterator[Remark]:
    """Yield what to run, a sentence each for the first works. What isn't decided comes with what would."""
    undecided = [work for work in first.values() if not work.decided]
    blank = len(first) > 1 and not any(map(advice, first.values()))
    if blank:
        yield Remark("Nothing is decided", sentences(_to_decide(session, undecided)))
    for work, conclusion in list(first.items())[:MOST_ANSWERS]:
        where = f" at {work}" if len(first) > 1 else ""
        row = choice_row(conclusion)
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
            yield Remark(f"Faster{where}, with other answers", f"{changing_text(faster)}.")


def _case_text(row: ChoiceRow, conclusion: Conclusion) -> str:
    best = conclusion.best
    interval = f" ({row.interval})" if row.interval and row.decided else ""
    suspect = answer_note(best.case) if best.case.has_other_answer else None
    parts = (
        f"{row.case}, {row.figure}{interval}",
        _against(row),
        suspect and f"{suspect}: check them before you use it",
    )
    return ", ".join(filter(None, parts))


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


def samples_per_day(rate: float, sample: str) -> str:
    """Format the samples per day at a rate per second. ``sample`` is the task's word for them."""
    amount = rate * SECONDS_A_DAY
    if amount >= BILLION:
        return f"about {number(amount / BILLION)} billion {sample}/day"
    if amount >= MILLION:
        return f"about {number(amount / MILLION, 1 if amount < 100 * MILLION else 0)} million {sample}/day"
    return f"about {number(amount)} {sample}/day"


def _work_rows(
    made: Choices, per_hour: float | None, most_mb: float, *, several: bool
) -> tuple[str, list[WorkRow]]:
    """Return what the names of all choices for speed share, and a row for each work."""
    speed = [made[need] for need in SPEED_NEEDS]
    chosen = [conclusion for of_works in speed for conclusion in of_works.values()]
    configs = list(dict.fromkeys(conclusion.best.config for conclusion in chosen))
    if not configs:
        return "", []
    shared, own = brief_names(configs)
    brief = dict(zip(configs, own, strict=True))

    def name(config: Config) -> str:
        return brief.get(config, config.name)

    paid = {work: conclusion for of_works in reversed(speed) for work, conclusion in of_works.items()}

    def row(work: Work) -> WorkRow:
        throughput, latency = (of_works.get(work) for of_works in speed)
        return WorkRow(
            str(work) if several else "",
            choice_row(throughput, name) if throughput else None,
            choice_row(latency, name) if latency else None,
            paid[work],
            most_mb,
            number(cost_of_a_million(throughput.best if throughput else None, per_hour)),
        )

    return shared, [row(work) for work in dict.fromkeys(work for of_works in speed for work in of_works)]


def _baselines(first: dict[Work, Conclusion]) -> str:
    """Name the baselines with their figures, or say why there is none."""
    figures: dict[str, list[str]] = {}
    for work, conclusion in first.items():
        base = conclusion.baseline
        where = f" at {work}" if len(first) > 1 and (base is None or base.config.label) else ""
        shown = base and f"{figure(base, conclusion.choice.objective.need)}{where}"
        label = base.name if base else f"none: {conclusion.no_baseline}"
        figures.setdefault(label, []).append(shown or where.strip())
    return "; ".join(f"{label} ({listed(texts)})" if any(texts) else label for label, texts in figures.items())


def _daily_rates(first: dict[Work, Conclusion]) -> str:
    """Return the samples per day of each work's answer, if that is the choice for throughput."""
    rates = [
        f"{samples_per_day(rate, conclusion.best.metrics.task.sample)}{f' at {work}' if len(first) > 1 else ''}"
        for work, conclusion in first.items()
        if conclusion.choice.objective.need == "throughput" and not conclusion.best.config.label
        if (rate := conclusion.best.metrics.samples_per_s)
    ]
    return listed(rates)


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
    text_column("Workload", lambda row: row.work or None),
    text_column("Throughput", lambda row: _chosen(row.throughput)),
    text_column("Latency", lambda row: _chosen(row.latency)),
    text_column("Peak memory", _memory),
    text_column("Compile", lambda row: compile_time(row.paid.best, row.paid.baseline)),
    text_column("Exporting, loading", lambda row: export_time(row.paid.best, row.paid.baseline)),
    text_column("Accuracy", lambda row: _accuracy(row.paid)),
    Column("Per million samples", lambda row: row.price),
    text_column("Confidence", _confidence),
)
