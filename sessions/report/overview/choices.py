"""Choices of a session: the case to run for each need and work."""

from collections.abc import Sequence

from benchtui.sessions.advice.conclusion import Conclusion, conclude_work
from benchtui.sessions.advice.objectives import NEEDS, SPEED_NEEDS, Need, is_need_of, session_objective
from benchtui.sessions.advice.open_questions import speed_decisions
from benchtui.sessions.advice.optimal import Decision
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, by_work
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.conclusion import ChoiceRow, NameOf, choice_row
from benchtui.sessions.text.tables import Column, Table, table

OPTIMA: dict[Need, str] = {
    "throughput": "Maximum throughput",
    "latency": "Minimum latency",
    "memory": "Most throughput per MB",
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
            for work, conclusion in by_work.items()
            if conclusion.best.case.index not in fast and conclusion.starred
        }
        for need, by_work in made.items()
        if need not in SPEED_NEEDS
    }


def has_several_works(made: Choices) -> bool:
    """Return whether the choices are for more than one work."""
    return len({work for by_work in made.values() for work in by_work}) > 1


def choice_table(made: Choices, name: NameOf, columns: Sequence[str] = (), *, several: bool) -> Table | None:
    """Return a row for each choice, with these columns or all. ``several`` works are named."""
    rows = [
        (f"{OPTIMA[need]}, {work}" if several else OPTIMA[need], choice_row(conclusion, name))
        for need, by_work in made.items()
        for work, conclusion in by_work.items()
    ]
    return table([column for column in _COLUMNS if not columns or column.title in columns], rows)


def _figure(row: tuple[str, ChoiceRow]) -> str:
    _, choice = row
    return f"{choice.figure} ({choice.interval})" if choice.interval else choice.figure


_COLUMNS: tuple[Column[tuple[str, ChoiceRow]], ...] = (
    Column("Need", lambda row: row[0], right=False),
    Column("Run", lambda row: row[1].case, right=False),
    Column("Figure", _figure, right=False),
    Column("Against the baseline", lambda row: row[1].against_baseline, right=False),
    Column("Next best", lambda row: row[1].next_best, right=False),
    Column("Ahead of it by", lambda row: row[1].ahead, right=False),
    Column("Confidence", lambda row: row[1].confidence, right=False),
    Column("Costs", lambda row: row[1].costs, right=False),
)
BRIEF = ("Need", "Run", "Figure", "Confidence")
"""Columns of the choices that a short report shows."""
